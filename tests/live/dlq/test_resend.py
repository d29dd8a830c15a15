"""`mqctl dlq resend`: a plan changes nothing, every letter is sent once, whatever dies in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from filelock import FileLock

from embedded_broker import Answer, CutFrame, Delay, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.java_hash import java_string_hash
from mqctl.protocol.bodies_cluster import KVTable
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changing import changes, reached
from tests.live.conftest import Run, change
from tests.live.failing import fail
from tests.live.members import until

RESEND = ("dlq", "resend", "-g", "G")
DO = ("--execute", "--confirm", "G", "-o", "json")
_SEND, _QUERY, _VIEW, _RUNTIME = 310, 12, 33, 28
_SECONDS = 60


@pytest.fixture
def dead(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """G gave up k0, k1 and k2 on broker-a and k3 on broker-b."""
    for number in range(3):
        fail(cluster, "broker-a", number, level=-1)
    fail(cluster, "broker-b", 3, level=-1)
    return cluster


def copies(live: Run, topic: str = "Pay") -> list[Any]:
    """Messages of a topic that were sent from dead letters."""
    outcome = live("message", "peek", "-t", topic, "--from-start", "--count", "99", "-o", "json")
    return [item for item in outcome.json["messages"] if "MQCTL_RESENT_FROM" in item["properties"]]


def keys(messages: list[Any]) -> Counter[str]:
    return Counter(item["keys"] for item in messages)


ONCE = Counter(f"k{number}" for number in range(4))


def test_every_letter_is_sent_once_however_often_and_from_wherever_it_is_asked(
    live: Run, dead: EmbeddedCluster, tmp_path: Path
) -> None:
    dead.record_requests()
    plan = live(*RESEND, "-o", "json")
    assert (plan.exit_code, plan.json["send_count"], plan.json["stuck_count"]) == (0, 4, 0), plan.stderr
    assert changes(dead) == []
    done = live(*RESEND, *DO)
    assert (done.exit_code, done.json["state"], done.json["sent_count"]) == (0, "sent", 4), done.stderr
    assert keys(copies(live)) == ONCE
    for env in ({}, {"MQCTL_STATE_DIR": str(tmp_path / "another machine")}):
        again = live(*RESEND, *DO, env=env)
        assert (again.exit_code, again.json["send_count"], again.json["resent_count"]) == (0, 0, 4), again.stderr
        assert {item["note"] for item in again.json["letters"]} == {f"by {done.json['id']}"}
    assert keys(copies(live)) == ONCE


def test_a_copy_is_the_message_that_was_given_up(live: Run, dead: EmbeddedCluster) -> None:
    letters = {item["keys"]: item for item in live("dlq", "list", "-g", "G", "-o", "json").json["letters"]}
    done = live(*RESEND, *DO)
    sent = {item["letter_id"]: item["copy_id"] for item in done.json["letters"]}
    for copy in copies(live):
        letter = letters[copy["keys"]]
        assert (copy["body"], copy["tags"], copy["reconsume_times"]) == (letter["message"]["body"], "A", 0)
        assert copy["properties"]["MQCTL_RESENT_FROM"] == letter["message_id"]
        assert copy["properties"]["MQCTL_RESENT_BY"] == done.json["id"]
        assert sent[letter["message_id"]] == copy["message_id"]
        assert copy["unique_key"] == (letter["unique_key"] or letter["message_id"])
        assert not {"RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "DELAY", "DLQ_ORIGIN_TOPIC"} & set(copy["properties"])


def test_a_sharding_key_chooses_the_queue_as_producers_do(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        for number in range(5, 9):
            properties = {"KEYS": f"k{number}", "__SHARDINGKEY": f"s{number}"}
            assert peer.call(send("Pay", properties=properties), b"x").code == 0
    for offset in range(5, 9):
        fail(cluster, "broker-a", offset, level=-1)
    assert live(*RESEND, *DO).json["sent_count"] == 4
    queues = [(name, number) for name in ("broker-a", "broker-b") for number in range(2)]
    owners = {cluster.broker(name).address: name for name in ("broker-a", "broker-b")}
    for copy in copies(live):
        chosen = queues[abs(java_string_hash(copy["properties"]["__SHARDINGKEY"])) % 4]
        assert (owners[copy["store_host"]], copy["queue_id"]) == chosen


def test_letters_go_where_they_are_told_and_that_is_another_wish(live: Run, dead: EmbeddedCluster) -> None:
    change(dead, "broker-b", put_topic(TopicConfig(name="Side", read_queue_count=1, write_queue_count=1)))
    assert live(*RESEND, "--to", "Side", "--key", "k1", *DO).exit_code == 0
    assert keys(copies(live, "Side")) == Counter(["k1"])
    assert copies(live) == []
    assert live(*RESEND, *DO).json["sent_count"] == 4


def test_sent_to_the_retry_topic_only_the_group_gets_them(live: Run, dead: EmbeddedCluster) -> None:
    got: list[tuple[str, list[str], int]] = []
    whole = Event()

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        got.extend((item.topic, item.keys, item.reconsume_times) for item in messages if item.queue.topic != "Pay")
        if len(got) == 4:
            whole.set()
        return Consumed.SUCCESS

    settings = ClientSettings(name_servers=dead.namesrv, instance_name="member")
    consumer = PushConsumer("G", settings, listener)
    consumer.subscribe("Pay", "*")
    with consumer:
        done = live(*RESEND, "--to", "%RETRY%G", *DO)
        assert done.exit_code == 0, done.stderr
        assert whole.wait(_SECONDS)
    assert sorted(got) == [("Pay", [f"k{number}"], 0) for number in range(4)]


def test_a_plan_tells_who_else_gets_the_messages(live: Run, dead: EmbeddedCluster) -> None:
    change(dead, "broker-a", put_group(SubscriptionGroupConfig(name="Other")))
    change(dead, "broker-a", commit_offset("Other", "Pay", 0, 1))
    table = live(*RESEND).stdout
    assert "these groups consume Pay too: Other; --to %RETRY%G reaches G alone" in table
    assert "4 to send, 0 already resent, 0 not resendable" in table


def test_letters_that_no_consumer_may_read_are_sent_all_the_same(live: Run, dead: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(dead, name, put_topic(TopicConfig(name="%DLQ%G", read_queue_count=1, write_queue_count=1, perm=2)))
    assert live(*RESEND, *DO).json["sent_count"] == 4
    assert keys(copies(live)) == ONCE


def test_an_answer_that_is_lost_does_not_double_the_message(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_SEND, CutFrame(), times=1)
    done = live(*RESEND, *DO)
    dead.clear_faults()
    assert (done.exit_code, done.json["sent_count"]) == (0, 4), done.stderr
    assert [item["reason"] for item in done.json["letters"]].count("no reply, but the copy was stored") == 1
    assert keys(copies(live)) == ONCE


def test_what_is_in_doubt_is_named_and_looked_up_when_resumed(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_SEND, CutFrame(), times=1)
    # Look-ups of the plan (twice), then one before each send: the one after the first send gets no answer.
    before = 2 * 8 + 2
    dead.record_requests()
    live(*RESEND, "--to", "Pay", "-o", "json")
    assert len(dead.requests(_QUERY)) == 8
    dead.fault(_QUERY, Delay(0), times=before)
    dead.fault(_QUERY, Answer(code=1, remark="busy"), times=2)
    done = live(*RESEND, *DO)
    dead.clear_faults()
    assert (done.exit_code, done.json["state"]) == (3, "unknown"), done.stderr
    assert [item["state"] for item in done.json["letters"]] == ["unknown", "sent", "sent", "sent"]
    resumed = live(*RESEND, "--resume", done.json["id"], *DO)
    assert (resumed.exit_code, resumed.json["id"], resumed.json["sent_count"]) == (0, done.json["id"], 4)
    assert resumed.json["letters"][0]["reason"] == "a copy had already been sent"
    assert keys(copies(live)) == ONCE


@pytest.mark.parametrize("action", [Drop(), Delay(2_000)], ids=["lost", "stored after the kill"])
def test_killed_in_the_middle_it_is_resumed_and_nothing_is_lost_or_doubled(
    live: Run, dead: EmbeddedCluster, tmp_path: Path, action: Drop | Delay
) -> None:
    dead.fault(_SEND, action, server="broker-b", times=1)
    dead.record_requests()
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *RESEND, *DO],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": dead.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    reached(dead, _SEND, "broker-b")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(_SECONDS)
    until(lambda: not isinstance(action, Delay) or len(copies(live)) >= 3, "stored after the kill")
    (file,) = (tmp_path / "mqctl_state_dir" / "journal" / "resends").glob("*.ndjson")
    file.write_bytes(file.read_bytes() + b'{"letter":3,"sta')
    plan = live(*RESEND, "--resume", file.stem, "-o", "json")
    assert plan.json["send_count"] == (1 if isinstance(action, Delay) else 2), plan.stderr
    resumed = live(*RESEND, "--resume", file.stem, *DO)
    assert (resumed.exit_code, resumed.json["state"], resumed.json["sent_count"]) == (0, "sent", 4), resumed.stderr
    assert keys(copies(live)) == ONCE


def test_three_failures_in_a_row_stop_it_and_it_goes_on_later(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_SEND, Answer(code=1, remark="no"))
    done = live(*RESEND, *DO)
    dead.clear_faults()
    states = [item["state"] for item in done.json["letters"]]
    assert (done.exit_code, states) == (2, ["failed", "failed", "failed", "waiting"]), done.stderr
    assert done.json["state"] == "interrupted"
    assert live(*RESEND, "--resume", done.json["id"], *DO).json["sent_count"] == 4
    assert keys(copies(live)) == ONCE


GONE = Answer(code=0, ext_fields={"msgId": "7F00000100002A9F0000000000000BAD", "queueId": "0", "queueOffset": "7"})
"""An answer to a send of which nothing was stored."""
NONE_THERE = Answer(code=1, remark="can not find message by the offset, 1")


def test_what_a_broker_says_it_stored_and_has_not_is_not_sent(live: Run, dead: EmbeddedCluster) -> None:
    """A broker that dies before it flushes has said SEND_OK as well."""
    dead.fault(_SEND, GONE)
    done = live(*RESEND, *DO)
    dead.clear_faults()
    assert (done.exit_code, done.json["sent_count"]) == (2, 0), done.stderr
    assert [item["state"] for item in done.json["letters"]] == ["failed", "failed", "failed", "waiting"]
    assert all("gone: " in item["reason"] for item in done.json["letters"][:3])
    assert copies(live) == []
    assert live(*RESEND, *DO).json["sent_count"] == 4
    assert keys(copies(live)) == ONCE


def test_what_cannot_be_read_back_is_in_doubt_and_looked_up_when_resumed(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_VIEW, Answer(code=16, remark="no permission"), times=1)
    done = live(*RESEND, *DO)
    dead.clear_faults()
    assert (done.exit_code, done.json["state"]) == (3, "unknown"), done.stderr
    assert [item["state"] for item in done.json["letters"]] == ["unknown", "sent", "sent", "sent"]
    assert "answered, not read back" in done.json["letters"][0]["reason"]
    resumed = live(*RESEND, "--resume", done.json["id"], *DO)
    assert (resumed.exit_code, resumed.json["sent_count"]) == (0, 4), resumed.stderr
    assert keys(copies(live)) == ONCE


def test_a_copy_that_its_broker_lost_later_is_sent_again_and_one_that_it_deleted_with_age_is_not(
    live: Run, dead: EmbeddedCluster
) -> None:
    done = live(*RESEND, *DO)
    assert done.exit_code == 0
    dead.fault(_VIEW, NONE_THERE)
    by_key = live(*RESEND, "-o", "json")  # it is still there by its key
    assert (by_key.json["send_count"], by_key.json["resent_count"]) == (0, 4)
    dead.fault(_QUERY, Answer(code=22, remark="none"))
    lost = live(*RESEND, "-o", "json")
    assert (lost.json["send_count"], lost.json["resent_count"]) == (4, 0)
    for name in ("broker-a", "broker-b"):
        begins = KVTable(table={"commitLogMinOffset": str(1 << 40), "commitLogMaxOffset": str(1 << 41)})
        dead.fault(_RUNTIME, Answer(code=0, body=begins.to_bytes()), server=name)
    aged = live(*RESEND, "-o", "json")
    assert (aged.json["send_count"], aged.json["resent_count"]) == (0, 4)


def test_what_cannot_be_sent_is_told_in_the_plan(live: Run, dead: EmbeddedCluster) -> None:
    change(dead, "broker-a", put_topic(TopicConfig(name="Closed", perm=4)))
    for topic, why in (("Closed", "no queue of it can be written"), ("Nowhere", "there is no such topic")):
        plan = live(*RESEND, "--to", topic, "-o", "json")
        assert (plan.exit_code, plan.json["stuck_count"]) == (0, 4), plan.stderr
        assert {item["note"] for item in plan.json["letters"]} == {why}
    names = [row["topic"] for row in live("topic", "list", "-o", "json").json["topics"]]
    assert "Nowhere" not in names


def test_brokers_that_do_not_tell_stop_the_plan(live: Run, dead: EmbeddedCluster) -> None:
    dead.fault(_QUERY, Answer(code=1, remark="busy"), server="broker-b")
    outcome = live(*RESEND, *DO)
    assert (outcome.exit_code, "resent before" in outcome.stderr) == (69, True)
    dead.clear_faults()
    dead.fault(21, Drop(), server="broker-b")
    silent = live(*RESEND, *DO, "--timeout", "3s")
    assert (silent.exit_code, "broker-b" in silent.stderr) == (75, True), silent.stderr
    dead.clear_faults()
    assert copies(live) == []


def test_a_full_journal_sends_nothing(live: Run, dead: EmbeddedCluster, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    outcome = live(*RESEND, *DO, env={"MQCTL_STATE_DIR": str(blocked)})
    assert (outcome.exit_code, "journal" in outcome.stderr, copies(live)) == (74, True, [])


def test_two_operators_at_once(live: Run, dead: EmbeddedCluster, tmp_path: Path) -> None:
    assert live(*RESEND, "--key", "k0", *DO).json["sent_count"] == 1
    *_, lock = sorted((tmp_path / "mqctl_state_dir" / "journal").glob(".*.lock"))  # one for each broker
    with FileLock(lock):
        outcome = live(*RESEND, *DO)
    assert (outcome.exit_code, len(copies(live))) == (76, 1), outcome.stderr


def test_the_rate_holds(live: Run, dead: EmbeddedCluster) -> None:
    dead.record_requests()
    assert live(*RESEND, "--rate", "2", *DO).exit_code == 0
    times = [request.at_ms for request in dead.requests(_SEND)]
    assert len(times) == 4
    # Three waits of half a second; the first message may be late by what connecting takes.
    assert max(times) - min(times) >= 1_000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((*RESEND, "--execute"), 76, "--confirm G"),
        ((*RESEND, "--execute", "--confirm", "H"), 64, "the plan is about G"),
        ((*RESEND, "--rate", "0"), 64, "--rate"),
        ((*RESEND, "--to", "no such name"), 64, "not a valid topic name"),
        ((*RESEND, "--resume", "x", "--key", "k1"), 64, "--resume"),
        ((*RESEND, "--resume", "../x"), 66, "no resend"),
        (("dlq", "resend", "-g", "misspelt"), 66, "misspelt"),
    ],
)
def test_bad_input(live: Run, dead: EmbeddedCluster, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
    assert copies(live) == []


def test_a_resend_is_resumed_where_it_was_made(live: Run, dead: EmbeddedCluster) -> None:
    done = live(*RESEND, *DO)
    with EmbeddedCluster(brokers=2) as other:
        change(other, "broker-a", put_group(SubscriptionGroupConfig(name="G")))
        elsewhere = live(*RESEND, "--resume", done.json["id"], "--namesrv", other.namesrv)
    assert (elsewhere.exit_code, "another cluster" in elsewhere.stderr) == (65, True), elsewhere.stderr
    finished = live(*RESEND, "--resume", done.json["id"], *DO)
    assert (finished.exit_code, finished.json["sent_count"], keys(copies(live))) == (0, 4, ONCE)
    assert "Impact: changes." in live("dlq", "resend", "--help").stdout
