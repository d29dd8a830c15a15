"""`stacks dump --watch` on real consumers: rounds for scripts, Ctrl-C, a process that ends, members that come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import REPOSITORY
from tests.live.conftest import Consume, Run

pytestmark = pytest.mark.slow

# A build in the background has Ctrl-C ignored, and its children inherit that.
_WORDS = (
    "env",
    "--default-signal=INT",
    sys.executable,
    "-m",
    "mqctl",
    "stacks",
    "dump",
    "--watch",
    "-o",
    "ndjson",
    "--every",
    "200ms",
)


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """Stacks are the clients' matter: one release of the brokers is enough."""
    with EmbeddedCluster(brokers=2, name_servers=2, version="4.9.8") as cluster:
        yield cluster


def watching(cluster: EmbeddedCluster, place: Path, *words: str) -> subprocess.Popen[str]:
    settings = {**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_CONFIG_DIR": str(place), "HOME": str(place)}
    return subprocess.Popen(
        [*_WORDS, *words],
        cwd=REPOSITORY,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_rounds_tell_what_moves_and_for_how_long(live: Run, consume: Consume) -> None:
    process = consume("sleep", ready=2)
    for source in (("--pid", process.pid), ("-g", "G")):
        outcome = live("stacks", "dump", "--watch", *source, "--every", "300ms", "--count", "3", "-o", "ndjson")
        assert outcome.exit_code == 0, outcome.stderr
        rows = [json.loads(line) for line in outcome.stdout.splitlines()]
        assert [(row["cls"], row["thread_count"], row["group"]) for row in rows] == [("sleep", 2, "G")] * 3
        assert [row["motion"] for row in rows] == ["unknown", "stuck", "stuck"]
        assert "sleeps(stack_states.py" in rows[0]["line"]
        assert rows[0]["same_ms"] == 0
        assert rows[2]["same_ms"] >= 500
    table = live("stacks", "dump", "--watch", "--pid", process.pid, "--every", "100ms", "--count", "2")
    assert ("round 2" in table.stdout, "waiting" in table.stdout) == (True, True)
    assert "stood still" in table.stdout


def test_ctrl_c_ends_it_with_130(cluster: EmbeddedCluster, consume: Consume, tmp_path: Path) -> None:
    consume("sleep")
    watcher = watching(cluster, tmp_path, "-g", "G")
    assert watcher.stdout is not None
    assert json.loads(watcher.stdout.readline())["cls"] == "sleep"
    watcher.send_signal(signal.SIGINT)
    _, said = watcher.communicate()
    assert (watcher.returncode, "interrupted" in said, "Traceback" in said) == (130, True, False)


def test_a_process_that_ends_ends_the_watching(cluster: EmbeddedCluster, consume: Consume, tmp_path: Path) -> None:
    process = consume("sleep")
    watcher = watching(cluster, tmp_path, "--pid", str(process.pid))
    assert watcher.stdout is not None
    assert watcher.stdout.readline()
    process.kill()
    process.wait()
    _, said = watcher.communicate()
    assert (watcher.returncode, f"there is no process {process.pid}" in said) == (66, True)


def test_members_that_come_are_followed(cluster: EmbeddedCluster, consume: Consume, tmp_path: Path) -> None:
    consume("sleep", name="one")
    watcher = watching(cluster, tmp_path, "-g", "G", "--count", "200")
    assert watcher.stdout is not None
    assert json.loads(watcher.stdout.readline())["source"] == "127.0.0.1@one"
    consume("burn", name="two", ready=0)
    seen = set()
    while "127.0.0.1@two" not in seen:
        seen.add(json.loads(watcher.stdout.readline())["source"])
    watcher.send_signal(signal.SIGINT)
    watcher.communicate()


def test_what_cannot_be_watched(live: Run) -> None:
    for words in (
        (),
        ("-g", "G", "-o", "csv"),
        ("-g", "G", "--every", "1ms"),
        ("--pid", "1", "-g", "G", "--client", "x"),
        ("--file", "-"),
        ("-g", "G", "--collapsed"),
    ):
        assert live("stacks", "dump", "--watch", *words).exit_code == 64, words
    assert live("stacks", "dump", "-g", "G", "--count", "1").exit_code == 64
    assert live("stacks", "dump", "--watch", "-g", "G", "--count", "1").exit_code == 76
    assert live("stacks", "dump", "--watch", "-g", "nope", "--count", "1").exit_code == 66
    assert live("stacks", "dump", "--watch", "--pid", "999999999", "--count", "1").exit_code == 66
