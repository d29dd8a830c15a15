"""A short turn of every fuzzing target, the same inputs each time, as the command runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mqctl.errors import BadInputError
from tests.conftest import REPOSITORY
from tests.reliability.fuzz.engine import Target, TooLarge, run


@pytest.mark.parametrize("seed", [1])
def test_no_reader_fails_on_hostile_input(seed: int) -> None:
    command = [sys.executable, "-m", "tests.reliability.fuzz", "--rounds", "1", "--seed", str(seed)]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    targets = json.loads(done.stdout)["targets"]
    assert len(targets) >= 24
    assert all(target["inputs"] > 0 for target in targets)
    assert sum(target["inputs"] for target in targets) > 4_000


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

    found = run(_target(surprises), inputs=500, seed_number=1)
    assert len(found.failures) == 1
    assert "IndexError" in found.failures[0]
    monkeypatch.setattr("tests.reliability.fuzz.engine.MEMORY_PER_INPUT_BYTES", 1 << 20)
    assert TooLarge.__name__ in run(_target(eats), inputs=50, seed_number=1).failures[0]
    fine = run(_target(named), inputs=100, seed_number=1)
    assert (fine.failures, fine.refused) == ([], fine.inputs)


def test_an_endless_loop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr("tests.reliability.fuzz.engine.SECONDS_PER_INPUT", 0.05)
    assert "TooSlow" in run(_target(turns), inputs=3, seed_number=1).failures[0]


def test_the_same_seed_tries_the_same_inputs() -> None:
    tried: list[list[bytes]] = []
    for _ in range(2):
        seen: list[bytes] = []
        run(_target(seen.append), inputs=200, seed_number=7)
        tried.append(seen)
    assert tried[0] == tried[1]
    assert len(set(tried[0])) > 50
