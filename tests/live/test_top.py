"""`top`: frames for machines, in a pipe and on a terminal; keys; queues that change hands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from tests.client.consuming import quick_client
from tests.conftest import REPOSITORY
from tests.live.conftest import Run
from tests.live.terminal import Terminal

BRISK = ("--every", "100ms")
SETTINGS = LitePullSettings(auto_commit=False, rebalance_period_ms=100)


def test_one_frame_knows_brokers_groups_and_topics(live: Run) -> None:
    outcome = live("top", "--once", *BRISK, "-o", "json")
    frame = outcome.json
    assert (outcome.exit_code, frame["problems"], frame["round"]) == (0, [], 2)
    assert [row["name"] for row in frame["brokers"]] == ["broker-a", "broker-b"]
    (group,) = frame["groups"]
    assert (group["group"], group["topic"], group["lag_count"], group["consume_tps"]) == ("G", "Pay", 4, 0.0)
    assert (group["member_count"], group["owner_change_count"]) == (0, 0)
    (topic,) = frame["topics"]
    assert topic == {"topic": "Pay", "queue_count": 4, "message_count": 10, "produce_tps": 0.0}
    text = live("top", "--once", *BRISK).stdout
    assert ("2 brokers" in text, "lag 4, sorted by time" in text, "\x1b" in text) == (True, True, False)


def test_in_a_pipe_frames_follow_each_other(live: Run) -> None:
    lines = live("top", *BRISK, "--count", "2", "-o", "ndjson").stdout.splitlines()
    assert [(json.loads(line)["schema"], json.loads(line)["round"]) for line in lines] == [("top/1", 1), ("top/1", 2)]
    assert live("top", *BRISK, "--count", "2").stdout.count("2 brokers") == 2


def test_a_broker_that_is_down_is_a_problem_and_not_a_zero(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.broker("broker-b").kill()
    outcome = live("top", "--once", *BRISK, "-o", "json")
    rows = {row["name"]: row for row in outcome.json["brokers"]}
    if "broker-b" in rows:  # the name server has not noticed yet
        assert (outcome.exit_code, rows["broker-b"]["put_tps"]) == (69, None)
        assert rows["broker-b"]["problem"]
    assert rows["broker-a"]["problem"] is None
    assert outcome.json["groups"][0]["lag_count"] == 2


def test_on_a_terminal_keys_sort_and_end_it(terminal: Terminal) -> None:
    keys = {"sorted by time": b"n", "sorted by name": b"o", "sorted by out": b"q"}
    seen = terminal("top", "--every", "1h", keys=keys)
    assert (seen.exit_code, "q quit" in seen.text) == (0, True)


@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_terminal_shows_every_column_and_the_keys(terminal: Terminal, columns: int) -> None:
    seen = terminal("top", "--every", "1h", keys={"pause": b"q"}, columns=columns)
    assert seen.exit_code == 0
    for heading in ("TREND", "OWNERS", "MOVED", "p pause"):
        assert heading in seen.text, seen.text
    assert max(map(len, re.sub(r"\x1b\[[?0-9]*[a-zA-Z]", "", seen.text).splitlines())) <= columns


def test_the_terminal_is_left_as_it_was(terminal: Terminal) -> None:
    seen = terminal("top", "--every", "1h", keys={"sorted by time": b"l", "sorted by lag": b"p", "paused": b"q"})
    assert seen.exit_code == 0
    assert seen.text.index("\x1b[?1049h") < seen.text.index("sorted by time") < seen.text.index("\x1b[?1049l")
    assert seen.text.endswith("\x1b[?25h\x1b[?1049l")


def test_queues_that_change_hands_are_counted(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    words = ("top", "-g", "G", *BRISK, "--owners-every", "100ms", "-o", "ndjson", "--namesrv", cluster.namesrv)
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    with LitePullConsumer("G", quick_client(cluster, instance_name="one"), SETTINGS) as one:
        one.subscribe("Pay")
        process = subprocess.Popen(
            [sys.executable, "-m", "mqctl", *words], env=settings, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            next(line for line in process.stdout if json.loads(line)["groups"][0]["member_count"] == 1)
            with LitePullConsumer("G", quick_client(cluster, instance_name="two"), SETTINGS) as two:
                two.subscribe("Pay")
                moved = (json.loads(line)["groups"][0] for line in process.stdout)
                row = next(row for row in moved if (row["owner_change_count"] or 0) >= 2 and row["member_count"] == 2)
        finally:
            process.kill()
            process.communicate()
    assert row["owner_change_count"] <= 4


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--every", "1ms"), 64, "--every"),
        (("-o", "yaml"), 64, "ndjson"),
        (("--sort", "size"), 64, "--sort"),
        (("--once", "--namesrv", "127.0.0.1:1"), 69, "127.0.0.1:1"),
    ],
)
def test_what_makes_no_sense(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live("top", *words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
