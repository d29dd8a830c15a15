"""The planted faults that tests are measured by: which are drawn, and that the sharp rooms stay sharp."""

from __future__ import annotations

import json
import subprocess
import sys
from math import comb
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.requires import need_extra

need_extra("mutation", "cosmic_ray")

from benchmarks.mutation.__main__ import SCORES  # noqa: E402
from benchmarks.mutation.faults import faults  # noqa: E402
from benchmarks.mutation.rooms import ROOMS  # noqa: E402

SOURCE = """
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Alias = int | None if 1 < 2 else str

Value = str | int
LIMIT = 1 | 4


@dataclass(frozen=True, slots=True)
class Row:
    size: int | None = None


def larger(one: int | None, other: list[int | str]) -> bool | None:
    seen: int | float = 3
    return one is not None and one > seen
"""
_SHARP = 0.9


def test_nothing_is_planted_where_it_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = SOURCE.splitlines()
    places = [fault.start_pos for fault in faults(tmp_path, [Path("module.py")])]
    planted = {lines[line - 1][column:] for line, column in places}
    assert planted >= {"| 4", "@dataclass(frozen=True, slots=True)", "True, slots=True)", "3", "> seen"}
    assert {
        text for text in planted if text.startswith(("| None", "| int", "| float", "| str", "True)", "1 < 2"))
    } == set()


def test_rooms_and_their_tests_are_there() -> None:
    for name, room in ROOMS.items():
        assert list(room.modules(REPOSITORY)), name
        assert all((REPOSITORY / test).exists() for test in room.tests if test.startswith("tests/")), name
    assert json.loads(SCORES.read_text(encoding="utf-8")).keys() <= ROOMS.keys()


@pytest.mark.long
@pytest.mark.parametrize("room", sorted(json.loads(SCORES.read_text(encoding="utf-8"))))
def test_the_tests_of_a_sharp_room_notice_nine_faults_of_ten(room: str) -> None:
    """Another sample each time. A room fails where no room that notices nine of ten would have such a sample."""
    words = ("-m", "benchmarks.mutation", room, "--count", "40", "--minutes", "5", "--least", "0")
    done = subprocess.run([sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    noticed, _, planted = done.stdout.splitlines()[-1].removeprefix(f"{room}: ").split()[:3]
    assert chance_of_fewer(int(noticed), int(planted)) > 1e-4, done.stdout


def chance_of_fewer(noticed: int, planted: int) -> float:
    """How often a room that notices nine of ten notices no more than these."""
    return sum(comb(planted, k) * _SHARP**k * (1 - _SHARP) ** (planted - k) for k in range(noticed + 1))
