"""`ha compare`: stores of real and embedded masters and slaves, byte by byte."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqctl.operations.replication.stores import compare_stores
from mqctl.render.replication import StoreComparison
from mqctl.store.directory import StoreDirectory
from tests.conftest import Outcome

Run = Callable[..., Outcome]
GOLDEN = Path(__file__).parents[1] / "golden" / "ha"
FILE_BYTES = 131_072
TURNED = {"b-behind": "b-ahead", "b-ahead": "b-behind", "b-empty": "a-empty"}


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
    code, report = compared(mqctl, *diverged)
    assert (code, report["state"]) == (2, "different")
    assert (report["first_difference"], report["different_byte"]) == (346_516, 346_518)
    assert (report["a_start"], report["a_end"], report["b_start"], report["b_end"]) == (0, 493_206, 262_144, 480_996)
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
    code, report = compared(mqctl, master, other)
    assert (code, report["state"], report["first_difference"]) == (1, "b-behind", None)
    log = StoreDirectory.open(master).commit_log
    stored = sum(len(log.walk(file).positions) for file in log.files if file.start >= report["b_end"])
    assert (report["a_only_message_count"], report["b_only_message_count"]) == (stored, 0) and stored > 0
    assert compared(mqctl, other, master)[1]["state"] == "b-ahead"


def test_tables_that_differ_are_counted_with_examples(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, _ = diverged
    other = tmp_path / "copy"
    shutil.copytree(master, other)
    offsets = other / "config" / "consumerOffset.json"
    offsets.write_text('{"offsetTable":{"TopicHA@C_ha":{0:11,1:12},"TopicHA@C_new":{0:1}}}')
    code, report = compared(mqctl, master, other)
    assert (code, report["state"]) == (1, "equal")
    (table,) = report["tables"]
    assert table["table"] == "consumer offsets" and table["only_b_count"] == 1
    assert report["read_again"] == [{"group": "C_ha", "topic": "TopicHA", "queue_count": 1, "message_count": 1}]
    assert "read_again" in compared(mqctl, other, master)[1] and not compared(mqctl, other, master)[1]["read_again"]
    assert "again by those of A" in mqctl("ha", "compare", "--store", master, "--store", other).stdout
    assert "C_ha on TopicHA/0: 10 / 11" in table["examples"]


def test_nothing_in_common_is_not_called_equal(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    master, slave = diverged
    early = tmp_path / "early"
    shutil.copytree(master, early)
    for file in sorted((early / "commitlog").iterdir())[1:]:
        file.unlink()
    code, report = compared(mqctl, early, slave)
    assert (code, report["state"], report["compared_bytes"]) == (3, "nothing-in-common", 0)


@pytest.mark.parametrize("words", [(), ("--store", "x"), ("--store", "x", "--store", "y", "--store", "z")])
def test_two_stores_are_needed(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl("ha", "compare", *words)
    assert outcome.exit_code == 64 and "--store" in outcome.stderr


def test_what_is_no_store_is_named(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    outcome = mqctl("ha", "compare", "--store", diverged[0], "--store", tmp_path / "none")
    assert outcome.exit_code == 66 and str(tmp_path / "none") in outcome.stderr


def poked(store: Path, offset: int, data: bytes) -> None:
    with (store / "commitlog" / f"{offset // FILE_BYTES * FILE_BYTES:020d}").open("r+b") as file:
        file.seek(offset % FILE_BYTES)
        file.write(data)


def both_ways(a: Path, b: Path) -> StoreComparison:
    """Compares in both directions, which must find the same; returns the first answer."""
    forth, reverse = compare_stores(a, b), compare_stores(b, a)
    assert (forth.exit_code(), TURNED.get(forth.state, forth.state)) == (reverse.exit_code(), reverse.state)
    assert (forth.first_difference, forth.different_byte) == (reverse.first_difference, reverse.different_byte)
    assert forth.compared_bytes == reverse.compared_bytes
    return forth


@pytest.mark.parametrize(
    ("offset", "data", "record"),
    [
        (131_072, b"\1", 131_072),  # the first byte of a file
        (131_072 + 95, b"?", 131_072),
        (130_607 + 20, b"junk", 130_607),  # within the filler at the end of a file
        (245_517 + 4, b"\0\0\0\0", 245_517),  # a record's magic: nothing behind it can be read there
        (245_517, bytes(200), 245_517),
        (493_205, b"\1", 492_711),  # the last byte of the log
        (483_306, b"\0\0\1\0" + b"Q" * 60, 483_306),  # half a record that the master lost, then other bytes
    ],
)
def test_a_difference_anywhere_is_found_from_both_sides(
    diverged: tuple[Path, Path], tmp_path: Path, offset: int, data: bytes, record: int
) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    poked(other, offset, data)
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.first_difference) == (2, "different", record)


def test_half_a_record_at_the_end_is_no_difference_and_is_told(diverged: tuple[Path, Path], tmp_path: Path) -> None:
    """Blocks are cut anywhere: a slave that is killed has the first half of a record, and zeros."""
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    poked(other, 493_206 - 50, bytes(50))
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_end, difference.b_unread_bytes) == (
        1,
        "b-behind",
        492_711,
        445,
    )
    assert (difference.a_only_message_count, difference.b_only_message_count) == (1, 0)
    poked(other, 493_206 - 50, (diverged[0] / "commitlog" / f"{393_216:020d}").read_bytes()[99_940:99_990])
    poked(other, 493_206 + 3, b"left")
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_unread_bytes) == (1, "equal", 7)


def test_what_lies_behind_a_missing_file_is_compared(diverged: tuple[Path, Path], tmp_path: Path) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    (other / "commitlog" / f"{131_072:020d}").unlink()
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.compared_bytes) == (
        3,
        "file-missing",
        493_206 - FILE_BYTES,
    )
    poked(other, 478_356 + 99, b"ZZZ")
    assert both_ways(diverged[0], other).first_difference == 478_356


@pytest.mark.parametrize("is_there", [True, False])
def test_a_store_without_a_message_is_told(diverged: tuple[Path, Path], tmp_path: Path, is_there: bool) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    for file in (other / "commitlog").iterdir():
        file.write_bytes(bytes(FILE_BYTES)) if is_there else file.unlink()
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.state, difference.b_end) == (1, "b-empty", 0)
    assert compare_stores(other, other).state == "nothing-in-common"


def test_files_of_another_size_are_told(mqctl: Run, diverged: tuple[Path, Path], tmp_path: Path) -> None:
    other = shutil.copytree(diverged[0], tmp_path / "copy")
    files = sorted((other / "commitlog").iterdir())
    whole = b"".join(file.read_bytes() for file in files)
    for file in files[1:]:
        file.unlink()
    files[0].write_bytes(whole)
    difference = both_ways(diverged[0], other)
    assert (difference.exit_code(), difference.a_file_bytes, difference.b_file_bytes) == (1, FILE_BYTES, 4 * FILE_BYTES)
    shown = mqctl("ha", "compare", "--store", diverged[0], "--store", other).stdout
    assert "Log files differ in size: 131,072 bytes in A, 524,288 in B." in shown
