"""A name server that no broker is registered with, and names that nothing has: no command calls either of them well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import Outcome
from tests.live.conftest import Run


@pytest.fixture(scope="module")
def deserted() -> Iterator[EmbeddedCluster]:
    """A name server whose only broker comes and goes."""
    with EmbeddedCluster(brokers=1) as running:
        yield running


@pytest.fixture
def asked(mqctl: Run, deserted: EmbeddedCluster, tmp_path: Path) -> Run:
    env = {"MQCTL_NAMESRV": deserted.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "state")}
    return lambda *words: mqctl(*words, env=env)


@pytest.fixture
def gone(deserted: EmbeddedCluster) -> Iterator[None]:
    broker = deserted.broker("broker-a")
    broker.stop()
    yield
    broker.start()


def codes(outcome: Outcome) -> list[str]:
    return [item["code"] for item in outcome.json["findings"]]


def test_a1_doctor_tells_that_no_broker_is_registered(asked: Run, gone: None) -> None:
    outcome = asked("doctor", "-o", "json")
    assert (outcome.exit_code, codes(outcome)) == (2, ["MQ618"])
    by_name = asked("doctor", "-g", "G", "-t", "Pay", "--broker", "broker-a", "-o", "json")
    assert (by_name.exit_code, codes(by_name)) == (2, ["MQ618"])
    assert "没有任何 broker 注册" in asked("explain", "MQ618", "--lang", "zh").stdout


def test_a1_brokers_seen_a_moment_ago_are_named(asked: Run, deserted: EmbeddedCluster) -> None:
    assert asked("broker", "list").exit_code == 0
    deserted.broker("broker-a").stop()
    try:
        outcome = asked("doctor", "-o", "json")
    finally:
        deserted.broker("broker-a").start()
    assert (outcome.exit_code, codes(outcome)) == (2, ["MQ618", "MQ617"])
    assert outcome.json["findings"][1]["subject"] == "broker-a"


@pytest.mark.parametrize(
    "words",
    [
        ("broker", "list"),
        ("cluster", "list"),
        ("cluster", "describe"),
        ("topic", "list"),
        ("group", "list"),
        ("group", "lag"),
    ],
)
def test_a1_lists_do_not_end_well(asked: Run, gone: None, words: tuple[str, ...]) -> None:
    outcome = asked(*words, "-o", "json")
    assert (outcome.exit_code, outcome.stdout) == (66, ""), outcome
    assert "no broker is registered" in outcome.stderr


def test_a1_checks_snapshots_and_metrics_do_not_either(asked: Run, gone: None, tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text("disk: 0.9\ngroups:\n  G: {dead_letters: 0}\n")
    outcome = asked("check", file, "-o", "json")
    states = {item["check"]: item["state"] for item in outcome.json["results"]}
    assert (outcome.exit_code, states) == (2, {"registered": "error", "dead_letters": "unknown"})
    scraped = asked("export", "prometheus", "--once")
    assert scraped.exit_code != 0
    assert "mqctl_up 0.0" in scraped.stdout
    saved = asked("snapshot", "save", tmp_path / "x.snap")
    assert saved.exit_code == 66
    assert "no broker is registered" in saved.stderr
    judged = asked("doctor", "--snapshot", tmp_path / "x.snap", "-o", "json")
    assert (judged.exit_code, codes(judged)) == (2, ["MQ618"])
    assert asked("broker", "list", "--snapshot", tmp_path / "x.snap").exit_code == 66


@pytest.mark.parametrize("words", [("-t", "nosuch"), ("--broker", "nosuch"), ("-g", "nosuch")])
def test_a2_doctor_of_a_name_that_nothing_has_ends_with_66(asked: Run, words: tuple[str, ...]) -> None:
    outcome = asked("doctor", *words, "-o", "json")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "nosuch" in outcome.stderr
