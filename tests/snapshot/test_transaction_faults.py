"""Transactions in every state of docs/models.md, laid out in files and told apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.gap import Part
from mqctl.model.message import Message
from mqctl.model.transaction_state import TransactionState
from mqctl.rules import diagnose
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.snapshot.store.reading import Reading
from mqctl.snapshot.store.transactions import transaction_state
from mqctl.store.directory import StoreDirectory
from tests.store.builder import StoreBuilder, message
from tests.store.test_being_written import HOLDER

HALF, OP, DISCARD = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
START = 1_795_218_000_000


def half(builder: StoreBuilder, key: str, **extra: str) -> Message:
    properties = {"TRAN_MSG": "true", "REAL_TOPIC": "Pay", "REAL_QID": "0", "PGROUP": "PG", "UNIQ_KEY": key, **extra}
    return builder.append(message(HALF, properties=properties, store_time_ms=START))


def op(builder: StoreBuilder, text: str) -> None:
    builder.append(message(OP, body=text.encode(), properties={"TAGS": "d"}, store_time_ms=START))


def commit(builder: StoreBuilder, prepared: Message) -> None:
    item = message("Pay", properties={"UNIQ_KEY": prepared.unique_key or ""}, store_time_ms=START)
    builder.append(replace(item, sys_flag=0x8, prepared_transaction_offset=prepared.physical_offset))


def judged(builder: StoreBuilder, root: Path, progress: int | None = 0) -> tuple[TransactionState, set[str]]:
    builder.write(root)
    offsets = "" if progress is None else f'"{HALF}@CID_RMQ_SYS_TRANS":{{0:{progress}}}'
    (root / "config" / "consumerOffset.json").write_text(f'{{"offsetTable":{{{offsets}}}}}')
    snapshot = gather_store(root, at_ms=START + 600_000)
    state = snapshot.brokers[0].transactions
    assert state is not None
    return state, {item.code for item in diagnose(snapshot, only=("MQ72*",)).findings}


@contextmanager
def held(store: Path) -> Iterator[None]:
    """Has another process hold the lock of a store, as its broker does."""
    command = [sys.executable, "-c", HOLDER, str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        yield
        holder.stdin.close()


@pytest.mark.parametrize("ops", [["0", "1"], ["0,1,"], ["1,", "0,"]], ids=["4.9", "5.1", "5.1 apart"])
def test_ended_transactions_are_not_pending_in_either_op_format(tmp_path: Path, ops: list[str]) -> None:
    builder = StoreBuilder()
    committed = half(builder, "A")
    half(builder, "B")
    commit(builder, committed)
    for text in ops:
        op(builder, text)
    state, codes = judged(builder, tmp_path)
    assert (state.pending, state.committed_count, state.rolled_back_count) == ((), 1, 1)
    assert codes == set()


def test_copies_of_one_pending_transaction_count_once(tmp_path: Path) -> None:
    builder = StoreBuilder()
    half(builder, "A")
    half(builder, "A", TRANSACTION_CHECK_TIMES="1")
    half(builder, "A", TRANSACTION_CHECK_TIMES="11")
    half(builder, "B")
    state, codes = judged(builder, tmp_path)
    assert {(item.unique_key, item.half_offset, item.check_count) for item in state.pending} == {
        ("A", 2, 11),
        ("B", 3, 0),
    }
    assert codes == {"MQ721"}  # it says what MQ720 would


def test_halves_below_the_progress_are_done_with(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for key in "ABC":
        half(builder, key)
    assert {item.unique_key for item in judged(builder, tmp_path / "two", 2)[0].pending} == {"C"}
    state, _ = judged(builder, tmp_path / "none", None)
    assert state.half_progress is None
    assert len(state.pending) == 3


def test_an_answer_to_the_original_closes_the_copy(tmp_path: Path) -> None:
    builder = StoreBuilder()
    half(builder, "A")
    half(builder, "A", TRAN_PREPARED_QUEUE_OFFSET="0")
    op(builder, "0")
    assert judged(builder, tmp_path)[0].pending == ()


def test_a_commit_without_op_and_a_double_commit_are_told(tmp_path: Path) -> None:
    builder = StoreBuilder()
    lost, double = half(builder, "A"), half(builder, "B")
    commit(builder, lost)
    commit(builder, double)
    commit(builder, double)
    op(builder, "1")
    state, codes = judged(builder, tmp_path, 2)
    assert [item.unique_key for item in state.lost_ops] == ["A"]
    assert [(item.unique_key, item.commit_count) for item in state.double_commits] == [("B", 2)]
    assert codes == {"MQ723", "MQ724"}


def test_commits_behind_a_damaged_spot_count(tmp_path: Path) -> None:
    builder = StoreBuilder()
    prepared = [half(builder, key) for key in "ABC"]
    commit(builder, prepared[0])
    hurt = builder.append(message("Other", store_time_ms=START))
    commit(builder, prepared[1])
    commit(builder, prepared[2])
    op(builder, "0,1,")
    builder.write(tmp_path)
    with next((tmp_path / "commitlog").iterdir()).open("r+b") as file:
        file.seek(hurt.physical_offset)
        file.write(bytes(hurt.size_bytes))
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable":{}}')
    state = gather_store(tmp_path, at_ms=START + 600_000).brokers[0].transactions
    assert state is not None
    assert (state.committed_count, state.rolled_back_count) == (3, 0)
    assert [item.unique_key for item in state.lost_ops] == ["C"]


def test_a_half_message_that_the_broker_deletes_meanwhile_is_no_gap(tmp_path: Path) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 12)
    for number in range(40):
        half(builder, f"K{number}")
    builder.write(tmp_path)
    oldest, second, *_ = sorted((tmp_path / "commitlog").iterdir())
    kept = [each for each in builder.messages if each.physical_offset >= int(second.name)]
    with held(tmp_path):
        reading = Reading(StoreDirectory.open(tmp_path))
        assert len(reading.bounds) == 1
        oldest.unlink()
        state = transaction_state(reading, None)
    assert Part.TRANSACTIONS not in {gap.part for gap in reading.gaps}
    assert state is not None
    assert len(state.pending) == len(kept) < 40


def test_a_half_message_of_a_lost_file_is_a_gap_at_rest(tmp_path: Path) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 12)
    for number in range(40):
        half(builder, f"K{number}")
    builder.write(tmp_path)
    reading = Reading(StoreDirectory.open(tmp_path))
    assert len(reading.bounds) == 1
    sorted((tmp_path / "commitlog").iterdir())[0].unlink()
    transaction_state(reading, None)
    assert Part.TRANSACTIONS in {gap.part for gap in reading.gaps}


def test_discarded_transactions_keep_their_origin(tmp_path: Path) -> None:
    builder = StoreBuilder()
    half(builder, "A")
    builder.append(message(DISCARD, properties={"UNIQ_KEY": "A", "REAL_TOPIC": "Pay", "PGROUP": "PG"}))
    state, codes = judged(builder, tmp_path, 1)
    assert [(item.unique_key, item.topic, item.producer_group) for item in state.discarded] == [("A", "Pay", "PG")]
    assert "MQ722" in codes
