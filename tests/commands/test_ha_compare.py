"""`ha compare`: stores of real and embedded masters and slaves, byte by byte."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]
GOLDEN = Path(__file__).parents[1] / "golden" / "ha"


@pytest.fixture
def diverged(tmp_path: Path) -> tuple[Path, Path]:
    """A master and a slave that was ahead of it and then overtaken; their last answers told equal ends."""
    for side in ("master", "slave"):
        with tarfile.open(GOLDEN / f"{side}-diverged.tar.gz") as archive:
            archive.extractall(tmp_path, filter="data")
    return tmp_path / "master-diverged", tmp_path / "slave-diverged"


def compared(mqctl: Run, a: Path, b: Path) -> tuple[int, Any]:
    outcome = mqctl("ha", "compare", "--store", a, "--store", b, "-o", "json")
    return outcome.exit_code, outcome.json


def test_the_first_record_that_differs_is_named(mqctl: Run, diverged: tuple[Path, Path]) -> None:
    code, found = compared(mqctl, *diverged)
    assert (code, found["state"]) == (2, "different")
    assert (found["first_difference"], found["different_byte"]) == (346_516, 346_518)
    assert (found["a_start"], found["a_end"], found["b_start"], found["b_end"]) == (0, 493_206, 262_144, 480_996)
    shown = mqctl("ha", "compare", "--store", diverged[0], "--store", diverged[1]).stdout
    assert "THE LOGS DIFFER from the record at 346,516 on" in shown
    assert "The log of B begins 262,144 bytes later." in shown


def test_a_store_equals_itself_and_one_without_its_end_is_behind(
    mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path
) -> None:
    master, _ = diverged
    other = tmp_path / "copy"
    shutil.copytree(master, other)
    assert compared(mqctl, master, other)[0] == 0
    last = max((other / "commitlog").iterdir())
    last.unlink()
    code, found = compared(mqctl, master, other)
    assert (code, found["state"], found["first_difference"]) == (1, "b-behind", None)
    assert compared(mqctl, other, master)[1]["state"] == "b-ahead"


def test_tables_that_differ_are_counted_with_examples(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, _ = diverged
    other = tmp_path / "copy"
    shutil.copytree(master, other)
    offsets = other / "config" / "consumerOffset.json"
    offsets.write_text('{"offsetTable":{"TopicHA@C_ha":{0:11,1:12},"TopicHA@C_new":{0:1}}}')
    code, found = compared(mqctl, master, other)
    assert (code, found["state"]) == (1, "equal")
    (table,) = found["tables"]
    assert table["table"] == "consumer offsets" and table["only_b_count"] == 1
    assert "C_ha on TopicHA/0: 10 / 11" in table["examples"]


def test_nothing_in_common_is_not_called_equal(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, slave = diverged
    early = tmp_path / "early"
    shutil.copytree(master, early)
    for file in sorted((early / "commitlog").iterdir())[1:]:
        file.unlink()
    code, found = compared(mqctl, early, slave)
    assert (code, found["state"], found["compared_bytes"]) == (3, "nothing-in-common", 0)


@pytest.mark.parametrize("words", [(), ("--store", "x"), ("--store", "x", "--store", "y", "--store", "z")])
def test_two_stores_are_needed(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl("ha", "compare", *words)
    assert outcome.exit_code == 64 and "--store" in outcome.stderr


def test_what_is_no_store_is_named(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    outcome = mqctl("ha", "compare", "--store", diverged[0], "--store", tmp_path / "none")
    assert outcome.exit_code == 66 and str(tmp_path / "none") in outcome.stderr
    (tmp_path / "empty" / "commitlog").mkdir(parents=True)
    outcome = mqctl("ha", "compare", "--store", diverged[0], "--store", tmp_path / "empty")
    assert outcome.exit_code == 65 and "no commit log files" in outcome.stderr
