"""Why a group is behind is part of the finding that says so, as far as its members tell, and since when they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus
from mqctl.protocol.bodies_stats import ConsumeTimeSpan, ConsumeTimeSpans
from mqctl.protocol.codes import RequestCode
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.doctor.stage import HOUR_MS, ONE, TWO, Stage, staged


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        built.now_ms = running.now_ms()
        for client in (ONE, TWO):
            built.cast.say(built.member(client))
        old = ConsumeTimeSpan(delay_time=2 * HOUR_MS, message_queue=MessageQueue("Pay", "broker-a", 0))
        body = ConsumeTimeSpans(consume_time_span_set=(old,)).to_bytes()
        running.fault(RequestCode.QUERY_CONSUME_TIME_SPAN, Answer(0, body=body), server="broker-a")
        built.send("broker-a", count=4)
        yield built


@pytest.fixture
def asked(mqctl: Run, stage: Stage, tmp_path: Path) -> Run:
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path)}
    return lambda *words: mqctl(*words, env=env)


def works(stage: Stage, *, call_ms: float, tps: float, started_ms: int = HOUR_MS) -> None:
    """Has both members tell what they consumed in the last minute, with twenty threads each."""
    rates = {"Pay": ConsumeStatus(consume_rt=call_ms, consume_ok_tps=tps)}
    said = stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - started_ms))
    for client in (ONE, TWO):
        stage.cast.change(client, rates=rates, properties=said)


def behind(asked: Run, *words: str) -> Outcome:
    return asked("doctor", "G", "--only", "MQ401", *words)


@pytest.mark.parametrize(
    ("call_ms", "tps", "cause", "says", "following"),
    [
        (400, 40, "listener", "The listener is slow: it takes 400 ms a call. Consume threads: 40;", "stacks dump"),
        (50, 300, "threads", "Its consume threads are the limit: they are busy. Consume threads: 40;", "--advise"),
    ],
)
def test_one_look_says_why_a_group_is_behind_and_what_to_do(
    asked: Run, stage: Stage, tmp_path: Path, call_ms: float, tps: float, cause: str, says: str, following: str
) -> None:
    works(stage, call_ms=call_ms, tps=tps)
    (finding,) = behind(asked, "-o", "json").json["findings"]
    assert (finding["names"]["cause"], says in finding["what"]) == (cause, True), finding
    assert finding["evidence"]["consume_ms"] == call_ms
    assert following in finding["next_command"]
    page = tmp_path / "ticket.html"
    shown = behind(asked, "--html", str(page))
    assert says in " ".join(shown.stdout.split())
    assert says in page.read_text()
    chinese = behind(asked, "--lang", "zh").stdout
    assert "消费线程" in chinese
    assert "The listener" not in chinese
    saved = tmp_path / "one.snap"
    assert asked("snapshot", "save", str(saved)).exit_code == 0
    (again,) = asked("doctor", "--snapshot", str(saved), "-g", "G", "--only", "MQ401", "-o", "json").json["findings"]
    assert again["names"]["cause"] == cause


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
@pytest.mark.parametrize(
    ("call_ms", "tps", "started_ms"),
    [(400, 1, HOUR_MS), (0, 0, HOUR_MS), (400, 40, 1_000)],
    ids=["idle", "nothing-consumed", "just-started"],
)
def test_what_members_do_not_carry_is_not_claimed(
    asked: Run, stage: Stage, call_ms: float, tps: float, started_ms: int
) -> None:
    works(stage, call_ms=call_ms, tps=tps, started_ms=started_ms)
    (finding,) = behind(asked, "-o", "json").json["findings"]
    assert "cause" not in finding["names"], finding
    assert finding["what"].endswith("4 messages waiting.")
    assert finding["next_command"].endswith("-g G --advise")


def old_on(stage: Stage, broker: str, *, count: int = 4) -> None:
    """Lets messages wait on a broker that says that they are two hours old."""
    old = ConsumeTimeSpan(delay_time=2 * HOUR_MS, message_queue=MessageQueue("Pay", broker, 0))
    body = ConsumeTimeSpans(consume_time_span_set=(old,)).to_bytes()
    stage.cluster.fault(RequestCode.QUERY_CONSUME_TIME_SPAN, Answer(0, body=body), server=broker)
    stage.send(broker, count=count)


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
def test_what_members_say_is_told_of_a_group_that_is_behind_on_two_brokers(asked: Run, stage: Stage) -> None:
    works(stage, call_ms=400, tps=40)
    old_on(stage, "broker-b")
    said = "The listener is slow: it takes 400 ms a call. Consume threads: 40; consumed: 80.0/s."
    seen = behind(asked).stdout
    assert ("8 messages waiting" in seen, said in seen, "unknown" in seen) == (True, True, False), seen
    assert "每次调用耗时 400 ms。消费线程：40；消费速率：80.0/秒。" in behind(asked, "--lang", "zh").stdout
    mute = {name: value for name, value in stage.said().items() if "hread" not in name and "THREAD" not in name}
    stage.cast.change(TWO, properties=mute)
    seen = behind(asked).stdout
    assert f"{said.partition(' Consume')[0]} Consumed: 80.0/s." in seen, seen


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
def test_groups_behind_are_told_by_cause_and_one_that_lives_first(asked: Run, stage: Stage) -> None:
    works(stage, call_ms=400, tps=40)
    for number in range(4):
        stage.ask("broker-a", put_group(SubscriptionGroupConfig(name=f"dead-{number}")))
        stage.commit("broker-a", 0, group=f"dead-{number}")
    seen = asked("doctor", "--only", "MQ401").stdout
    live, dead = seen[: seen.index("dead-0")], seen[seen.index("dead-0") :]
    assert "Group G is 2 h behind" in live and "Make the listener faster" in live, seen
    assert "first: mqctl stacks dump " in live and "4 findings" in live
    assert "advice: Start the group's consumers" in dead and "Make the listener" not in dead
    assert "--sort lag\n" in dead and "playbook" not in dead


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
def test_nobody_online_is_a_cause_only_where_every_broker_said_so(asked: Run, stage: Stage) -> None:
    for client in (ONE, TWO):
        stage.cast.leave(client)
    (finding,) = behind(asked, "-o", "json").json["findings"]
    assert "No broker knows a member of it that is online." in finding["what"]
    assert finding["advice"].startswith("Start the group's consumers")
    stage.cluster.fault(RequestCode.GET_CONSUMER_LIST_BY_GROUP, Answer(1, remark="broken"), server="broker-b")
    stage.cluster.fault(RequestCode.GET_CONSUMER_CONNECTION_LIST, Answer(1, remark="broken"), server="broker-b")
    (finding,) = behind(asked, "-o", "json").json["findings"]
    assert "No broker knows" not in finding["what"]


@pytest.mark.parametrize("running", ["4.9.8"], indirect=True)
def test_advice_begins_with_the_cause_in_a_sentence_and_says_its_units(asked: Run, stage: Stage) -> None:
    works(stage, call_ms=50, tps=300)
    advice = asked("group", "lag", "G", "--advise", "--window", "200ms")
    first = advice.stdout.splitlines()[0]
    assert first.startswith("G on Pay: Its consume threads are the limit"), advice.stdout
    assert "DELETED BEFORE READ" in advice.stdout
    assert re.search(r"threads per instance: \d+", advice.stdout), advice.stdout
    assert "TOTAL NEEDED" not in advice.stdout


@pytest.mark.parametrize("running", ["4.9.8"], indirect=True)
def test_members_differ_since_they_are_online_together_however_often_they_subscribe_anew(
    asked: Run, stage: Stage
) -> None:
    """A subscription's time is renewed whenever queues are shared out anew: what it advised to replay was nothing."""
    differing = {ONE: ("A", 3 * HOUR_MS), TWO: ("B", 2 * HOUR_MS)}

    def since(version_ms: int) -> int:
        for client, (tag, started_ms) in differing.items():
            said = stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - started_ms))
            stage.cast.join(stage.member(client, topics={"Pay": tag}, version_ms=version_ms, properties=said))
        (finding,) = asked("doctor", "G", "--only", "MQ203", "-o", "json").json["findings"]
        assert "The members that are online now differ since " in finding["advice"]
        return int(finding["evidence"]["differing_since_time_ms"])

    began_ms = stage.now_ms - 2 * HOUR_MS
    assert since(stage.now_ms - 2 * HOUR_MS) == began_ms
    assert since(stage.now_ms) == began_ms
