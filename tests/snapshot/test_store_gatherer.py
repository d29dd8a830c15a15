"""Recorded stores are gathered and judged as the real tools saw them, and left as they were."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.gap import Part
from mqctl.model.lag import LagEvidence, QueueLag, group_lags, queue_lags
from mqctl.model.origin import ObservedFrom, OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import CheckpointStatus
from mqctl.rules import Diagnosis, diagnose
from mqctl.snapshot.archive import load_snapshot, save_snapshot
from mqctl.snapshot.store.gatherer import gather_delay_file, gather_store
from mqctl.snapshot.store.lag import gather_lag

Stores = Callable[[str], Path]
CLEAN, KILLED, RECOVERED = "store-clean", "store-killed", "store-killed-recovered-clean"
ROLLED, FIVE, ROCKS = "store-rolled-clean", "store-5.3.3", "store-5.3.3-rocksdb-auth"
ALL = [CLEAN, KILLED, RECOVERED, ROLLED, FIVE, ROCKS]


def lags(source: ClusterSnapshot | LagEvidence, *, system: bool = False) -> list[QueueLag]:
    """The lag of every group in the only broker of a store."""
    broker = source.brokers[0] if isinstance(source, ClusterSnapshot) else source
    return queue_lags(broker, source.origin.observed_at_ms, system=system)


def broker_of(snapshot: ClusterSnapshot) -> BrokerSnapshot:
    (broker,) = snapshot.brokers
    return broker


def found(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    return {(item.code, str(item.subject)) for item in diagnosis.findings}


def test_the_killed_store_shows_what_the_kill_left(golden_store: Stores) -> None:
    snapshot = gather_store(golden_store(KILLED))
    storage = broker_of(snapshot).storage
    assert storage is not None
    assert storage.has_abort
    assert storage.checkpoint is not None
    assert storage.checkpoint.status is CheckpointStatus.ZERO
    (behind,) = storage.behind
    assert (behind.topic, behind.queue_id, behind.max_offset, behind.log_max_offset) == ("TopicKill", 2, 294, 295)
    diagnosis = diagnose(snapshot)
    assert found(diagnosis) == {
        ("MQ101", "store"),
        ("MQ102", "store"),
        ("MQ103", "TopicKill/2"),
        ("MQ105", "store"),
        ("MQ720", "GP_txn"),
    }
    assert (diagnosis.verdict, diagnosis.not_judged) == ("warning", ())


def test_the_recovered_store_has_the_bounds_and_lags_that_mqadmin_printed(golden_store: Stores) -> None:
    snapshot = gather_store(golden_store(RECOVERED))
    queues = broker_of(snapshot).queue_index()
    # mqadmin topicStatus after recovery, before the last 21 messages of the recording.
    assert [queues[("TopicKill", number)].min_offset for number in range(4)] == [0, 0, 0, 0]
    assert all(queues[("TopicKill", number)].max_offset >= bound for number, bound in enumerate((295, 295, 295, 293)))
    rows = [row for row in lags(snapshot) if row.group == "GC_kill" and row.topic == "TopicKill"]
    assert [row.consumer_offset for row in rows] == [167, 167, 167, 163]
    delay = broker_of(snapshot).delay
    assert delay is not None
    for state in delay.levels[:4]:
        assert state.queue is not None
        # runtime info key scheduleMessageOffset_N: recorded,max.
        assert (state.recorded_offset, state.queue.max_offset, state.queue.waiting_count) == (3, 3, 0)
    assert diagnose(snapshot).verdict == "ok"


def test_the_recovered_store_lags_as_mqadmin_consumer_progress(golden_store: Stores, full_golden: Path) -> None:
    text = (full_golden / "rocketmq-4.9.8/mqadmin_kill/k_consumerProgress_recovered.out").read_text()
    recorded = {}
    for line in text.splitlines():
        if line.startswith("TopicKill"):
            _, _, queue_id, end, offset, lag, *_ = line.split()
            recorded[int(queue_id)] = (int(end), int(offset), int(lag))
    rows = {
        row.queue_id: (row.broker_offset, row.consumer_offset, row.lag_count)
        for row in lags(gather_lag(golden_store(RECOVERED)))
        if (row.group, row.topic) == ("GC_kill", "TopicKill")
    }
    assert rows == recorded


def test_rolled_and_deleted_files_set_the_bounds(golden_store: Stores) -> None:
    snapshot = gather_store(golden_store(ROLLED))
    queues = broker_of(snapshot).queue_index()
    assert [(queues[("TopicRoll", n)].min_offset, queues[("TopicRoll", n)].max_offset) for n in (0, 1)] == [
        (0, 1500),
        (0, 1500),
    ]
    assert [row.lag_count for row in lags(snapshot) if row.topic == "TopicRoll"] == [0, 0]
    assert found(diagnose(snapshot)) == set()


def test_the_clean_store_shows_its_groups_true_state(golden_store: Stores) -> None:
    snapshot = gather_store(golden_store(CLEAN))
    diagnosis = diagnose(snapshot)
    assert found(diagnosis) == {
        ("MQ201", "GC_clone"),
        ("MQ201", "GC_clone2"),
        ("MQ401", "GC_incons TopicTest"),
        ("MQ401", "GC_lite TopicKeys"),
        ("MQ401", "GC_order TopicOrder"),
        ("MQ401", "GC_pull TopicKeys"),
        ("MQ406", "GC_fail %DLQ%GC_fail"),
        ("MQ409", "GC_normal TopicTest"),
        ("MQ409", "GC_order TopicOrder"),
        ("MQ409", "GC_pull TopicKeys"),
        ("MQ409", "GC_pull TopicTest"),
        ("MQ722", "GP_txn"),
    }
    assert diagnosis.exit_code() == 2
    totals = {(total.group, total.topic): total.lag_count for total in group_lags(lags(snapshot))}
    assert totals[("GC_lite", "TopicKeys")] == 8
    assert totals[("GC_incons", "TopicTest")] == 37
    assert totals[("GC_normal", "TopicTest")] == 0
    transactions = broker_of(snapshot).transactions
    assert transactions is not None
    assert (transactions.half_progress, transactions.op_progress, transactions.pending) == (26, 8, ())


def test_a_5x_store_with_three_part_offset_keys_and_timers(golden_store: Stores) -> None:
    snapshot = gather_store(golden_store(FIVE))
    assert found(diagnose(snapshot)) == {
        ("MQ401", "CG_delay TopicDelay"),
        ("MQ401", "CG_lite TopicTest"),
        ("MQ401", "CG_pop TopicTest"),
        ("MQ401", "CG_push TopicTest"),
        ("MQ401", "CG_trace TopicTest"),
        ("MQ406", "CG_fail %DLQ%CG_fail"),
        ("MQ722", "PG_tx"),
    }
    groups = {offset.group for offset in broker_of(snapshot).consumer_offsets}
    assert "CG_lite" in groups
    assert not any("@" in group for group in groups)


def test_rocksdb_parts_are_unknown_and_not_empty_without_the_library(
    golden_store: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    snapshot = gather_store(golden_store(ROCKS))
    broker = broker_of(snapshot)
    for part in (Part.TOPICS, Part.GROUPS, Part.QUEUES, Part.CONSUMER_OFFSETS, Part.DELAY_QUEUES, Part.TRANSACTIONS):
        assert broker.lacks(part) is not None, part
    diagnosis = diagnose(snapshot)
    assert (diagnosis.findings, diagnosis.verdict) == ((), "unknown")
    assert all("RocksDB" in str(gap.why.values["reason"]) for gap in diagnosis.not_judged)


@pytest.mark.parametrize("name", ALL)
def test_an_archive_is_judged_exactly_like_its_store(name: str, golden_store: Stores, tmp_path: Path) -> None:
    snapshot = gather_store(golden_store(name))
    save_snapshot(snapshot, tmp_path / "s.snap")
    loaded = load_snapshot(tmp_path / "s.snap")
    assert loaded.brokers == snapshot.brokers
    assert diagnose(loaded) == diagnose(snapshot)


@pytest.mark.parametrize("name", ALL)
def test_gathering_changes_nothing_in_the_store(name: str, store_copy: Stores) -> None:
    root = store_copy(name)
    before = {path: (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_ino) for path in root.rglob("*")}
    gather_store(root)
    gather_lag(root)
    assert before == {
        path: (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_ino) for path in root.rglob("*")
    }


@pytest.mark.parametrize("name", ALL)
def test_the_short_way_to_lag_agrees_with_the_long_one(name: str, golden_store: Stores) -> None:
    long, short = gather_store(golden_store(name)), gather_lag(golden_store(name))
    pick = [(row.group, row.topic, row.queue_id, row.lag_count, row.next_store_time_ms) for row in lags(long)]
    assert pick == [(row.group, row.topic, row.queue_id, row.lag_count, row.next_store_time_ms) for row in lags(short)]


def test_a_quick_look_says_what_it_left_out(golden_store: Stores) -> None:
    diagnosis = diagnose(gather_store(golden_store(KILLED), deep=False))
    assert {gap.code for gap in diagnosis.not_judged} == {"MQ103", "MQ104", "MQ105", "MQ107", "MQ723", "MQ724"}
    assert ("MQ101", "store") in found(diagnosis)


def test_the_moment_is_the_stores_own_unless_given(golden_store: Stores) -> None:
    assert gather_store(golden_store(KILLED)).origin.observed_from is ObservedFrom.STORE_TIME
    assert gather_store(golden_store(CLEAN)).origin.observed_from is ObservedFrom.CONFIG_MTIME
    given = gather_store(golden_store(KILLED), at_ms=1_900_000_000_000).origin
    assert (given.observed_at_ms, given.observed_from) == (1_900_000_000_000, ObservedFrom.GIVEN)


def test_progress_names_its_part_and_reaches_the_end(golden_store: Stores) -> None:
    steps: list[tuple[str, int, int]] = []

    def note(part: str, done: int, total: int) -> None:
        steps.append((part, done, total))

    gather_store(golden_store(ROLLED), progress=note)
    last = {part: (done, total) for part, done, total in steps}
    assert last["commitlog"][0] == last["commitlog"][1] > 0
    assert all(0 <= done <= total for _, done, total in steps)


def test_a_delay_file_by_itself_shows_unknown_levels_only(golden_store: Stores) -> None:
    file = golden_store(CLEAN) / "config" / "delayOffset.json"
    fine = gather_delay_file(file)
    assert fine.origin.kind is OriginKind.DELAY_FILE
    assert diagnose(fine, only=("MQ705",)).verdict == "ok"
    assert diagnose(fine, only=("MQ70*",)).verdict == "unknown"
    short = diagnose(gather_delay_file(file, levels="1s 5s"), only=("MQ705",))
    assert [item.subject.level for item in short.findings] == [3, 4]


def test_a_broken_or_missing_delay_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        gather_delay_file(tmp_path / "delayOffset.json")
    broken = tmp_path / "delayOffset.json"
    broken.write_text('{"offsetTable":{1:')
    with pytest.raises(BadInputError):
        gather_delay_file(broken)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError):
        gather_store(tmp_path)
    with pytest.raises(NotFoundError):
        gather_store(tmp_path / "none")
