"""Queue entries made of the log are those that brokers themselves made, of each release; killed stores have them."""

from __future__ import annotations

import json
import shutil
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqctl.store.directory import StoreDirectory
from mqctl.store.log_tail import entries_behind
from mqctl.store.verify import verify
from tests.conftest import GOLDEN, Outcome
from tests.each import each
from tests.store.test_rocksdb import Run, database, in_files, in_rocksdb, without_moments

ENTRY = struct.Struct(">qiq")
RECORDED = sorted(
    str(path.relative_to(GOLDEN))
    for path in (*GOLDEN.glob("recorded/*/store-*.tar.gz"), *GOLDEN.glob("stores/store-*.tar.gz"))
)


def unpacked(name: str, into: Path) -> StoreDirectory:
    with tarfile.open(GOLDEN / name) as archive:
        archive.extractall(into, filter="data")
    return StoreDirectory.open(next(path.parent for path in sorted(into.rglob("commitlog"))))


IN_A_DATABASE = "stores/store-5.3.3-rocksdb-auth.tar.gz"
"""Of which the database of queues holds nothing."""


@each("name", RECORDED)
def test_entries_of_the_log_are_those_of_a_real_broker(tmp_path: Path, name: str) -> None:
    store = unpacked(name, tmp_path / name.replace("/", "-"))
    made = entries_behind(store.commit_log.directories, store.commit_log.min_offset)
    compared = 0
    for place in store.queue_ids():
        queue = store.consume_queue(*place)
        low = queue.min_offset(store.commit_log.min_offset)
        entries = queue.entries(low, queue.max_offset).tolist()
        written = {low + at: tuple(entry) for at, entry in enumerate(entries)}
        own = {offset: ENTRY.unpack(entry) for offset, entry in made.get(place, ()) if offset in written}
        in_extension = {offset for offset, (*_, tags) in written.items() if tags < -(1 << 31)}
        assert {offset: entry[:2] for offset, entry in own.items()} == {at: entry[:2] for at, entry in written.items()}
        assert {at: own[at] for at in own if at not in in_extension} == {
            at: written[at] for at in written if at not in in_extension
        }, place
        compared += len(own)
    assert compared > 0 or name == IN_A_DATABASE


COMMANDS = (
    ("group", "lag"),
    ("group", "lag", "--by", "queue"),
    ("store", "describe"),
    ("delay", "levels"),
    ("transaction", "list"),
    ("doctor", "--quick", "--at", "2026-11-21T00:00:00Z"),
    ("report", "backlog", "--no-spark"),
    ("store", "cat", "-t", "Orders", "-q", "1"),
)


def killed(root: Path, kept: int) -> Path:
    """A store in RocksDB of whose entries only those of the first records were flushed."""
    store = in_rocksdb(root, flushed=kept)
    (store / "abort").touch()
    return store


@each("kept", [0, 1, 37])
def test_a_killed_store_answers_from_its_log(mqctl: Run, tmp_path: Path, kept: int) -> None:
    files = in_files(tmp_path / f"files-{kept}" / "store")
    (files / "abort").touch()
    store = killed(tmp_path / f"killed-{kept}" / "store", kept)

    def plain(outcome: Outcome) -> Any:
        text = outcome.stdout.replace(str(store), "STORE").replace(str(files), "STORE")
        return without_moments(json.loads(text))

    for words in COMMANDS:
        wanted, answered = (mqctl(*words, "--store", each_, "-o", "json") for each_ in (files, store))
        assert (answered.exit_code, plain(answered)) == (wanted.exit_code, plain(wanted)), words
    codes = {item["code"] for item in mqctl("doctor", "--store", store, "-o", "json").json["findings"]}
    assert "MQ404" not in codes
    assert "MQ103" in codes
    assert "queue_behind_log" in mqctl("store", "verify", "--store", store).stdout


@each("words", [("group", "lag"), ("delay", "levels"), ("transaction", "list"), ("report", "delay", "--no-spark")])
def test_what_a_real_broker_lost_in_memory_is_read_from_its_log(
    mqctl: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A store of 5.5.0 with timers, transactions, delay levels and light queues, as a kill before the first flush
    leaves it."""
    whole = unpacked("stores/store-5.5.0-rocksdb.tar.gz", tmp_path / "-".join(words)).path
    (whole / "abort").touch()
    wanted = mqctl(*words, "--store", whole, "-o", "json")
    shutil.rmtree(whole / "consumequeue")
    database(whole / "consumequeue", {"default": {}, "offset": {}})
    answered = mqctl(*words, "--store", whole, "-o", "json")
    assert answered.exit_code == wanted.exit_code
    known, answers = (list(of_messages(json.loads(each_.stdout))) for each_ in (wanted, answered))
    assert answers == known
    assert known


def of_messages(value: Any) -> Iterator[Any]:
    """Yields all numbers and names but those of queues that never held a message: only the database knew of them."""
    if isinstance(value, dict):
        if value.get("broker_offset", 1) and value.get("max_offset", 1) and value.get("half_max_offset", 1):
            for key, item in value.items():
                if key not in ("queue_count", "never_committed_count", "check_loops"):
                    yield from of_messages(item)
    elif isinstance(value, list):
        for item in value:
            yield from of_messages(item)
    else:
        yield value


@settings(max_examples=8)
@given(kept=st.integers(0, 60))
@example(kept=60)
def test_wherever_the_flush_ended_the_queues_are_whole(tmp_path_factory: Any, kept: int) -> None:
    root = tmp_path_factory.mktemp("store")
    files, store = in_files(root / "files"), killed(root / "killed", kept)
    logged, written = StoreDirectory.open(store).with_logged_entries(), StoreDirectory.open(store)
    for place in StoreDirectory.open(files).queue_ids():
        wanted = StoreDirectory.open(files).consume_queue(*place)
        assert logged.consume_queue(*place).entries().tolist() == wanted.entries().tolist()
    behind = {damage.code for damage in verify(written).damages if str(damage.code) == "queue_behind_log"}
    assert bool(behind) == (kept < 60)
    shutil.rmtree(root)


def test_light_queues_of_a_store_are_no_usual_topics(mqctl: Run, tmp_path: Path) -> None:
    store = unpacked("stores/store-5.5.0-rocksdb.tar.gz", tmp_path).path
    shown = mqctl("store", "describe", "--store", store).stdout.splitlines()
    kinds = {line.split()[0]: line.split()[1] for line in shown if line.startswith(("%LMQ%", "Work", "LK"))}
    assert {kind for name, kind in kinds.items() if name.startswith("%LMQ%")} == {"lmq"}
    assert {kinds["Work"], kinds["LK"]} == {"normal"}
