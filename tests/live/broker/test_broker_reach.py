"""`mqctl broker reach` through the command line: every port of a cluster, and what it ends with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.client.wire_server import closed_address
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.doctor.stage import Stage, staged
from tests.live.doctor.test_faults_of_addresses import at


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def asked(mqctl: Run, running: EmbeddedCluster, tmp_path: Path) -> Run:
    return lambda *words: mqctl(*words, env={"MQCTL_NAMESRV": running.namesrv, "MQCTL_STATE_DIR": str(tmp_path)})


def states(outcome: Outcome) -> list[tuple[str, str | None, str]]:
    return [(row["role"], row["broker"], row["state"]) for row in outcome.json["ports"]]


def test_every_port_is_tried_and_timed(asked: Run, running: EmbeddedCluster) -> None:
    outcome = asked("broker", "reach", "broker-a", "-o", "json")
    assert outcome.exit_code == 0, outcome
    assert states(outcome)[:3] == [
        ("name server", None, "answers"),
        ("broker", "broker-a", "answers"),
        ("VIP", "broker-a", "answers"),
    ]
    assert all(row["connect_ms"] >= 0 and row["answer_ms"] >= 0 for row in outcome.json["ports"][:3])
    # The embedded broker has no HA port; whoever has the number after its own may be anybody.
    *_, (role, name, state) = states(outcome)
    assert (role, name, state == "closed") == ("HA", "broker-a", "only to slaves" in outcome.stderr)


def test_a_broker_behind_a_dead_address_ends_with_69(asked: Run, running: EmbeddedCluster) -> None:
    with staged(running) as stage:
        _ghost(stage)
        outcome = asked("broker", "reach", "-o", "json")
    assert outcome.exit_code == 69
    assert ("broker", "broker-x", "closed") in states(outcome)
    assert ("broker", "broker-a", "answers") in states(outcome)


def _ghost(stage: Stage) -> None:
    at("127.0.0.1:1")(stage)


def test_ports_of_a_proxy_are_tried_where_one_is_named(asked: Run, running: EmbeddedCluster) -> None:
    outcome = asked("broker", "reach", "broker-b", "--proxy", running.namesrv, "-o", "json")
    assert (outcome.exit_code, states(outcome)[-2]) == (69, ("proxy", None, "answers"))
    assert states(outcome)[-1][0] == "proxy gRPC"
    assert asked("broker", "reach", "--proxy", "host:port").exit_code == 64


def test_a_name_server_that_is_gone_is_a_row(mqctl: Run, tmp_path: Path) -> None:
    outcome = mqctl(
        "broker", "reach", "--namesrv", closed_address(), "-o", "json", env={"MQCTL_STATE_DIR": str(tmp_path)}
    )
    assert (outcome.exit_code, states(outcome)) == (69, [("name server", None, "closed")])


def test_a_broker_that_is_not_there_is_said_so(asked: Run) -> None:
    assert asked("broker", "reach", "broker-z").exit_code == 66
