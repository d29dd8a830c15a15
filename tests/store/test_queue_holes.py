"""Holes in consume queues, as a host that loses power leaves them: counted with what is behind them, and named."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.store.builder import StoreBuilder, message

Run = Callable[..., Outcome]
MESSAGES, FILE_ENTRIES, COMMITTED = 180, 100, 10
START_MS = 1_795_218_000_000
FILLER = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)


def store_of(root: Path) -> Path:
    builder = StoreBuilder(queue_file_entries=FILE_ENTRIES)
    for number in range(2 * MESSAGES):
        properties = {"KEYS": f"k{number % 7}", "UNIQ_KEY": f"u{number}"}
        builder.append(message("Orders", number % 2, properties=properties, store_time_ms=START_MS + number))
    store = builder.write(root / "store")
    offsets = f'{{"offsetTable":{{"Orders@billing":{{0:{COMMITTED},1:{COMMITTED}}}}}}}'
    (store / "config" / "consumerOffset.json").write_text(offsets)
    return store


def overwrite(store: Path, low: int, high: int, entry: bytes = bytes(20)) -> None:
    """Overwrites entries of queue 1 of Orders."""
    for number in range(low, high):
        start = number // FILE_ENTRIES * FILE_ENTRIES
        with (store / f"consumequeue/Orders/1/{start * 20:020}").open("r+b") as file:
            os.pwrite(file.fileno(), entry, (number - start) * 20)


def lag(mqctl: Run, store: Path) -> tuple[Outcome, dict[int, int | None]]:
    outcome = mqctl("group", "lag", "--by", "queue", "--store", str(store), "-o", "json")
    return outcome, {row["queue_id"]: row["lag_count"] for row in outcome.json["queues"]}


@pytest.mark.parametrize("hole", [(140, 160), (100, 120), (0, 15), (100, 152)])
def test_lag_counts_what_is_behind_a_hole_and_names_it(mqctl: Run, tmp_path: Path, hole: tuple[int, int]) -> None:
    store = store_of(tmp_path)
    sound, counts = lag(mqctl, store)
    assert (sound.exit_code, counts) == (0, {0: MESSAGES - COMMITTED, 1: MESSAGES - COMMITTED})
    overwrite(store, *hole)
    outcome, counts = lag(mqctl, store)
    assert (outcome.exit_code, counts) == (74, {0: MESSAGES - COMMITTED, 1: MESSAGES - COMMITTED})
    assert "Orders/1" in outcome.stderr
    assert f"queue offsets {hole[0]} to {hole[1] - 1}" in outcome.stderr


def test_a_backlog_counts_what_is_behind_a_hole(mqctl: Run, tmp_path: Path) -> None:
    store = store_of(tmp_path)
    overwrite(store, 140, 160)
    for words in ((), ("--quick",)):
        outcome = mqctl("report", "backlog", "--no-spark", *words, "--store", str(store), "-o", "json")
        (row,) = outcome.json["rows"]
        assert (row["messages"], row["dangling_count"]) == (2 * (MESSAGES - COMMITTED) - 20, 20)
        assert outcome.exit_code == 74
        assert "consumequeue/Orders/1 is not read: queue offsets 140 to 159" in outcome.stderr


@pytest.mark.parametrize("entry", [bytes(20), FILLER], ids=["zeros", "fillers"])
def test_keys_are_not_judged_by_what_a_hole_leaves_without_a_word(mqctl: Run, tmp_path: Path, entry: bytes) -> None:
    store = store_of(tmp_path)
    overwrite(store, 20, 40, entry)
    outcome = mqctl("order", "check", "-t", "Orders", "--store", str(store), "-o", "json")
    assert outcome.json["message_count"] == 2 * MESSAGES - 20
    assert "queue offsets 20 to 39" in outcome.stdout + outcome.stderr


def test_a_file_of_another_size_and_one_that_is_gone_are_named(mqctl: Run, tmp_path: Path) -> None:
    store = store_of(tmp_path)
    first = store / "consumequeue/Orders/1" / f"{0:020}"
    os.truncate(first, 600)
    outcome, _ = lag(mqctl, store)
    assert outcome.exit_code == 74
    assert "600 bytes" in outcome.stderr
    last = store / "consumequeue/Orders/1" / f"{2000:020}"
    last.rename(last.with_name(f"{6000:020}"))
    os.truncate(first, 2000)
    outcome, _ = lag(mqctl, store)
    assert outcome.exit_code == 74
    assert "no file holds queue offsets 100 to 299" in outcome.stderr


def test_fillers_in_front_of_a_queue_are_no_hole(mqctl: Run, tmp_path: Path) -> None:
    store = store_of(tmp_path)
    overwrite(store, 0, 12, FILLER)
    outcome, counts = lag(mqctl, store)
    assert (outcome.exit_code, counts[1], outcome.stderr) == (0, MESSAGES - COMMITTED, "")


def test_a_hole_in_the_half_queue_is_no_message_at_the_start_of_the_log(mqctl: Run, tmp_path: Path) -> None:
    builder = StoreBuilder(queue_file_entries=FILE_ENTRIES)
    for number in range(9):
        properties = {"UNIQ_KEY": f"u{number}", "PGROUP": "GP", "REAL_TOPIC": "Paid", "REAL_QID": "0"}
        half = message("RMQ_SYS_TRANS_HALF_TOPIC", properties=properties, store_time_ms=START_MS + number)
        builder.append(half)
    store = builder.write(tmp_path / "store")
    sound = mqctl("transaction", "list", "--store", str(store), "-o", "json")
    assert len(sound.json["transactions"]) == 9
    queue = store / "consumequeue/RMQ_SYS_TRANS_HALF_TOPIC/0" / f"{0:020}"
    data = bytearray(queue.read_bytes())
    data[60:100] = bytes(40)
    queue.write_bytes(data)
    outcome = mqctl("transaction", "list", "--store", str(store), "-o", "json")
    assert len(outcome.json["transactions"]) == 7
    assert outcome.exit_code == 74
    assert "queue offsets 3 to 4" in outcome.stderr


def test_an_entry_that_leads_to_a_message_of_another_topic_is_no_transaction(mqctl: Run, tmp_path: Path) -> None:
    builder = StoreBuilder(queue_file_entries=FILE_ENTRIES)
    other = builder.append(message("Orders", properties={"UNIQ_KEY": "other"}, store_time_ms=START_MS))
    for number in range(9):
        properties = {"UNIQ_KEY": f"u{number}", "PGROUP": "GP", "REAL_TOPIC": "Paid", "REAL_QID": "0"}
        builder.append(message("RMQ_SYS_TRANS_HALF_TOPIC", properties=properties, store_time_ms=START_MS + number))
    store = builder.write(tmp_path / "store")
    queue = store / "consumequeue/RMQ_SYS_TRANS_HALF_TOPIC/0" / f"{0:020}"
    data = bytearray(queue.read_bytes())
    data[60:72] = struct.pack(">qi", other.physical_offset, other.size_bytes)
    queue.write_bytes(data)
    outcome = mqctl("transaction", "list", "--store", str(store), "-o", "json")
    keys = [each["unique_key"] for each in outcome.json["transactions"]]
    assert keys == [f"u{number}" for number in range(9) if number != 3]
    assert outcome.exit_code == 74
    assert "leads to a message of another queue" in outcome.stderr
