"""Stores that are broken, foreign, half copied or no stores at all: found, named, never a crash, never written to."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.errors import BadInputError, ExitCode, MqctlError, NotFoundError
from mqctl.model.config_file import FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.store.consumequeue import written_entries, written_entries_linear
from mqctl.store.directory import StoreDirectory
from mqctl.store.index_file import IndexFile
from mqctl.store.verify import VerifyReport, verify
from tests.store.builder import StoreBuilder, message, write_commit_log, write_queue

Copy = Callable[[str], Path]
PROPERTIES = {"KEYS": "order-1 order-2", "UNIQ_KEY": "C000020200010001A5", "TAGS": "TagA", "color": "red"}
# Fields of a record that nothing in a store repeats: a changed bit there cannot be found. See docs of `store verify`.
UNCHECKED_FIELDS = {
    "FLAG": range(16, 20),
    "BORNTIMESTAMP": range(40, 48),
    "BORNHOST": range(48, 56),
    "RECONSUMETIMES": range(72, 76),
    "PREPAREDTRANSACTIONOFFSET": range(76, 84),
}
# Checked only as far as it goes: order in the log, equality of hosts, bits that change the layout or the dispatch.
PARTLY_CHECKED_FIELDS = {
    "SYSFLAG": range(36, 40),
    "STORETIMESTAMP": range(56, 64),
    "STOREHOST": range(64, 72),
}


def small_store(root: Path, *, count: int = 6, host: str = "127.0.0.1:10911") -> StoreBuilder:
    built = StoreBuilder(commit_log_file_bytes=4_096)
    for number in range(count):
        built.append(
            message(
                "TopicTest", number % 2, f"body {number}".encode(), PROPERTIES,
                store_time_ms=1_795_218_000_000 + number, store_host=host,
            )
        )  # fmt: skip
    built.write(root)
    return built


def damage_of(report: VerifyReport) -> list[Damage]:
    """Damage apart from the configuration files, which made stores do not have."""
    return [item for item in report.damages if not item.file.startswith("config")]


def codes(root: Path) -> set[DamageCode]:
    return {item.code for item in damage_of(verify(StoreDirectory.open(root)))}


def test_a_made_store_has_no_damage(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s", count=40)
    report = verify(StoreDirectory.open(tmp_path / "s"))
    assert damage_of(report) == []
    assert (report.record_count, report.queue_entries, report.index_entries) == (40, 40, 120)
    assert report.max_offset == built.end
    assert report.messages_per_topic == {"TopicTest": 40}


def test_no_such_directory_and_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as gone:
        StoreDirectory.open(tmp_path / "gone")
    assert gone.value.exit_code is ExitCode.NOT_FOUND
    (tmp_path / "readme.txt").write_text("hello")
    with pytest.raises(BadInputError, match="commitlog") as error:
        StoreDirectory.open(tmp_path)
    assert error.value.exit_code is ExitCode.BAD_INPUT
    with pytest.raises(BadInputError):
        StoreDirectory.open(tmp_path / "readme.txt")


def test_a_raft_store_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "dledger-n0" / "data").mkdir(parents=True)
    (tmp_path / "dledger-n0" / "index").mkdir()
    (tmp_path / "config").mkdir()
    with pytest.raises(BadInputError, match="DLedger"):
        StoreDirectory.open(tmp_path)


@pytest.mark.parametrize("part", ["commitlog", "consumequeue", "index", "config", "checkpoint"])
def test_a_half_copied_store_is_read_as_far_as_it_goes(tmp_path: Path, part: str) -> None:
    small_store(tmp_path / "s")
    path = tmp_path / "s" / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    report = verify(StoreDirectory.open(tmp_path / "s"))
    assert report.record_count == (0 if part == "commitlog" else 6)
    missing = {item.file for item in report.damages if item.code is DamageCode.MISSING_PART}
    assert missing == ({part} - {"index"})
    if part == "commitlog":
        (lost,) = report.graded(DamageGrade.DAMAGE)  # the entries that lead into it are counted, not listed
        assert lost.count == report.queue_entries + report.index_entries
        assert report.queue_entries == 6


def test_a_log_cut_at_every_byte_of_its_last_record(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s")
    last = built.messages[-1]
    path = tmp_path / "s" / "commitlog" / f"{0:020d}"
    whole = path.read_bytes()[: built.end]
    for end in range(last.physical_offset, built.end):
        path.write_bytes(whole[:end])
        report = verify(StoreDirectory.open(tmp_path / "s"))
        assert report.record_count == 5
        assert report.max_offset == last.physical_offset
        dangling = [item for item in report.damages if item.code is DamageCode.QUEUE_ENTRY_DANGLING]
        assert [(item.physical_offset, item.offset) for item in dangling] == [(last.physical_offset, 40)]
        if end - last.physical_offset >= 8:
            torn = [item for item in report.damages if item.code is DamageCode.TORN_RECORD]
            assert [(item.offset, item.length_bytes) for item in torn] == [
                (last.physical_offset, end - last.physical_offset)
            ]


def test_a_torn_last_record_of_a_killed_broker_is_expected(tmp_path: Path) -> None:
    built = StoreBuilder(commit_log_file_bytes=4_096)
    built.append(message(properties=PROPERTIES))
    built.append(message(body=b"lost"), dispatch=False)
    end = built.end
    built.log[-30:] = bytes(30)
    built.write(tmp_path / "s")
    (tmp_path / "s" / "abort").touch()
    report = verify(StoreDirectory.open(tmp_path / "s"))
    damages = [item for item in damage_of(report) if item.grade is DamageGrade.DAMAGE]
    assert report.record_count in (1, 2)
    assert damages == [] or {item.code for item in damages} == {DamageCode.BAD_TEXT}
    assert end > report.max_offset - 1


def _field_of(position: int) -> str:
    for table in (UNCHECKED_FIELDS, PARTLY_CHECKED_FIELDS):
        for name, where in table.items():
            if position in where:
                return name
    return "CHECKED"


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flip_at_every_byte_of_a_record(tmp_path: Path, mask: int) -> None:
    """Never a crash, and found wherever format, queue or index hold the same fact twice.

    The text of properties other than TAGS, KEYS and UNIQ_KEY is checked for being text, no more.
    """
    built = small_store(tmp_path / "s")
    victim = built.messages[2]
    path = tmp_path / "s" / "commitlog" / f"{0:020d}"
    whole = bytearray(path.read_bytes())
    record = bytes(whole[victim.physical_offset :][: victim.size_bytes])
    plain = range(record.index(b"color\x01red"), record.index(b"color\x01red") + len(b"color\x01red"))
    silent = set()
    for at in range(victim.size_bytes):
        damaged = bytearray(whole)
        damaged[victim.physical_offset + at] ^= mask
        path.write_bytes(damaged)
        report = verify(StoreDirectory.open(tmp_path / "s"))
        assert report.record_count >= 5
        damages = damage_of(report)
        if not damages:
            silent.add("PROPERTIES (other)" if at in plain else _field_of(at))
        for item in damages:
            assert item.file
    assert silent <= {*UNCHECKED_FIELDS, *PARTLY_CHECKED_FIELDS, "PROPERTIES (other)"}
    assert set(UNCHECKED_FIELDS) <= silent


def test_zero_length_files(tmp_path: Path) -> None:
    small_store(tmp_path / "s", count=60)
    root = tmp_path / "s"
    (root / "commitlog" / f"{4_096:020d}").write_bytes(b"")
    (root / "consumequeue" / "TopicTest" / "0" / f"{0:020d}").write_bytes(b"")
    next((root / "index").iterdir()).write_bytes(b"")
    (root / "checkpoint").write_bytes(b"")
    report = verify(StoreDirectory.open(root))
    empty = {item.file for item in report.damages if item.code is DamageCode.ZERO_LENGTH_FILE}
    assert {Path(name).parts[0] for name in empty} == {"commitlog", "consumequeue", "index"}
    assert DamageCode.CHECKPOINT_UNREADABLE in codes(root)
    with pytest.raises(BadInputError):
        StoreDirectory.open(root).checkpoint()


def test_gaps_in_log_and_queue(tmp_path: Path) -> None:
    built = StoreBuilder(commit_log_file_bytes=4_096, queue_file_entries=10)
    for number in range(60):
        built.append(message(body=b"x" * 100, store_time_ms=1_795_218_000_000 + number))
    root = built.write(tmp_path / "s")
    (root / "commitlog" / f"{4_096:020d}").unlink()
    (root / "consumequeue" / "TopicTest" / "0" / f"{200:020d}").unlink()
    report = verify(StoreDirectory.open(root))
    gaps = {item.code: dict(item.params) for item in report.damages if item.code.value.endswith("_gap")}
    assert gaps[DamageCode.COMMIT_LOG_GAP] == {"start": 4_096, "end": 8_192}
    assert gaps[DamageCode.QUEUE_GAP] == {"start": 200, "end": 400}


def test_a_hole_in_the_log_is_skipped_and_measured(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s")
    path = tmp_path / "s" / "commitlog" / f"{0:020d}"
    data = bytearray(path.read_bytes())
    hit = built.messages[2]
    data[hit.physical_offset : hit.physical_offset + hit.size_bytes] = bytes(hit.size_bytes)
    path.write_bytes(data)
    report = verify(StoreDirectory.open(tmp_path / "s"))
    holes = [item for item in report.damages if item.code is DamageCode.HOLE]
    assert [(item.offset, item.length_bytes) for item in holes] == [(hit.physical_offset, hit.size_bytes)]
    assert report.record_count == 5


def test_a_commit_log_of_another_broker(tmp_path: Path) -> None:
    ours = small_store(tmp_path / "s", count=40)
    other = StoreBuilder(commit_log_file_bytes=4_096, log_start=1 << 20)
    for _ in range(8):
        other.append(message("Elsewhere", store_host="192.0.2.9:10911"))
    second = tmp_path / "s" / "commitlog" / f"{4_096:020d}"
    second.write_bytes(bytes(other.log).ljust(4_096, b"\0"))
    report = verify(StoreDirectory.open(tmp_path / "s"))
    (foreign,) = [item for item in report.damages if item.code is DamageCode.FOREIGN_RECORD]
    assert (foreign.offset, foreign.physical_offset, foreign.grade) == (0, 4_096, DamageGrade.DAMAGE)
    assert foreign.params["found"] == 1 << 20
    assert foreign.params["store_host"] == "192.0.2.9:10911"
    assert any(item.code is DamageCode.QUEUE_ENTRY_DANGLING for item in report.damages)
    # And one whose offsets fit: its queues and its host give it away.
    fitting = StoreBuilder(commit_log_file_bytes=4_096, log_start=4_096)
    for _ in range(4):
        fitting.append(message("Elsewhere", store_host="192.0.2.9:10911", store_time_ms=1_795_218_000_500))
    second.write_bytes(bytes(fitting.log).ljust(4_096, b"\0"))
    damage_codes = codes(tmp_path / "s")
    assert DamageCode.FOREIGN_RECORD in damage_codes
    assert damage_codes & {DamageCode.QUEUE_ENTRY_DANGLING, DamageCode.QUEUE_ENTRY_MISMATCH}
    assert len(ours.messages) == 40


def test_a_queue_whose_entries_point_into_nothing(tmp_path: Path) -> None:
    small_store(tmp_path / "s")
    write_queue(tmp_path / "s" / "consumequeue" / "TopicTest" / "1", [(7, 150, 1), (1 << 40, 99, 1)], 100)
    report = verify(StoreDirectory.open(tmp_path / "s"))
    dangling = [item for item in report.damages if item.code is DamageCode.QUEUE_ENTRY_DANGLING]
    assert sorted((item.offset, item.physical_offset) for item in dangling) == [(0, 7), (20, 1 << 40)]
    store = StoreDirectory.open(tmp_path / "s")
    assert (
        store.commit_log.store_times(store.consume_queue("TopicTest", 1).entries()["physical_offset"]).tolist()
        == [-1] * 2
    )
    with pytest.raises(MqctlError):
        store.commit_log.record_at(7)
    with pytest.raises(NotFoundError):
        store.commit_log.record_at(1 << 40)


def test_torn_and_shifted_queue_entries(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s")
    path = tmp_path / "s" / "consumequeue" / "TopicTest" / "0" / f"{0:020d}"
    data = bytearray(path.read_bytes())
    data[60:68] = struct.pack(">q", built.end)  # the offset is there, size and tag are not yet
    path.write_bytes(data)
    assert DamageCode.QUEUE_TORN_ENTRY in codes(tmp_path / "s")
    data[60:80] = bytes(20)
    data[0:40] = data[20:40] + data[0:20]
    path.write_bytes(data)
    assert DamageCode.QUEUE_OFFSET_MISMATCH in codes(tmp_path / "s")


def test_fillers_stale_entries_and_an_expired_queue(tmp_path: Path) -> None:
    entries = [(0, 2_147_483_647, 0)] * 3 + [(100, 50, 1), (200, 50, 1), (300, 50, 1)]
    write_queue(tmp_path / "consumequeue" / "T" / "0", entries, 10)
    queue = StoreDirectory.open(tmp_path).consume_queue("T", 0)
    assert (queue.max_offset, queue.min_offset(0), queue.min_offset(200), queue.min_offset(999)) == (6, 3, 4, 6)
    for file in queue.files:
        assert written_entries(file.buffer) == written_entries_linear(file.buffer) == 6
    assert StoreDirectory.open(tmp_path).consume_queue("gone", 3).max_offset == 0


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_config_cut_in_the_middle_falls_back(store_copy: Copy, cut: int) -> None:
    root = store_copy("store-clean")
    path = root / "config" / "topics.json"
    path.write_bytes(path.read_bytes()[:-cut])
    store = StoreDirectory.open(root)
    assert store.config("topics.json").state.source is FileSource.BACKUP
    damages = {(item.code, item.file) for item in verify(store).damages}
    assert damages == {
        (DamageCode.CONFIG_UNPARSABLE, "config/topics.json"),
        (DamageCode.CONFIG_ON_BACKUP, "config/topics.json"),
    }


def test_index_damage(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s")
    path = next((tmp_path / "s" / "index").iterdir())
    good = path.read_bytes()
    first = 40 + 4 * 1_024 + 20
    for at, code in (
        (first, DamageCode.INDEX_HASH_MISMATCH),
        (first + 11, DamageCode.INDEX_ENTRY_DANGLING),
        (36, DamageCode.INDEX_HEADER),
    ):
        data = bytearray(good)
        data[at] ^= 0x40
        path.write_bytes(data)
        assert code in codes(tmp_path / "s"), code
    path.write_bytes(good[:30])
    with pytest.raises(BadInputError):
        _ = IndexFile(path).header
    # A chain that leads back to itself ends the look-up.
    data = bytearray(good)
    data[first + 16 : first + 20] = struct.pack(">i", 1)
    path.write_bytes(data)
    assert IndexFile(path, slots=1_024).lookup("TopicTest", "order-1").tolist() == [
        item.physical_offset for item in reversed(built.messages)
    ]


def test_entries_of_tags_are_no_damage(tmp_path: Path) -> None:
    """5.5.0 finds messages by tag: its index has an entry for the tag of each message, under `topic#T#tag`."""
    built = StoreBuilder()
    stored = built.append(message(properties={"UNIQ_KEY": "U1", "TAGS": "TagA"}))
    for tag in ("TagA", "TagB"):
        built.keys.append((f"{stored.topic}#T#{tag}", stored.physical_offset, stored.store_time_ms))
    report = verify(StoreDirectory.open(built.write(tmp_path / "s")))
    (stranger,) = [item for item in report.damages if item.code is DamageCode.INDEX_HASH_MISMATCH]
    assert (stranger.count, stranger.params) == (1, {"entry": 3})


def test_a_broker_may_move(tmp_path: Path) -> None:
    """Containers have another address at each start, and half messages keep the first one when they are put back."""
    built = StoreBuilder()
    for port in (1, 1, 2, 1, 2):
        built.append(message(store_host=f"192.0.2.9:{port}"))
    report = verify(StoreDirectory.open(built.write(tmp_path / "s")))
    (moved,) = [item for item in report.damages if item.code is DamageCode.FOREIGN_RECORD]
    assert (moved.grade, moved.count) == (DamageGrade.EXPECTED, 2)


def test_an_index_whose_time_goes_back_is_no_damage(tmp_path: Path) -> None:
    """Its header has the times of its first and last message, and the clock may have been set back between them."""
    small_store(tmp_path / "s")
    path = next((tmp_path / "s" / "index").iterdir())
    data = bytearray(path.read_bytes())
    data[8:16] = (int.from_bytes(data[0:8], "big") - 5_000).to_bytes(8, "big")
    path.write_bytes(data)
    assert DamageCode.INDEX_HEADER not in codes(tmp_path / "s")


def test_several_commit_log_directories_are_merged_by_name(tmp_path: Path) -> None:
    built = small_store(tmp_path / "s", count=60)
    extra = tmp_path / "disk2"
    extra.mkdir()
    moved = tmp_path / "s" / "commitlog" / f"{4_096:020d}"
    moved.rename(extra / moved.name)
    assert DamageCode.COMMIT_LOG_GAP in codes(tmp_path / "s")
    store = StoreDirectory.open(tmp_path / "s", commit_log_paths=[extra])
    assert [file.start for file in store.commit_log.files] == [0, 4_096, 8_192][: len(store.commit_log.files)]
    assert damage_of(verify(store)) == []
    assert verify(store).record_count == len(built.messages)


AUDIT = """
import os, sys
from pathlib import Path
seen = []
def hook(event, args):
    if event == "open":
        path, mode, flags = args
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            seen.append(str(path))
    elif event in ("os.remove", "os.rename", "os.mkdir", "os.truncate", "os.utime", "fcntl.flock", "fcntl.lockf"):
        seen.append(event)
sys.addaudithook(hook)
sys.dont_write_bytecode = True
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
report = verify(StoreDirectory.open(Path(sys.argv[1])))
print(report.record_count, seen)
"""


def _tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (
            path.stat().st_mtime_ns,
            path.stat().st_size,
            path.read_bytes() if path.stat().st_size < 1 << 24 else b"",
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(("name", "records"), [("store-killed", 1_207), ("store-5.3.3", 371)])
def test_nothing_is_opened_for_writing_and_nothing_changes(store_copy: Copy, name: str, records: int) -> None:
    root = store_copy(name)
    before = _tree(root)
    directories = {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_dir()}
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, str(root)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
        env=dict(os.environ),
    )
    assert done.stdout.split() == [str(records), "[]"]
    assert _tree(root) == before
    assert {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_dir()} == directories


def test_an_empty_log_and_a_premade_next_file(tmp_path: Path) -> None:
    write_commit_log(tmp_path / "commitlog", b"", 0, 4_096)
    log = StoreDirectory.open(tmp_path).commit_log
    assert (log.min_offset, log.max_offset) == (0, 0)
    built = small_store(tmp_path / "s", count=3)
    (tmp_path / "s" / "commitlog" / f"{4_096:020d}").write_bytes(bytes(4_096))
    store = StoreDirectory.open(tmp_path / "s")
    assert store.commit_log.max_offset == built.end
    assert damage_of(verify(store)) == []
    assert store.commit_log.find_end(store.log_end_hint()).offset == built.end
    assert store.commit_log.find_end(17).offset == built.end
