"""`allocation show` on live groups: owners held and expected, marks, idle members, imbalance, strategies told apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.queue import MessageQueue
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.doctor.stage import BROKERS, ONE, TWO, Stage, staged

A0, A1, B0, B1 = (MessageQueue("Pay", broker, number) for broker in BROKERS for number in (0, 1))


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as stage_built:
        yield stage_built


@pytest.fixture
def show(mqctl: Run, running: EmbeddedCluster, tmp_path: Path) -> Run:
    places = {name: str(tmp_path / name) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR")}

    def run(*words: object) -> Outcome:
        command = ("allocation", "show", "-g", "G", "-t", "Pay", *words)
        return mqctl(*command, env={**places, "MQCTL_NAMESRV": running.namesrv})

    return run


def holding(stage: Stage, client: str, *queues: MessageQueue, **more: Any) -> None:
    stage.cast.change(client, queues={queue: stage.held() for queue in queues}, **more)


def marks(report: Any) -> list[str]:
    return [row["marks"] for row in report["queues"]]


def topic(show: Run, *words: object) -> Any:
    (row,) = show(*words, "-o", "json").json["topics"]
    return row


def test_a_healthy_group_has_no_marks(stage: Stage, show: Run) -> None:
    report = show("-o", "json").json
    assert marks(report) == [""] * 4
    assert [(row["holders"], row["expected"], row["lag_count"]) for row in report["queues"]] == [
        (ONE, ONE, 0),
        (ONE, ONE, 0),
        (TWO, TWO, 0),
        (TWO, TWO, 0),
    ]
    (row,) = report["topics"]
    assert (row["even"], row["imbalance"], row["idle"], row["strategies"]) == (True, 1.0, None, "AVG")


def test_orphans_doubles_and_queues_on_their_way_are_marked(stage: Stage, show: Run) -> None:
    holding(stage, ONE, A1, B0)
    report = show("-o", "json").json
    assert marks(report) == ["orphan", "", "double, moving", ""]
    assert (topic(show)["orphan_count"], topic(show)["double_count"]) == (1, 1)


def test_members_beyond_the_queues_are_idle_and_loads_uneven(stage: Stage, show: Run) -> None:
    others = [f"192.0.2.{number}@x" for number in (3, 4, 5)]
    stage.cast.join(*(stage.member(client, queues={}) for client in others))
    row = topic(show)
    assert (row["queue_count"], row["instance_count"], row["even"]) == (4, 5, False)
    assert (row["imbalance"], row["idle"]) == (2.5, ", ".join(others))


def test_rooms_are_told_and_crossed(stage: Stage, show: Run) -> None:
    rule = ("--room-rule", "regex:-([ab])$")
    report = show(*rule, "-o", "json").json
    assert [(row["room"], row["marks"]) for row in report["queues"]] == [("a", ""), ("a", ""), ("b", ""), ("b", "")]
    holding(stage, ONE, B0, B1)
    holding(stage, TWO, A0, A1)
    assert topic(show, *rule)["crossing_count"] == 4


def test_strategies_are_inferred_where_members_differ(stage: Stage, show: Run) -> None:
    holding(stage, TWO, A1, B1)
    report = show("-o", "json").json
    assert {row["client_id"]: row["strategy"] for row in report["instances"]} == {ONE: "AVG", TWO: "AVG_BY_CIRCLE"}
    assert report["topics"][0]["strategies"] == "AVG, AVG_BY_CIRCLE"
    # By their own rules: AVG gives the first two to one, the circle gives every second to two.
    assert [row["expected"] for row in report["queues"]] == [ONE, f"{ONE}, {TWO}", None, TWO]
    assert marks(report) == ["", "double", "orphan", ""]


def test_members_without_the_topic_keep_their_slot(stage: Stage, show: Run) -> None:
    holding(stage, TWO, topics={"Other": "*"})
    report = show("-o", "json").json
    assert [(row["slot"], row["marks"]) for row in report["queues"]][2:] == [(TWO, "orphan")] * 2
    assert [row["subscribes"] for row in report["instances"]] == [True, False]
