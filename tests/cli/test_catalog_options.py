"""The table of options behind the Tab, in a checkout that does not have it yet."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives a copy of mqctl's sources, byte code included: they would take long to compile anew."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(REPOSITORY / "mqctl", root / "mqctl", ignore=shutil.ignore_patterns("*catalog_options.txt*"))
    return root


@pytest.fixture
def table(checkout: Path) -> Path:
    """Gives the place of the table, with nothing there."""
    place = checkout / "mqctl" / "cli" / "catalog_options.txt"
    if place.is_dir():
        place.rmdir()
    place.unlink(missing_ok=True)
    return place


def start_tab(checkout: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mqctl", "__complete", *words]
    return subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def tab(checkout: Path, *words: str) -> str:
    process = start_tab(checkout, *words)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return output


def test_first_tabs_write_the_table_later_ones_read_it_and_an_edit_renews_it(checkout: Path, table: Path) -> None:
    both = [start_tab(checkout, "group", "lag", "--gr") for _ in range(2)]
    first = ("--group\tOnly this consumer group.\n", "")
    assert [process.communicate() for process in both] == [first, first]
    assert list(table.parent.glob("*catalog_options.txt*")) == [table]
    written = table.stat()
    assert tab(checkout, "group", "lag", "--gr") == first[0]
    assert (table.stat().st_ino, table.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    source = checkout / "mqctl" / "commands" / "changes" / "history.py"
    source.write_text(source.read_text().replace("def command(", "def command(brand_new: str = '', ", 1))
    assert tab(checkout, "history", "--brand") == "--brand-new\t.\n"


def test_where_it_cannot_be_kept_a_tab_answers_without_it(checkout: Path, table: Path) -> None:
    table.mkdir()  # permissions do not stop root
    assert tab(checkout, "group", "lag", "--gr") == "--group\tOnly this consumer group.\n"


def test_a_wheels_table_is_read_as_it_is(checkout: Path, table: Path) -> None:
    table.write_text("\n--only-here An option.\n\nundo: 0\n")
    assert tab(checkout, "undo", "--") == "--only-here\tAn option.\n"


def test_a_command_that_cannot_be_imported_leaves_no_table(checkout: Path, table: Path) -> None:
    source = checkout / "mqctl" / "commands" / "changes" / "history.py"
    text = source.read_text()
    source.write_text("raise ImportError('broken here')\n")
    try:
        process = start_tab(checkout, "group", "lag", "--gr")
        output, errors = process.communicate()
        assert (process.returncode, output) == (1, "")
        assert "broken here" in errors
    finally:
        source.write_text(text)
    assert not table.exists()
