"""A short turn of every fuzzing target, the same inputs each time, as the command runs it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mqctl.errors import BadInputError
from tests.conftest import REPOSITORY
from tests.reliability.fuzz.engine import Target, TooLarge, run


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_no_reader_fails_on_hostile_input(seed: int) -> None:
    command = [sys.executable, "-m", "tests.reliability.fuzz", "--rounds", "1", "--seed", str(seed)]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    targets = json.loads(done.stdout)["targets"]
    assert len(targets) >= 24
    assert all(target["inputs"] > 0 for target in targets)
    assert sum(target["inputs"] for target in targets) > 50_000
    by_name = {target["target"]: target for target in targets}
    for name in ("frames", "headers", "fastjson", "bodies", "answers"):
        assert by_name[name]["new_arcs"] > 0, name
        assert by_name[name]["kept"] > 0, name


def failing_input(told: str) -> bytes:
    match = re.search(r"input of \d+ bytes: (b.*)$", told, re.MULTILINE)
    assert match is not None, told
    data = ast.literal_eval(match[1])
    assert isinstance(data, bytes)
    return data


def _target(read: object) -> Target:
    return Target("t", lambda: [b"abc", b"{}"], read)  # type: ignore[arg-type]


def test_the_fuzzer_finds_what_it_is_there_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other exceptions, endless loops and hunger are failures; named errors are none."""

    def surprises(data: bytes) -> None:
        if b"\xff" in data:
            raise IndexError(data)

    def eats(data: bytes) -> None:
        _ = bytearray(2 << 20)

    def named(data: bytes) -> None:
        raise BadInputError("A test cannot be read", reason="it is one")

    failure = run(_target(surprises), inputs=500, seed_number=1)
    assert len(failure.failures) == 1
    assert "IndexError" in failure.failures[0]
    assert b"\xff" in failing_input(failure.failures[0])
    assert len(failing_input(failure.failures[0])) == 1
    monkeypatch.setattr("tests.reliability.fuzz.engine.MEMORY_PER_INPUT_BYTES", 1 << 20)
    assert TooLarge.__name__ in run(_target(eats), inputs=50, seed_number=1).failures[0]
    fine = run(_target(named), inputs=100, seed_number=1)
    assert (fine.failures, fine.refused) == ([], fine.inputs)


def test_an_endless_loop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr("tests.reliability.fuzz.engine.SECONDS_PER_INPUT", 0.05)
    monkeypatch.setattr("tests.reliability.fuzz.mutation._SHRINKING_SECONDS", 0.2)
    assert "TooSlow" in run(_target(turns), inputs=3, seed_number=1).failures[0]


@pytest.mark.quick
def test_the_same_seed_tries_the_same_inputs() -> None:
    tried: list[list[bytes]] = []
    for _ in range(2):
        seen: list[bytes] = []
        run(_target(seen.append), inputs=200, seed_number=7)
        tried.append(seen)
    assert tried[0] == tried[1]
    assert len(set(tried[0])) > 50


def test_memory_of_c_libraries_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no Python allocator sees: the resident memory of the process decides, for every input."""
    import mmap

    def maps(data: bytes) -> None:
        with mmap.mmap(-1, 48 << 20) as room:
            for at in range(0, len(room), mmap.PAGESIZE):
                room[at] = 1

    monkeypatch.setattr("tests.reliability.fuzz.engine.MEMORY_PER_INPUT_BYTES", 32 << 20)
    monkeypatch.setattr("tests.reliability.fuzz.engine._MEMORY_EVERY", 1 << 30)
    assert TooLarge.__name__ in run(_target(maps), inputs=3, seed_number=1).failures[0]


def _locks(data: bytes) -> None:
    problem = "A door is shut"
    if data[:1] != b"k":
        raise BadInputError(problem, reason="the first lock")
    if data[1:2] != b"e":
        raise BadInputError(problem, reason="the second lock")
    if data[2:3] != b"y":
        raise BadInputError(problem, reason="the third lock")
    if data[3:4] == b"!":
        raise ZeroDivisionError(data)


def test_inputs_that_get_further_are_edited_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure four locks deep: blind edits do not get there, edits of what opened one lock do."""
    monkeypatch.setattr("tests.reliability.fuzz.coverage._OURS", __file__)
    target = Target("t", lambda: [b"abc"], _locks, tuple(b"k e y !".split()))
    failure = run(target, inputs=20_000, seed_number=1)
    assert "ZeroDivisionError" in failure.failures[0]
    assert target.guide.kept
    blind = Target("t", lambda: [b"abc"], _locks, tuple(b"k e y !".split()), guided=False)
    assert run(blind, inputs=20_000, seed_number=1).failures == []
    target.guide.save(tmp_path / "t")
    again = Target("t", lambda: [b"abc"], _locks, tuple(b"k e y !".split()))
    again.guide.load(tmp_path / "t")
    assert sorted(again.guide.kept) == sorted(target.guide.kept)
