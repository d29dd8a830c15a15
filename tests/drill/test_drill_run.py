"""`mqctl drill run`, as typed: a sound cluster keeps its promises, and a broken client is accused of what it did."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.drill import broken_client
from tests.drill.broken_client import DROPPED, REFUSED, SWAPPED, TWICE
from tests.live.conftest import Run

SMALL = """
title: A consumer is killed and a broker dies
cluster: {brokers: [broker-a]}
time_scale: 40
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 200, rate: 200}]
groups: [{name: ledger, mode: orderly, consumers: 2}]
schedule:
  - {at: 300ms, do: kill, consumer: ledger-1}
  - {at: 500ms, do: kill-broker, broker: broker-a, back_after: 500ms}
"""
STRICT = """
title: Nothing happens, and nothing is allowed
cluster: {brokers: [broker-a]}
time_scale: 40
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 5s, settle: 0s, repeats_back: 0s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 200, rate: 200}]
groups: [{name: ledger, mode: key-ordered, consumers: 1, threads: 1}]
"""


def test_a_sound_cluster_keeps_its_promises_while_things_die(mqctl: Run, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    history = tmp_path / "small.history"
    outcome = mqctl("drill", "run", tmp_path / "small.yaml", "--history", history, "-o", "json")
    assert outcome.exit_code == 0, (outcome.stdout, outcome.stderr)
    assert (outcome.json["state"], outcome.json["sent"]) == ("kept", 200)
    assert "ledger-1 was killed" in outcome.stderr
    assert "broker-a was killed, and came back" in outcome.stderr
    assert mqctl("drill", "check", history).exit_code == 0


def test_a_broken_client_is_accused_of_exactly_what_it_did(mqctl: Run, tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text(STRICT)
    client = f"{sys.executable} {broken_client.__file__}"
    outcome = mqctl(
        "drill", "run", tmp_path / "strict.yaml", "--history", tmp_path / "h", "--client", client, "-o", "json"
    )
    assert outcome.exit_code == 2, (outcome.stdout, outcome.stderr)
    accused = {each["promise"]: each["number"] for each in outcome.json["breaches"]}
    # A commit that was seen while that message was held back is another proof of the same fault.
    assert accused.pop("committed-ahead", SWAPPED) == SWAPPED
    assert accused == {
        "lost": DROPPED,
        "delivered-though-refused": REFUSED,
        "repeated": TWICE,
        "key-order": SWAPPED + 10,
    }
    assert {each["promise"]: each["outside"] for each in outcome.json["promises"] if each["outside"]} | {
        "committed-ahead": 1
    } == dict.fromkeys((*accused, "committed-ahead"), 1)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("rate: 200", "rate: 0"),
        ("mode: orderly", "mode: sideways"),
        ("messages: 200", "messages: 2000"),
        ("broker: broker-a,", "broker: broker-z,"),
        ("at: 300ms", "at: soon"),
    ],
)
def test_a_plan_that_contradicts_itself_ends_with_65(mqctl: Run, tmp_path: Path, wrong: str, reason: str) -> None:
    (tmp_path / "plan.yaml").write_text(SMALL.replace(wrong, reason))
    outcome = mqctl("drill", "run", tmp_path / "plan.yaml", "--history", tmp_path / "h")
    assert (outcome.exit_code, (tmp_path / "h").exists()) == (65, False)


def test_on_another_cluster_nothing_is_done_without_execute(mqctl: Run, tmp_path: Path) -> None:
    outcome = mqctl("drill", "run", "upgrade", "--namesrv", "192.0.2.1:9876", "-o", "json")
    assert (outcome.exit_code, outcome.json["messages"]) == (0, 100_000)
    assert outcome.json["topic"].startswith("mqctl-drill-upgrade-")
