"""`mqctl dlq resend` beside damaged records of earlier resends: they are named, and nothing is sent twice."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changing import changes
from tests.live.conftest import Run, change
from tests.live.dlq.test_resend import DO, ONCE, RESEND, copies, dead, keys
from tests.live.failing import fail

__all__ = ["dead"]
_SEND, _QUERY, _NOT_FOUND = 310, 12, 22
_HOUR_MS = 3_600_000


def records(tmp_path: Path) -> Path:
    return tmp_path / "mqctl_state_dir" / "journal" / "resends"


def torn(file: Path, size: int) -> Path:
    file.write_bytes(file.read_bytes()[:size])
    return file


def fates(live: Run, *words: str) -> dict[str, str]:
    return {item["keys"]: item["fate"] for item in live(*RESEND, *words, "-o", "json").json["letters"]}


@pytest.mark.parametrize("size", [0, 20, 80], ids=["empty", "without its group", "with its group"])
def test_what_a_damaged_record_may_have_sent_is_left_alone_and_the_record_named(
    live: Run, dead: EmbeddedCluster, tmp_path: Path, size: int
) -> None:
    assert live(*RESEND, "--key", "k0", *DO).json["sent_count"] == 1
    (file,) = records(tmp_path).glob("*.ndjson")
    torn(file, size)
    dead.record_requests()
    plan = live(*RESEND, "-o", "json")
    assert (plan.exit_code, plan.json["send_count"], plan.json["doubtful_count"]) == (69, 0, 3), plan.stderr
    assert str(file) in plan.stderr
    assert "next: restore it; or move it away" in plan.stderr
    assert [str(file) in text for text in plan.json["unreadable"]] == [True]
    # The copy of k0 is with a broker, which says so; nobody knows about the others.
    assert fates(live) == {"k0": "resent", "k1": "doubtful", "k2": "doubtful", "k3": "doubtful"}
    assert "3 may have been sent by a resend whose record is damaged" in live(*RESEND).stdout
    done = live(*RESEND, *DO)
    assert (done.exit_code, done.json["send_count"], changes(dead)) == (69, 0, []), done.stderr
    file.rename(tmp_path / "aside")
    after = live(*RESEND, *DO)
    assert (after.exit_code, after.json["sent_count"], after.stderr.count("damaged")) == (0, 3, 0), after.stderr
    assert keys(copies(live)) == ONCE


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("20200101-000000-abcd", b"\0" * 64),
        ("20991231-000000-abcd", b'{"id":"20991231-000000-abcd","group":"Other","to_to'),
    ],
    ids=["older than all letters", "of another group"],
)
def test_a_record_that_cannot_be_about_these_letters_keeps_none_from_being_sent(
    live: Run, dead: EmbeddedCluster, tmp_path: Path, name: str, content: bytes
) -> None:
    records(tmp_path).mkdir(parents=True)
    (records(tmp_path) / f"{name}.ndjson").write_bytes(content)
    done = live(*RESEND, *DO)
    assert (done.exit_code, done.json["sent_count"], "could not read" in done.stderr) == (0, 4, False), done.stderr
    assert keys(copies(live)) == ONCE
    assert live("history").exit_code == 74  # where every record counts, it is named


def test_a_record_that_names_another_group_and_another_id_is_believed_neither(
    live: Run, dead: EmbeddedCluster, tmp_path: Path
) -> None:
    records(tmp_path).mkdir(parents=True)
    (records(tmp_path) / "20991231-000000-abcd.ndjson").write_bytes(b'{"id":"20991231-000000-ffff","group":"Other",')
    assert set(fates(live).values()) == {"doubtful"}


def test_letters_that_died_after_a_damaged_record_are_sent(live: Run, tmp_path: Path) -> None:
    with EmbeddedCluster(brokers=1, virtual_time=True) as cluster:
        change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
        change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="G")))
        with Peer(cluster.broker("broker-a").address) as peer:
            for number in range(2):
                assert peer.call(send("Pay", properties={"KEYS": f"k{number}"}), b"x").code == 0
        fail(cluster, "broker-a", 0, level=-1)
        cluster.advance(3 * _HOUR_MS)
        fail(cluster, "broker-a", 1, level=-1)
        where = {"MQCTL_NAMESRV": cluster.namesrv}
        first, second = live("dlq", "list", "-g", "G", "-o", "json", env=where).json["letters"]
        begun = datetime.fromtimestamp(first["message"]["store_time_ms"] / 1000, UTC)
        records(tmp_path).mkdir(parents=True)
        (records(tmp_path) / f"{begun:%Y%m%d-%H%M%S}-abcd.ndjson").touch()
        done = live(*RESEND, *DO, env=where)
        # Not all that was asked for: 1, as where a step did not move.
        assert (done.exit_code, [item["letter_id"] for item in done.json["letters"]]) == (1, [second["message_id"]])
        assert "could not read" in done.stderr


@pytest.mark.parametrize("damaged", [False, True])
def test_a_resumed_one_leaves_out_what_another_has_sent_or_may_have(
    live: Run, dead: EmbeddedCluster, tmp_path: Path, damaged: bool
) -> None:
    dead.fault(_SEND, Answer(code=1, remark="no"))
    first = live(*RESEND, *DO).json
    dead.clear_faults()
    second = live(*RESEND, *DO).json
    assert (first["sent_count"], second["sent_count"]) == (0, 4)
    if damaged:
        torn(records(tmp_path) / f"{second['id']}.ndjson", 20)
    # As if retention had deleted the copies.
    dead.fault(_QUERY, Answer(code=_NOT_FOUND, remark="no message"))
    resumed = live(*RESEND, "--resume", first["id"], *DO)
    dead.clear_faults()
    states = {(item["state"], item["reason"]) for item in resumed.json["letters"]}
    if damaged:
        assert (resumed.exit_code, second["id"] in resumed.stderr) == (3, True), resumed.stderr
        assert states == {("unknown", f"sent perhaps by {second['id']}, whose record is damaged")}
    else:
        assert (resumed.exit_code, states) == (0, {("sent", f"sent by {second['id']}")}), resumed.stderr
    assert keys(copies(live)) == ONCE
