"""Stacks in a diagnosis: taken with the snapshot, judged from it, live or saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.snapshot.archive import load_snapshot
from tests.conftest import Outcome
from tests.live.conftest import Consume, Run

# Windows of a minute shrink to 0.3 s: nothing here waits to be late.
SCALED = ("--time-scale", "200", "--only", "MQ32*")
_SECONDS = 60


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """Stacks are the clients' matter: one release of the brokers is enough."""
    with EmbeddedCluster(brokers=2, name_servers=2, version="4.9.8") as cluster:
        yield cluster


def until(ask: Callable[[], Outcome], wanted: Callable[[set[str]], bool]) -> Any:
    """Asks again until the codes of the findings are as wanted; returns the answer."""
    end = monotonic() + _SECONDS
    while True:
        outcome = ask()
        assert outcome.exit_code in {0, 1, 2, 3}, outcome.stderr
        if wanted({item["code"] for item in outcome.json["findings"]}):
            return outcome.json
        assert monotonic() < end, outcome.stdout


def test_a_snapshot_carries_stacks_and_what_they_were_later(live: Run, consume: Consume, tmp_path: Path) -> None:
    consume("sleep")
    file = tmp_path / "with.snap"
    assert live("snapshot", "save", file, "--stacks").exit_code == 0
    (info,) = load_snapshot(file).running
    assert info.stacks is not None
    texts = [info.stacks, *(item.text for item in info.later_stacks)]
    assert len(texts) == 3
    assert all("stack_states.py" in text and "ConsumeMessageThread_G_1" in text for text in texts)
    first, second = (item.taken_at_ms for item in info.later_stacks)
    assert second > first
    plain = tmp_path / "without.snap"
    assert live("snapshot", "save", plain).exit_code == 0
    assert [item.stacks for item in load_snapshot(plain).running] == [None]
    refused = live("doctor", "--snapshot", file, "--stacks")
    assert (refused.exit_code, "--stacks needs a live cluster" in refused.stderr) == (64, True)


@pytest.mark.parametrize(
    ("does", "ready", "more", "code", "said"),
    [
        ("sleep", 2, {}, "MQ323", "sleeps(stack_states.py:"),
        ("http", 2, {}, "MQ322", "asks_a_slow_server(stack_states.py:"),
        ("deadlock", 2, {}, "MQ320", "ConsumeMessageThread_G_2"),
        ("lock", 4, {"threads": 4}, "MQ321", "waits_for_a_lock(stack_states.py:"),
        ("burn", 2, {}, "MQ324", "stack_states.py:"),
        ("hang", 1, {}, "MQ327", "one_hangs(stack_states.py:"),
    ],
)
def test_what_consumers_do_is_found_through_the_broker(
    live: Run, consume: Consume, slow_server: str, does: str, ready: int, more: dict[str, int], code: str, said: str
) -> None:
    """Until the state is the one asked for: commits that come a moment later look like a thread that hangs, too."""
    consume(does, ready=ready, url=slow_server, **more)
    end = monotonic() + _SECONDS
    while True:
        report = until(
            lambda: live("doctor", "-g", "G", "--stacks", *SCALED, "-o", "json"), lambda codes: code in codes
        )
        (finding,) = [item for item in report["findings"] if item["code"] == code]
        assert finding["subject"] == "G 127.0.0.1@one"
        if said in finding["what"] + finding["effect"]:
            return
        assert monotonic() < end, finding


def test_a_consumer_that_keeps_up_has_no_finding(live: Run, consume: Consume) -> None:
    consume("content", ready=4)
    outcome = until(
        lambda: live("doctor", "-g", "G", "--stacks", "-o", "json"),
        lambda codes: not any(code.startswith("MQ32") for code in codes),
    )
    assert {"MQ320", "MQ327"} <= set(outcome["rules_run"])


def test_rules_about_stacks_are_silent_without_them(live: Run, consume: Consume) -> None:
    consume("sleep")
    plain = live("doctor", "-g", "G", "-o", "json")
    assert not [code for code in plain.json["rules_run"] if code.startswith("MQ32")]
    answer = live("doctor", "-g", "G", "--only", "MQ322", "-o", "json")
    assert (answer.exit_code, [gap["code"] for gap in answer.json["not_judged"]]) == (3, ["MQ322"])
    assert "--stacks" in answer.json["not_judged"][0]["reason"]


def test_a7_an_orderly_thread_that_two_looks_find_at_one_message_is_an_error(live: Run, consume: Consume) -> None:
    """No queue is late yet by any limit of one look; the window alone tells that nothing moves."""
    consume("hang", orderly=True, threads=1)
    words = ("doctor", "-g", "G", "--window", "2s", "--stacks", "--time-scale", "5", "--only", "MQ32*", "-o", "json")
    outcome = live(*words)
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["severity"]) == (2, "error"), outcome.stdout
    assert "one_hangs(stack_states.py:" in finding["what"] + finding["effect"]
    assert 0 <= finding["evidence"]["idle_ms"] < 12_000  # what one look would call blocked
