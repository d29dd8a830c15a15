"""Read commands while answers are altered, in the short form: the same lies each time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mqctl.cli.catalog import ENTRIES, options_of
from tests.conftest import REPOSITORY
from tests.reliability.answers.commands import ELSEWHERE, commands
from tests.reliability.answers.mutation import MARK
from tests.reliability.answers.run import Ran, problem_of

_RUNS = 180


@pytest.mark.long
def test_no_lie_of_a_server_breaks_a_read_command() -> None:
    command = [sys.executable, "-m", "tests.reliability.answers", "--numbers", f"0:{_RUNS}", "--seed", "1"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4_000:]
    figures = json.loads(done.stdout)
    assert figures["problems"] == []
    assert figures["runs"] == _RUNS
    assert figures["altered_answers"] > _RUNS
    assert figures["commands"] <= _RUNS, "each command is to be run"
    assert figures["ends"]["0"] > 10
    assert len(figures["ends"]) >= 4, "lies are to be noticed, in more than one way"


@pytest.mark.quick
def test_every_read_command_of_a_cluster_or_a_snapshot_is_lied_to() -> None:
    reads = {" ".join(entry.path) for entry in ENTRIES if entry.impact == "reads"}
    live = {name for name in reads if "--namesrv" in options_of(tuple(name.split()))}
    saved = {name for name in live if "--snapshot" in options_of(tuple(name.split()))}
    assert {command.name for command in commands() if not command.of_snapshot} == live - ELSEWHERE.keys()
    assert {command.name for command in commands() if command.of_snapshot} == {*saved, "snapshot show"}


@pytest.mark.quick
@pytest.mark.parametrize(
    ("code", "out", "err", "peak_mib"),
    [
        (70, "", "mqctl: mqctl has a bug: ValueError: 1", 50),
        (0, "", "Exception in thread a:\nTraceback (most recent call last):\n  File", 50),
        (64, "", "mqctl: wrong", 50),
        (0, "", "", 1_025),
        (0, "a name\x1b[31m", "", 50),
        (0, f"a name x\n{MARK} and more", "", 50),
        (0, "", "mqctl: " + "y" * 5_000, 50),
        (0, "{", "", 50),
    ],
)
def test_what_may_not_be_is_noticed(code: int, out: str, err: str, peak_mib: int) -> None:
    assert problem_of(Ran(code, out, err, 0.1, 0.1, peak_mib << 20), ["x", "-o", "json"]) is not None
    assert problem_of(Ran(0, "{}", "mqctl: one line\n", 0.1, 0.1, 50 << 20), ["x", "-o", "json"]) is None
