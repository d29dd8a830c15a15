"""`mqctl message send` to a topic that is not there, on brokers that create topics by themselves."""

from __future__ import annotations

import csv
import threading
from io import StringIO

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from embedded_broker.remoting.faults import Action
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from tests.live.changing import changes
from tests.live.conftest import Run

_SENDS = {10, 310, 320}


def topics(live: Run) -> set[str]:
    return {row["topic"] for row in live("topic", "list", "--all", "-o", "json").json["topics"]}


def test_a_misspelt_topic_is_named_and_not_created(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    refused = live("message", "send", "-t", "Pya", "--body", "x")
    assert changes(cluster) == []
    assert _SENDS.isdisjoint(item.code for item in cluster.requests())
    cluster.record_requests(on=False)
    assert refused.exit_code == 66, refused.stderr
    assert "there is no topic Pya: nothing was sent" in refused.stderr
    assert "did you mean Pay? --create lets" in refused.stderr
    assert "Pya" not in topics(live)


def test_create_lets_the_brokers_create_it(live: Run) -> None:
    sent = live("message", "send", "-t", "Fresh", "--create", "--body", "x", "-o", "json")
    assert (sent.exit_code, sent.json["status"]) == (0, "SEND_OK"), sent.stderr
    assert "Fresh" in topics(live)
    assert live("message", "send", "-t", "Fresh", "--body", "y").exit_code == 0


def test_a_message_on_a_delay_level_is_not_said_to_come_at_once(live: Run) -> None:
    words = ("message", "send", "-t", "Pay", "--body", "x", "--delay-level", "3")
    assert live(*words, "-o", "json").json["way"] == "level 3"
    assert ("level 3" in live(*words).stdout, "at once" in live(*words[:6]).stdout) == (True, True)


def test_a_message_that_nobody_confirmed_may_be_there(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(310, Drop())
    outcome = live("message", "send", "-t", "Pay", "--body", "x", "--timeout", "1500ms")
    cluster.clear_faults()
    assert (outcome.exit_code, outcome.stdout) == (75, "")
    assert "may have been stored all the same: mqctl message peek -t Pay" in outcome.stderr


_VIEW = 33
_INVENTED = {"msgId": "7F00000100002A9F0000000000000BAD", "queueId": "0", "queueOffset": "7"}


@pytest.mark.both_releases
@pytest.mark.parametrize("way", [(), ("--delay-level", "3"), ("--tag", "A", "--key", "k")])
def test_verify_reads_the_message_back(live: Run, way: tuple[str, ...]) -> None:
    sent = live("message", "send", "-t", "Pay", "--body", "x", *way, "--verify", "-o", "json")
    assert (sent.exit_code, sent.json["read_back"], sent.json["reason"]) == (0, "stored", None), sent.stderr
    unasked = live("message", "send", "-t", "Pay", "--body", "x", *way, "-o", "json")
    assert (unasked.exit_code, unasked.json["read_back"]) == (0, None)


@pytest.mark.parametrize(
    ("code", "answer", "exit_code", "found", "reason"),
    [
        (310, Answer(code=0, ext_fields=_INVENTED), 2, "gone", "gone: "),
        (_VIEW, Answer(code=1, remark="can not find message by the offset, 1"), 2, "gone", "gone: "),
        (_VIEW, Answer(code=16, remark="no permission"), 3, "not-read-back", "answered, not read back: "),
        (_VIEW, Drop(), 3, "not-read-back", "answered, not read back: "),
    ],
)
def test_verify_takes_no_answer_for_a_proof(
    live: Run, cluster: EmbeddedCluster, code: int, answer: Action, exit_code: int, found: str, reason: str
) -> None:
    cluster.fault(code, answer)
    words = ("message", "send", "-t", "Pay", "--body", "x", "--verify", "--timeout", "3s")
    sent, table = live(*words, "-o", "json"), live(*words)
    cluster.clear_faults()
    assert (sent.exit_code, sent.json["status"], sent.json["read_back"]) == (exit_code, "SEND_OK", found)
    assert sent.json["reason"].startswith(reason)
    assert (table.exit_code, reason in table.stdout) == (exit_code, True)


def test_a_producer_leaves_brokers_that_hang(cluster: EmbeddedCluster) -> None:
    """Without a limit of its own the end would wait as long as an administrative call may take: ten minutes here."""
    settings = ClientSettings(name_servers=cluster.namesrv, api_timeout_ms=600_000, leave_timeout_ms=20)
    heard = threading.Event()

    def greet(producer: Producer) -> None:
        producer.instance.heartbeat()
        heard.set()

    with Producer("P", settings) as producer:
        producer.send(OutgoingMessage(topic="Pay", body=b"x"))
        cluster.fault(None, Drop())
        threading.Thread(target=greet, args=(producer,), daemon=True).start()
    heard.wait()
    cluster.clear_faults()
    assert [trouble.doing.split(" from ")[0] for trouble in producer.instance.troubles.last][:1] == ["unregister"]
    assert not producer.instance.links.open_links()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--property", "a\x01b\x02c=d"), r"--property holds \x01 \x02"),
        (("--property", "a=\udcff"), r"--property holds \xff"),
        (("--tag", "\udcff\udcfe"), r"--tag holds \xff \xfe"),
        (("--tag", "a\x02b"), r"--tag holds \x02"),
        (("--key", "k", "--key", "\udce4"), r"--key holds \xe4"),
        (("--property", "a="), "a property without a value is not stored"),
    ],
)
def test_what_would_be_stored_as_something_else_is_not_sent(
    live: Run, cluster: EmbeddedCluster, words: tuple[str, ...], named: str
) -> None:
    cluster.record_requests()
    refused = live("message", "send", "-t", "Pay", "--body", "x", *words)
    sent = [item.code for item in cluster.requests()]
    cluster.record_requests(on=False)
    assert (refused.exit_code, sent) == (64, []), refused.stderr
    assert named in refused.stderr


def test_a_body_is_the_very_bytes_that_were_typed(live: Run) -> None:
    sent = live("message", "send", "-t", "Pay", "--body", "\udcff\udcfe", "-o", "json")
    assert sent.exit_code == 0, sent.stderr
    message = live("message", "get", sent.json["message_id"], "-t", "Pay", "--body", "hex", "-o", "json").json
    assert message["messages"][0]["body"].replace(" ", "") == "fffe"


def test_csv_tells_base64_from_text(live: Run) -> None:
    for body in ("\udcff", "/w=="):
        assert live("message", "send", "-t", "Pay", "--body", body).exit_code == 0
    words = ("message", "peek", "-t", "Pay", "--since", "-1d", "--count", "99", "-o", "csv")
    rows = list(csv.DictReader(StringIO(live(*words).stdout)))
    assert {(row["body"], row["body_encoding"]) for row in rows} >= {("/w==", "base64"), ("/w==", "text")}


def test_the_three_selectors_choose_the_queue(live: Run, cluster: EmbeddedCluster) -> None:
    def sent(select: str) -> tuple[str, int]:
        outcome = live("message", "send", "-t", "Pay", "--body", "x", "--select", select, "-o", "json")
        assert outcome.exit_code == 0, outcome.stderr
        return outcome.json["broker_name"], outcome.json["queue_id"]

    # Java's "order-4711".hashCode() is 708276994: of four queues, two on each broker, that is the third.
    assert {sent("hash:order-4711") for _ in range(2)} == {("broker-b", 0)}
    assert sent("room:nowhere")[0] in cluster.brokers
    assert sent("random")[0] in cluster.brokers
    bad = live("message", "send", "-t", "Pay", "--body", "x", "--select", "robin")
    assert (bad.exit_code, "hash:KEY, random or room:ROOM" in bad.stderr) == (64, True)


def test_a_body_that_never_ends_is_refused(live: Run) -> None:
    refused = live("message", "send", "-t", "Pay", "--body-file", "/dev/zero")
    assert refused.exit_code == 64, refused.stderr
    assert "more than 4,194,304 bytes" in refused.stderr
