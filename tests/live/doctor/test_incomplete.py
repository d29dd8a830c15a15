"""What cannot be known stays unknown: silent members, lost brokers, names without rooms, groups with nobody in them,
topics and members that go while they are looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embedded_broker import Alter, Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_stats import ConsumeTimeSpan, ConsumeTimeSpans
from mqctl.protocol.codes import Language
from mqctl.protocol.frame import RemotingCommand
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.doctor.stage import BROKERS, NEARBY, ONE, TWO, Stage, codes, staged

TOPIC_GONE, NOT_ONLINE = 17, 206


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


@pytest.fixture
def asked(mqctl: Run, running: EmbeddedCluster, tmp_path: Path) -> Run:
    places = {name: str(tmp_path / name) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR")}

    def ask(*words: object) -> Outcome:
        return mqctl(*words, "--timeout", "3s", env={**places, "MQCTL_NAMESRV": running.namesrv})

    return ask


def test_a_member_of_another_language_that_tells_nothing_makes_it_unknown(stage: Stage, asked: Run) -> None:
    stage.cast.leave(TWO)
    stage.cast.join(stage.member("192.0.2.2@cpp", silent=True), language=Language.CPP)
    report = asked("doctor", "-g", "G", "-o", "json")
    assert report.exit_code == 3, report.stdout
    assert [finding["code"] for finding in report.json["findings"]] == ["MQ209"]
    assert {gap["code"] for gap in report.json["not_judged"]} >= {"MQ202", "MQ309"}
    check = asked("subscription", "check", "-g", "G", "-o", "json")
    assert (check.exit_code, check.json["consistent"]) == (3, None)
    shown = asked("allocation", "show", "-g", "G", "-o", "json")
    marks = {row["broker"]: row["marks"] for row in shown.json["queues"]}
    assert (shown.exit_code, marks) == (75, {"broker-a": "", "broker-b": "unknown"})
    assert {row["client_id"]: row["strategy"] for row in shown.json["instances"]}["192.0.2.2@cpp"] == "?"


def test_half_of_the_brokers_out_of_reach_is_no_verdict_on_the_other_half(stage: Stage, asked: Run) -> None:
    stage.cluster.fault(None, Drop(), server="broker-b")
    report = asked("doctor", "-o", "json")
    assert (report.exit_code, [item["code"] for item in report.json["findings"]]) == (2, ["MQ620"]), report.stdout
    assert {gap["subject"] for gap in report.json["not_judged"]} == {"broker-b"}
    stage.cluster.clear_faults()
    stage.commit("broker-a", 77)
    stage.cluster.fault(None, Drop(), server="broker-b")
    worse = asked("doctor", "-o", "json")
    assert (worse.exit_code, {item["code"] for item in worse.json["findings"]}) == (2, {"MQ404", "MQ620"})


def test_many_rules_that_lack_the_same_stand_in_one_line_for_people(stage: Stage, asked: Run) -> None:
    stage.cluster.fault(None, Drop(), server="broker-b")
    document = asked("doctor", "-o", "json").json
    gaps = document["not_judged"]
    (cause,) = document["not_judged_causes"]  # machines see it once
    assert (cause["cause"], cause["subjects"]) == ("timed-out", ["broker-b"])
    assert set(cause["codes"]) == {gap["code"] for gap in gaps}
    assert all("was not answered by" in reason for reason in cause["reasons"])
    shown = asked("doctor").stdout
    lines = [line for line in shown.splitlines() if "was not answered by" in line]
    assert len(gaps) > 70 > 12 >= len(lines) > 3, shown
    assert len(lines) == len(set(lines))
    named = sum(len(re.findall(r"MQ\d+", line)) + int((re.findall(r" \+(\d+) ", line) or ["0"])[0]) for line in lines)
    assert named == len({(gap["code"], gap["subject"]) for gap in gaps})


def test_names_without_a_room_are_told_by_every_command(stage: Stage, asked: Run) -> None:
    rule = ("--room-rule", "regex:^(ht|cp)-")
    for client in (ONE, TWO):
        stage.cast.change(client, properties=stage.said(allocateMessageQueueStrategy=NEARBY))
    report = asked("doctor", "-g", "G", *rule, "-o", "json")
    (finding,) = report.json["findings"]
    assert (report.exit_code, finding["code"], finding["evidence"]["name_count"]) == (2, "MQ611", 4)
    shown = asked("allocation", "show", "-g", "G", *rule, "--strategy", "nearby")
    assert "no room for" in shown.stdout
    simulated = asked("allocation", "simulate", "-g", "G", "-t", "Pay", *rule, "--strategy", "nearby", "-o", "json")
    (before,) = simulated.json["results"]
    assert ("no room for" in before["failure"], before["orphan_count"]) == (True, 4)


def test_a_group_with_nobody_in_it_is_not_called_healthy(stage: Stage, asked: Run) -> None:
    for client in (ONE, TWO):
        stage.cast.leave(client)
    stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="Empty")))
    report = asked("doctor", "-g", "Empty", "-o", "json")
    assert (report.exit_code, report.json["online_group_count"]) == (3, 0)
    text = asked("doctor", "-g", "Empty").stdout
    assert "no member of the group is online" in text and "No consumer group" not in text
    assert asked("subscription", "check", "-g", "Empty").exit_code == 3
    assert "no member of Empty is online" in asked("allocation", "show", "-g", "Empty").stdout
    assert asked("doctor", "-g", "misspelt").exit_code == 66
    assert "nothing to check" not in asked("doctor", "--store", stage.cluster.data_dir / "broker-a").stdout


@pytest.mark.parametrize("code", [105, 202, 303], ids=["route", "bounds", "ages"])
def test_a_topic_that_is_deleted_between_two_requests_is_gone_and_no_fault(stage: Stage, code: int) -> None:
    stage.commit("broker-a", 0)
    told_before: list[str] = []

    def deleted(_: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        table = json.loads(answer.body)
        told_before.append("a table")
        if len(told_before) > len(BROKERS):
            del table["topicConfigTable"]["Pay"]
            table["dataVersion"]["timestamp"] = stage.now_ms
        return replace(answer, body=json.dumps(table).encode())

    stage.cluster.fault(21, Alter(answer=deleted))
    stage.cluster.fault(code, Answer(TOPIC_GONE, remark="no topic Pay"), where={"topic": "Pay"})
    diagnosis = stage.judge()
    # Without a topic the offset that is left behind has no queue; nothing else is made of it.
    assert codes(diagnosis) <= {"MQ404"}
    assert diagnosis.findings == () or code == 202


@pytest.mark.parametrize(
    ("age_ms", "unknown"), [(0, set[str]()), (-5, {"MQ401"})], ids=["caught-up", "clock-went-back"]
)
def test_a_group_that_caught_up_between_two_requests_is_judged(stage: Stage, age_ms: int, unknown: set[str]) -> None:
    """The broker gives no age (0) where the group has consumed what still waited when its offsets were read."""
    stage.commit("broker-a", 0)
    span = ConsumeTimeSpan(message_queue=MessageQueue("Pay", "broker-a", 0), delay_time=age_ms, min_time_stamp=1)
    body = ConsumeTimeSpans(consume_time_span_set=(span,)).to_bytes()
    stage.cluster.fault(303, Answer(0, body=body), server="broker-a", where={"topic": "Pay"})
    diagnosis = stage.judge()
    assert "MQ401" not in codes(diagnosis)
    assert {gap.code for gap in diagnosis.not_judged} == unknown


def test_members_that_go_while_they_are_asked_are_unknown(stage: Stage, asked: Run) -> None:
    stage.cluster.fault(307, Answer(NOT_ONLINE, remark="gone"), where={"clientId": TWO})
    report = asked("doctor", "-g", "G", "-o", "json")
    assert (report.exit_code, report.json["findings"]) == (3, [])
    assert {gap["code"] for gap in report.json["not_judged"]} == {"MQ202", "MQ309"}
    assert asked("subscription", "check", "-g", "G").exit_code == 3


def test_a_list_of_members_that_is_gone_when_it_is_asked_for_is_a_group_without_members(stage: Stage) -> None:
    stage.cluster.fault(38, Answer(NOT_ONLINE, remark="gone"))
    diagnosis = stage.judge()
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())


def test_a_saved_snapshot_can_be_judged_for_one_group_or_broker(stage: Stage, asked: Run, tmp_path: Path) -> None:
    stage.cast.change(TWO, topics={"Pay": "B"})
    stage.commit("broker-b", 55)
    file = tmp_path / "all.snap"
    assert asked("snapshot", "save", file).exit_code == 0

    def found(*words: str) -> set[str]:
        report = asked("doctor", "--snapshot", file, *words, "-o", "json").json
        return {finding["code"] for finding in report["findings"]}

    assert found() == {"MQ203", "MQ404"}
    assert found("--broker", BROKERS[0]) == {"MQ203"}
    assert asked("doctor", "--snapshot", file, "-t", "Other").exit_code == 66
    assert asked("doctor", "--snapshot", file, "-g", "misspelt").exit_code == 66
