"""`mqctl transaction`: pending and discarded ones live and from files alike, who could answer, bringing them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.schemas import SCHEMAS
from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from mqctl.protocol.bodies_client import HeartbeatData, ProducerData
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction, Heartbeat
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change

COMMIT, ROLLBACK = 8, 12
RESUME, MINUTE = 323, 60_000
SETTINGS = {"transactionCheckMax": "3", "transactionCheckInterval": "30000"}


@dataclass
class Site:
    """A broker on virtual time, and mqctl beside it with a journal of its own."""

    cluster: EmbeddedCluster
    run: Run
    state: Path

    def half(self, key: str, *, group: str = "PG", **more: str) -> RemotingCommand:
        properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": group, **more}
        with Peer(self.cluster.broker().address) as peer:
            born = self.cluster.now_ms()
            answer = peer.call(send("Pay", properties=properties, sys_flag=4, born_ms=born), key.encode())
        assert answer.code == 0, answer.remark
        return answer

    def end(self, sent: RemotingCommand, how: int, *, group: str = "PG") -> int:
        request = EndTransaction(
            producer_group=group,
            tran_state_table_offset=int(sent.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
            commit_or_rollback=how,
            msg_id="K",
        )
        with Peer(self.cluster.broker().address) as peer:
            return peer.call(request).code

    def live(self, *words: object) -> Outcome:
        env = {"MQCTL_NAMESRV": self.cluster.namesrv, "MQCTL_STATE_DIR": str(self.state)}
        return self.run("transaction", *words, "-o", "json", env=env)

    def files(self, *words: object) -> Outcome:
        return self.run("transaction", *words, "--store", self.cluster.broker().store, "-o", "json")


@pytest.fixture(params=["4.9.8", "5.3.3"])
def site(request: pytest.FixtureRequest, mqctl: Run, tmp_path: Path) -> Iterator[Site]:
    with EmbeddedCluster(virtual_time=True, version=request.param, settings=SETTINGS) as cluster:
        change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
        yield Site(cluster, mqctl, tmp_path / "state")


def rows(outcome: Outcome) -> dict[str, tuple[Any, ...]]:
    return {
        row["unique_key"]: (row["state"], row["topic"], row["producer_group"], row["check_count"])
        for row in outcome.json["transactions"]
    }


def codes(outcome: Outcome) -> list[str]:
    return sorted(item["code"] for item in outcome.json["diagnosis"]["findings"])


def test_a_pending_transaction_tells_its_key_and_how_often_it_is_checked_at_most(site: Site) -> None:
    site.half("P", KEYS="ORD-7")
    (row,) = site.live("list").json["transactions"]
    assert (row["keys"], row["check_count"], row["check_limit"]) == ("ORD-7", 0, 3)
    shown = site.live("show", "P").json
    assert (shown["keys"], shown["check_limit"]) == ("ORD-7", 3)
    env = {"MQCTL_NAMESRV": site.cluster.namesrv, "MQCTL_STATE_DIR": str(site.state)}
    listed = site.run("transaction", "list", env=env).stdout
    assert "ORD-7" in listed
    assert "0 of 3" in listed
    assert "LOST OPS" not in listed  # nobody reads a live commit log through: there is nothing to show
    said = site.run("transaction", "show", "P", env=env).stdout
    assert "its broker gives up after 3 checks" in said
    site.cluster.broker().on_loop(lambda broker: broker.offsets.file.write())
    site.cluster.broker().stop()
    (stored,) = site.files("list").json["transactions"]
    assert stored["keys"] == "ORD-7"


def test_files_and_a_live_broker_tell_the_same(site: Site) -> None:
    assert site.live("list").json["transactions"] == []
    ended = [site.half(f"E{number}") for number in range(4)]
    site.half("LOST")
    site.cluster.advance(4 * MINUTE)
    assert rows(site.live("list")) == {"LOST": ("discarded", "Pay", "PG", 3)} | {
        f"E{number}": ("discarded", "Pay", "PG", 3) for number in range(4)
    }
    fresh = [site.half("P1"), site.half("P2", group="PG2"), site.half("C"), site.half("R")]
    assert [site.end(fresh[2], COMMIT), site.end(fresh[3], ROLLBACK)] == [0, 0]
    site.cluster.advance(3_500)
    site.cluster.broker().on_loop(lambda broker: broker.offsets.file.write())
    live = site.live("list")
    assert live.exit_code == 0, live.stderr
    pending = {key: row for key, row in rows(live).items() if row[0] == "pending"}
    assert pending == {"P1": ("pending", "Pay", "PG", 0), "P2": ("pending", "Pay", "PG2", 0)}
    assert {row["online_count"] for row in live.json["transactions"]} == {0}
    shown = {key: site.live("show", key).json["state"] for key in ("P1", "C", "R", "LOST")}
    assert shown == {"P1": "pending", "C": "committed", "R": "rolled-back", "LOST": "discarded"}
    site.cluster.broker().stop()
    files = site.files("list")
    assert rows(files) == rows(live)
    assert {key: site.files("show", key).json["state"] for key in shown} == shown
    (mine,), (theirs,) = live.json["check_loops"], files.json["check_loops"]
    for name in ("half_behind_count", "half_max_offset", "op_behind_count", "op_max_offset", "half_progress"):
        assert mine[name] == theirs[name], name
    assert ended


def test_f8_check_and_doctor_say_how_grave_it_is_alike(site: Site) -> None:
    severities: set[str] = set()
    with Peer(site.cluster.broker().address) as producer:
        data = HeartbeatData(client_id="c", producer_data_set=(ProducerData(group_name="PG"),))
        assert producer.call(Heartbeat(), data.to_bytes()).code == 0
        graded_alike(site, severities)
    assert severities == {"info", "warning"}


def graded_alike(site: Site, severities: set[str]) -> None:
    for key in ("P", "Q"):  # when Q comes, P is old enough to be told as a warning
        site.half(key)
        for source in (("--namesrv", site.cluster.namesrv), ("--store", site.cluster.broker().store)):
            check = site.run("transaction", "list", "--check", *source, "-o", "json").json["diagnosis"]["findings"]
            doctor = site.run("doctor", *source, "--only", "MQ72*", "-o", "json").json["findings"]
            graded = [{(item["code"], item["severity"]) for item in findings} for findings in (check, doctor)]
            assert graded[0] == graded[1]
            severities |= {severity for code, severity in graded[0] if code == "MQ720"}
        site.cluster.advance(70_000)


def test_transactions_of_another_topic_are_no_matter_of_this_one(site: Site) -> None:
    change(site.cluster, "broker-a", put_topic(TopicConfig(name="Other", read_queue_count=1, write_queue_count=1)))
    site.half("P")
    site.cluster.advance(70_000)
    for topic, named in (("Other", False), ("Pay", True)):
        seen = site.run("doctor", "--namesrv", site.cluster.namesrv, "-t", topic, "--only", "MQ72*", "-o", "json")
        assert ("MQ725" in {item["code"] for item in seen.json["findings"]}) is named, seen.stderr


def test_groups_with_nobody_online_are_named_and_others_are_not(site: Site) -> None:
    site.half("P1", group="PG")
    site.half("P2", group="PG2")
    site.cluster.on_loop(lambda cluster: setattr(cluster.clock, "_now_ms", cluster.clock.now_ms() - 600_000))
    site.half("P3", group="PG2")
    with Peer(site.cluster.broker().address) as peer:
        data = HeartbeatData(client_id="c", producer_data_set=(ProducerData(group_name="PG"),))
        assert peer.call(Heartbeat(), data.to_bytes()).code == 0
        listed = {row["unique_key"]: row["online_count"] for row in site.live("list").json["transactions"]}
        assert listed == {"P1": 1, "P2": 0, "P3": 0}
        checked = site.live("check")
        assert [item["subject"] for item in checked.json["diagnosis"]["findings"] if item["code"] == "MQ725"] == [
            "broker-a PG2"
        ]
        assert checked.exit_code == 2
        assert rows(site.live("list", "-g", "PG")).keys() == {"P1"}
        assert site.live("list", "--count", 1).json["transactions"][0]["unique_key"] == "P3"


def test_an_end_is_told_with_its_moment_and_whether_a_check_asked_for_it(site: Site) -> None:
    """A check makes a copy, whose place only who was asked knows. The topic never got a message, and has no queue."""
    for number in range(3):
        site.end(site.half(f"own{number}"), ROLLBACK)
    with Peer(site.cluster.broker().address) as producer:
        data = HeartbeatData(client_id="c", producer_data_set=(ProducerData(group_name="PG"),))
        assert producer.call(Heartbeat(), data.to_bytes()).code == 0
        site.half("asked")
        site.cluster.advance(MINUTE + 10_000)
        check = producer.asked(39)
        request = EndTransaction(
            producer_group="PG",
            tran_state_table_offset=int(check.ext("tranStateTableOffset") or -1),
            commit_log_offset=int(check.ext("commitLogOffset") or -1),
            commit_or_rollback=ROLLBACK,
            from_transaction_check=True,
            msg_id="K",
        )
        assert producer.call(request).code == 0
    site.cluster.advance(3_500)
    shown = {key: site.live("show", key).json for key in ("own0", "asked")}
    assert {key: (it["state"], it["ended_by_check"]) for key, it in shown.items()} == {
        "own0": ("rolled-back", False),
        "asked": ("rolled-back", True),
    }
    assert shown["own0"]["ended_time_ms"] <= shown["asked"]["ended_time_ms"] <= site.cluster.now_ms()
    site.cluster.broker().on_loop(lambda broker: broker.offsets.file.write())
    site.cluster.broker().stop()
    report = site.run("report", "transactions", "--no-spark", "--store", site.cluster.broker().store, "-o", "json")
    (group,) = report.json["report"]["groups"]
    assert (group["transactions"], group["rolled_back"], group["unknown"], group["pending"]) == (4, 4, 0, 0)


def test_a_commit_in_time_and_a_double_one(site: Site) -> None:
    twice = site.half("TWICE")
    assert [site.end(twice, COMMIT), site.end(twice, COMMIT)] == [0, 0]
    assert site.end(twice, COMMIT, group="OTHER") == 1, "the wrong group ends nothing"
    site.cluster.advance(5_000)
    assert site.live("show", "TWICE").json["state"] == "committed-twice"
    site.cluster.broker().stop()
    assert codes(site.files("check")) == ["MQ724"]


def test_discarded_transactions_come_back_once(site: Site) -> None:
    site.half("A")
    site.half("B", group="PG2")
    site.cluster.advance(4 * MINUTE)
    assert {row[0] for row in rows(site.live("list")).values()} == {"discarded"}
    site.cluster.record_requests()
    plan = site.live("resume", "A")
    assert (plan.exit_code, [step["state"] for step in plan.json["steps"]]) == (0, ["planned"])
    assert "no member of the group is online" in plan.json["steps"][0]["effect"]
    assert site.cluster.requests(RESUME) == []
    assert site.live("resume", "A", "--execute").exit_code == 76
    assert site.cluster.requests(RESUME) == []
    done = site.live("resume", "A", "--execute", "--confirm", "DefaultCluster")
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    document = done.json
    document.pop("schema")
    msgspec.convert(document, SCHEMAS["transaction.resume/1"], strict=True)
    assert "0 checks" in done.json["steps"][0]["found"]
    undo = site.run("undo", done.json["id"], env={"MQCTL_STATE_DIR": str(site.state)})
    assert (undo.exit_code, "answers end them" in undo.stderr) == (76, True)
    listed = site.live("list").json["transactions"]
    assert sorted((row["unique_key"], row["state"]) for row in listed) == [
        ("A", "discarded"), ("A", "pending"), ("B", "discarded"),
    ]  # fmt: skip
    again = site.live("resume", "--execute", "--confirm", "DefaultCluster", "-g", "PG")
    assert (again.exit_code, again.json["steps"][0]["state"]) == (1, "impossible")
    assert len(site.cluster.requests(RESUME)) == 1
    assert site.live("resume", "nothing").exit_code == 66


def test_what_was_committed_late_is_not_resumed_and_a_refusal_is_told(site: Site) -> None:
    late = site.half("LATE")
    site.half("NO")
    site.cluster.advance(4 * MINUTE)
    assert site.end(late, COMMIT) == 0
    site.cluster.fault(RESUME, Answer(1, "no room"))
    outcome = site.live("resume", "--execute", "--confirm", "DefaultCluster")
    assert outcome.exit_code == 1
    assert "was committed" in outcome.stderr
    (step,) = outcome.json["steps"]
    assert (step["state"], "no room" in step["reason"]) == ("not-done", True)


def test_a_silent_broker_is_unknown_not_empty(site: Site) -> None:
    site.half("A")
    site.cluster.fault(30, Answer(1, "no offsets today"))
    listed = site.live("list")
    assert (listed.exit_code, "no offsets today" in listed.stderr) == (76, True)
    assert site.live("check").exit_code == 3
    assert site.live("show", "nothing").exit_code == 66
