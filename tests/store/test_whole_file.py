"""Small files are old or new, whatever happens, and nothing is left beside them for ever."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mqctl.store.whole_file import write_whole


def test_a_file_is_replaced_with_its_directories_and_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c.json"
    write_whole(file, b"one", mode=0o600)
    write_whole(file, b"two", mode=0o600)
    assert (file.read_bytes(), file.stat().st_mode & 0o777, list(file.parent.iterdir())) == (b"two", 0o600, [file])


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
def test_a_refusal_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = tmp_path / "c.json"
    write_whole(file, b"one")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(os, name, refuse)
        write_whole(file, b"two")
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"one", [file])


def test_new_content_is_on_the_disk_before_its_name_and_its_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        done.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name.rpartition('.')[2]}")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        done.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_whole(tmp_path / "made" / "c", b"one")
    assert done == [f"sync {tmp_path.name}", "sync new", "replace", "sync made"]


def test_what_killed_writers_left_goes_with_a_later_write_and_what_others_write_now_stays(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    old, young, foreign = (tmp_path / name for name in (".c.json.00000000.new", ".c.json.11111111.new", ".c.json.new"))
    for left in (old, young, foreign):
        left.touch()
    for left in (old, foreign):
        os.utime(left, (1, 1))
    write_whole(file, b"one")
    assert old.exists()
    write_whole(file, b"one", sweep="other.json")
    assert old.exists()
    write_whole(file, b"one", sweep="*.json")
    assert {path.name for path in tmp_path.iterdir()} == {file.name, young.name, foreign.name}
