"""Strangers name groups; what mqctl then prints to type next is pasted into a shell and runs nothing but mqctl."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.live.failing import fail
from tests.shells_reading import SHELLS, words_read

NAMES = ("$(touch pwned)", "`touch pwned`", "x;touch pwned", "orders x", "--execute")
LINE = re.compile(r"mqctl [a-z](?:'[^']*'|[^;'\n])*")
"""A command up to the prose behind it: `until when` begins a loop."""


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    """Brokers of 4.9 check no name of a group that commits."""
    with EmbeddedCluster(version="4.9.8") as running:
        yield running


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Groups with such names are behind on Pay and have dead letters; `orders` is not behind."""
    shared_cluster.reset()
    with Peer(shared_cluster.broker().address) as peer:
        for _ in range(5):
            assert peer.call(send("Pay"), b"x").code == 0
        for name in NAMES:
            change(shared_cluster, "broker-a", commit_offset(name, "Pay", 0, 1))
            fail(shared_cluster, "broker-a", 0, level=-1, group=name)
    change(shared_cluster, "broker-a", commit_offset("orders", "Pay", 0, 5))
    return shared_cluster


def paste(shell: str, outcome: Outcome, directory: Path) -> list[str]:
    """Pastes each command of an answer; returns them."""
    lines = LINE.findall(f"{outcome.stdout}\n{outcome.stderr}")
    script = "\n".join(["mqctl() { :; }", *lines])
    subprocess.run([shell], input=script, text=True, capture_output=True, cwd=directory, check=False, timeout=60)
    assert list(directory.iterdir()) == [], lines
    return lines


@pytest.mark.parametrize("shell", SHELLS)
def test_nothing_else_runs_when_lines_of_answers_are_pasted(
    live: Run, cluster: EmbeddedCluster, shell: str, tmp_path: Path
) -> None:
    directory = tmp_path / "pasted"
    directory.mkdir()
    pasted = [
        *paste(shell, live("doctor"), directory),
        *paste(shell, live("doctor", "--lang", "zh"), directory),
        *paste(shell, live("check", "--group", "*", "--max-lag", "0"), directory),
        *paste(shell, live("group", "lag"), directory),
        *paste(shell, live("dlq", "list"), directory),
    ]
    for name in NAMES:
        shown = live("dlq", "list", "-g", name)
        assert shown.exit_code == 0, shown
        pasted += paste(shell, shown, directory)
        pasted += paste(shell, live("stacks", "dump", "-g", name), directory)
    assert all(any(name in line for line in pasted) for name in NAMES)
    assert len(pasted) > 20


def test_commands_in_answers_name_the_group_as_one_word(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    checked = live("check", "--group", "*", "--max-lag", "0", "-o", "json").json["results"]
    assert {row["name"]: row["kind"] for row in checked if row["state"] == "error"} == dict.fromkeys(NAMES, "group")
    by_name = {row["name"]: row["next_command"] for row in checked if row["name"] in NAMES}
    findings = [row for row in live("doctor", "-o", "json").json["findings"] if row["names"].get("group") in NAMES]
    assert {row["names"]["group"] for row in findings} == {*NAMES}
    lines = [*by_name.values(), *_commands(findings, "next_command"), *_commands(findings, "playbook_command")]
    names = [*by_name, *(row["names"]["group"] for row in findings if row["next_command"])]
    names += [row["names"]["group"] for row in findings if row["playbook_command"]]
    for name, words in zip(names, words_read("sh", lines, tmp_path), strict=True):
        assert name in words or f"group={name}" in words, (name, words)


def _commands(rows: list[Any], key: str) -> list[str]:
    return [row[key] for row in rows if row[key]]
