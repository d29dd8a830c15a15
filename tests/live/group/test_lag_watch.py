"""`group lag --watch` and `--until`: what rounds say, on a pipe and on a terminal, and how waiting ends."""

from __future__ import annotations

import json
from threading import Thread

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset
from tests.live.conftest import Run, change
from tests.live.terminal import Terminal

BRISK = ("--every", "100ms")


def catch_up(cluster: EmbeddedCluster) -> None:
    for broker in ("broker-a", "broker-b"):
        change(cluster, broker, commit_offset("G", "Pay", 0, 5))


def test_rounds_as_lines_for_machines_and_tables_for_people(live: Run) -> None:
    outcome = live("group", "lag", "--watch", *BRISK, "--count", "3", "-o", "ndjson")
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert (outcome.exit_code, [row["round"] for row in rows]) == (0, [1, 2, 3])
    assert {row["schema"] for row in rows} == {"group.lag.watch/1"}
    assert [(row["lag_count"], row["consume_tps"], row["trend"]) for row in rows] == [
        (4, None, "unknown"),
        (4, 0.0, "steady"),
        (4, 0.0, "steady"),
    ]
    tables = live("group", "lag", "--watch", *BRISK, "--count", "2").stdout
    assert (tables.count("IN/S"), tables.count("round 2"), "\x1b" in tables) == (2, 1, False)


def test_on_a_terminal_the_same_place_is_drawn_again(terminal: Terminal) -> None:
    seen = terminal("group", "lag", "--watch", *BRISK, "--count", "3")
    assert (seen.exit_code, seen.text.count("round 3")) == (0, 1)
    assert seen.text.count("\x1b[4F") == 2


def test_a_narrow_terminal_loses_no_column(terminal: Terminal) -> None:
    seen = terminal("group", "lag", "--watch", *BRISK, "--count", "2", columns=60)
    assert seen.exit_code == 0
    assert "TREND" in seen.text and "GONE" in seen.text, seen.text


def test_until_is_reached_when_the_group_catches_up(live: Run, cluster: EmbeddedCluster) -> None:
    outcomes = []
    words = ("group", "lag", "-g", "G", "--until", "lag<1", *BRISK, "--timeout", "60s", "-o", "json")
    waiting = Thread(target=lambda: outcomes.append(live(*words)))
    waiting.start()
    catch_up(cluster)
    waiting.join()
    (outcome,) = outcomes
    assert (outcome.exit_code, outcome.json["groups"][0]["lag_count"]) == (0, 0)
    watched = live("group", "lag", "--watch", "--until", "lag(G)=0", *BRISK, "--timeout", "60s")
    assert (watched.exit_code, watched.stdout.count("round")) == (0, 1)


def test_until_times_out_with_75_and_the_last_numbers(live: Run) -> None:
    words = ("group", "lag", "--until", "lag<4 and lost=0", *BRISK, "-o", "json")
    for timeout in ("1500ms", "5s", "15s"):  # a slow machine may end it in the middle of a look, and that is a 3
        outcome = live(*words, "--timeout", timeout)
        if outcome.exit_code != 3:
            break
    assert (outcome.exit_code, outcome.json["groups"][0]["lag_count"]) == (75, 4)
    assert "lag<4 and lost=0 was not reached in time" in outcome.stderr


def test_what_a_silent_broker_hides_is_unknown_and_never_reached(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(43, Drop(), server="broker-b")
    try:
        outcome = live("group", "lag", "--until", "lag<3", *BRISK, "--timeout", "3s", "-o", "json")
        assert (outcome.exit_code, outcome.json["groups"][0]["lag_count"]) == (3, 2)
        assert "not known whether lag<3 holds" in outcome.stderr  # a slow machine may end it in the middle of a look
        definite = live("group", "lag", "--until", "lag<2", *BRISK, "--timeout", "3s")
        assert definite.exit_code == 75
    finally:
        cluster.clear_faults()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--until", "lag<"), 64, "a number is missing"),
        (("--until", "lag(nobody)<1"), 66, "nobody"),
        (("-g", "nobody", "--until", "lag<1"), 66, "nobody"),
        (("--watch", "--every", "1ms"), 64, "--every"),
        (("--watch", "--count", "0"), 64, "--count"),
        (("--watch", "-o", "yaml"), 64, "ndjson"),
        (("--watch", "--by", "queue"), 64, "--watch shows groups"),
        (("--watch", "--store", "/x"), 64, "live cluster"),
    ],
)
def test_what_makes_no_sense(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live("group", "lag", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_a_cluster_that_is_not_there_is_no_waiting(live: Run) -> None:
    outcome = live("group", "lag", "--until", "lag<1", env={"MQCTL_NAMESRV": "127.0.0.1:1"})
    assert outcome.exit_code == 69


def test_until_says_why_it_does_not_know(live: Run) -> None:
    with EmbeddedCluster() as empty:
        words = ("group", "lag", "--until", "lag<1", *BRISK, "--timeout", "1s", "--namesrv", empty.namesrv)
        nobody = live(*words)
    assert (nobody.exit_code, "no consumer group has offsets" in nobody.stderr) == (3, True), nobody.stderr
