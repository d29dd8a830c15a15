"""Small files are old or new, whatever happens, and nothing is left beside them for ever."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker.acl.file import write_node
from embedded_broker.log.store_lock import StoreLock
from embedded_broker.tables.config_file import write_config
from mqctl.changes.steps.delay_files import alone, write
from mqctl.cli.text_files import write_text
from mqctl.errors import MqctlError
from mqctl.store.disk import Disk
from mqctl.store.exclusive_lock import exclusive_lock
from mqctl.store.own_files import (
    appending_stream,
    changing_stream,
    new_stream,
    open_own,
    open_within,
    replace_within,
    write_named,
    write_whole,
)
from mqctl.store.set_aside import write_acknowledgement
from tests.each import each


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


def lock_store(file: Path) -> None:
    StoreLock(file.parent).acquire()


def hold(file: Path) -> None:
    with exclusive_lock(file, "try it"):
        pass


def lock_for_repair(file: Path) -> None:
    with alone(file.parent):
        pass


def append(file: Path) -> None:
    with appending_stream(file) as stream:
        stream.write(b"more")


def change(file: Path) -> None:
    with changing_stream(file) as stream:
        stream.write(b"more")


def within(file: Path) -> None:
    directory = open_within(file.parents[1], file.parent.name)
    try:
        replace_within(directory, file.name, b"new")
    finally:
        os.close(directory)


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "whole": ("file", lambda file: write_whole(file, b"new")),
    "named": ("file", lambda file: write_named(file, b"new")),
    "new": ("file", new_stream),
    "new instead": ("file", lambda file: new_stream(file, instead=True).close()),
    "appending": ("file", append),
    "changing": ("file", change),
    "own": ("lock", lambda file: os.close(open_own(file))),
    "within": ("file", within),
    "a mapped file": ("00000000000000000000", lambda file: Disk().create(str(file), 64)),
    "a mapped file that is there": ("00000000000000000000", lambda file: Disk().write(str(file), b"new", 0)),
    "a broker's lock": ("lock", lock_store),
    "a broker's settings": ("topics.json", lambda file: write_config(file.parent, file.name, {"a": 1})),
    "their backup": ("topics.json.bak", lambda file: write_config(file.parent, "topics.json", {"a": 1})),
    "their old temporary name": ("topics.json.tmp", lambda file: write_config(file.parent, "topics.json", {"a": 1})),
    "an access list": ("plain_acl.yml", lambda file: write_node(file, {"accounts": []})),
    "a lock of commands": (".x.lock", hold),
    "its note": (".x.lock.holder", lambda file: hold(file.with_name(".x.lock"))),
    "a repair's lock": ("lock", lock_for_repair),
    "a repair": ("delayOffset.json", lambda file: write(file.parents[1], {"config/delayOffset.json": "{}"})),
    "its old temporary name": ("delayOffset.json.mqctl", lambda file: write(file.parents[1], {})),
    "an acknowledgement": ("acknowledged.json", lambda file: write_acknowledgement(file.parents[1], "config", "{}")),
    "the page of a report": ("page.html", lambda file: write_text(file, "<html>")),
}  # fmt: skip
"""What writes a file, by the name under which somebody has planted a link."""


@each("name", WRITERS)
def test_a_planted_link_is_never_written_through(tmp_path: Path, name: str) -> None:
    """Nor is the file that it leads to made, emptied, given another mode or owner: whoever calls may be root."""
    planted, writer = WRITERS[name]
    for there in (True, False):
        elsewhere, place = tmp_path / name / f"elsewhere {there}", tmp_path / name / f"{there}" / "config"
        place.mkdir(parents=True)
        (place / "topics.json").write_text("{}")
        if there:
            elsewhere.write_text("precious")
            elsewhere.chmod(0o600)
        (place / planted).unlink(missing_ok=True)
        (place / planted).symlink_to(elsewhere)
        try:
            writer(place / planted)
        except (OSError, MqctlError) as error:
            assert "Traceback" not in str(error)
        assert elsewhere.exists() is there
        if there:
            assert (elsewhere.read_text(), elsewhere.stat().st_mode & 0o777) == ("precious", 0o600)


@pytest.mark.parametrize("link", ["commitlog.set-aside", "commitlog.set-aside/0"])
def test_no_directory_on_the_way_is_a_link(tmp_path: Path, link: str) -> None:
    elsewhere, store = tmp_path / "elsewhere", tmp_path / "store"
    for made in (elsewhere / "0", store / Path(link).parent):
        made.mkdir(parents=True)
    (store / link).symlink_to(elsewhere)
    with pytest.raises(MqctlError):
        write_acknowledgement(store, "commitlog.set-aside/0", "{}")
    assert [path.name for path in elsewhere.rglob("*")] == ["0"]


@each("name", ["own", "appending", "changing", "a broker's lock", "a repair's lock"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    planted, writer = WRITERS[name]
    place = tmp_path / name / "config"
    place.mkdir(parents=True)
    os.mkfifo(place / planted)
    with pytest.raises((OSError, MqctlError)):
        writer(place / planted)


def test_a_named_file_keeps_its_permissions_and_a_pipe_gets_the_bytes(tmp_path: Path) -> None:
    page, pipe = tmp_path / "page.html", tmp_path / "pipe"
    page.write_text("old")
    page.chmod(0o640)
    write_named(page, b"new")
    assert (page.read_bytes(), page.stat().st_mode & 0o777) == (b"new", 0o640)
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_named(pipe, b"page")
        assert reader.communicate()[0] == b"page"
    with pytest.raises(FileNotFoundError):
        write_named(tmp_path / "no" / "page.html", b"new")


def test_a_named_file_may_be_stdout_that_the_shell_sent_to_a_file(tmp_path: Path) -> None:
    code = "from mqctl.store.own_files import *; write_named(Path('/dev/stdout'), b'page')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"page"
    assert Path("/dev/stdout").is_symlink()


def test_directories_that_are_made_are_the_users_own(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b" / "c.json", b"one")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o700, 0o700]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    """As root a device could be."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="Invalid argument"):
        write_whole(pipe, b"new")
    with pytest.raises(FileExistsError):
        new_stream(pipe, instead=True)
    assert pipe.is_fifo()
