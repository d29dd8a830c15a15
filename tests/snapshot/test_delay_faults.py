"""Each case of the delay catalogue, injected into a store's files and named from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.finding import Finding
from mqctl.rules import diagnose
from mqctl.snapshot.store.gatherer import gather_store
from tests.store.builder import StoreBuilder, message

RECOVERED = "store-killed-recovered-clean"
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
START = 1_795_218_000_000
DAY = 86_400_000
Offsets = dict[int | str, int]


def delay_findings(root: Path, *, levels: str | None = None, at_ms: int | None = None) -> list[Finding]:
    snapshot = gather_store(root, levels=levels, at_ms=at_ms)
    return list(diagnose(snapshot, only=("MQ70*", "MQ71*")).findings)


def verdicts(findings: list[Finding]) -> list[tuple[str, int | None, str | None]]:
    return sorted((item.code, item.subject.level, item.variant) for item in findings)


def numbers(finding: Finding) -> dict[str, object]:
    return {item.name: item.value for item in finding.evidence}


def record(root: Path, offsets: Offsets) -> Path:
    """Writes delayOffset.json and its backup as a broker does: bare integer keys."""
    table = ",".join(f"{key}:{value}" for key, value in offsets.items())
    for name in ("delayOffset.json", "delayOffset.json.bak"):
        (root / "config" / name).write_text(f'{{\n\t"offsetTable":{{{table}\n\t}}\n}}')
    return root


GOOD: Offsets = {1: 3, 2: 3, 3: 3, 4: 3}


def test_the_recorded_store_is_fine_with_the_offsets_the_broker_wrote(store_copy: Callable[[str], Path]) -> None:
    assert delay_findings(record(store_copy(RECOVERED), GOOD)) == []


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (GOOD | {1: 9}, [("MQ701", 1, None)]),
        ({2: 3, 3: 3, 4: 3}, [("MQ703", 1, None)]),
        (GOOD | {25: 0}, [("MQ705", 25, "empty")]),
        (GOOD | {1: 1}, [("MQ706", 1, None)]),
    ],
    ids=["D1", "D3", "D5", "D6"],
)
def test_a_changed_file_is_told_from_the_queues(
    offsets: Offsets, expected: list[tuple[str, int | None, str | None]], store_copy: Callable[[str], Path]
) -> None:
    assert verdicts(delay_findings(record(store_copy(RECOVERED), offsets))) == expected


def test_a_stale_file_names_the_offset_to_repair_to(store_copy: Callable[[str], Path]) -> None:
    (finding,) = delay_findings(record(store_copy(RECOVERED), GOOD | {1: 1}))
    assert numbers(finding)["again_count"] == 2
    (missing,) = delay_findings(record(store_copy(RECOVERED), {2: 3, 3: 3, 4: 3}))
    assert numbers(missing)["again_count"] == 3


@pytest.mark.parametrize("how", ["missing", "empty", "torn"])
def test_a_lost_file_is_a_loss_of_all_levels(how: str, store_copy: Callable[[str], Path]) -> None:
    root = record(store_copy(RECOVERED), GOOD)
    for name in ("delayOffset.json", "delayOffset.json.bak"):
        file = root / "config" / name
        if how == "missing":
            file.unlink()
        else:
            file.write_text("" if how == "empty" else '{"offsetTable":{1:3')
    (finding,) = delay_findings(root)
    assert finding.code == "MQ704"
    assert numbers(finding)["again_count"] == 12


def test_the_backup_counts_when_the_main_file_is_torn(store_copy: Callable[[str], Path]) -> None:
    root = record(store_copy(RECOVERED), GOOD)
    (root / "config" / "delayOffset.json").write_text('{"offsetTable":{1:')
    assert delay_findings(root) == []
    config = diagnose(gather_store(root), only=("MQ106",)).findings
    assert [(item.variant, item.subject.file) for item in config] == [("backup", "config/delayOffset.json")]


def test_a_longer_and_a_shorter_table_are_told_apart_by_who_waits(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000, 5_000], recorded={2: 0})
    at_ms = START + 100
    assert verdicts(delay_findings(root, at_ms=at_ms)) == []
    early = verdicts(delay_findings(root, levels="1s 1s", at_ms=at_ms))
    assert early == [("MQ710", 2, "early"), ("MQ713", 2, None)]
    assert verdicts(delay_findings(root, levels="1s 9s", at_ms=at_ms)) == [("MQ710", 2, "late")]
    assert verdicts(delay_findings(root, levels="1s", at_ms=at_ms)) == [("MQ705", 2, "waiting")]


def scheduled(
    root: Path,
    delays_ms: list[int],
    *,
    recorded: Offsets | None = None,
    level: int = 2,
    properties: dict[str, str] | None = None,
    log_start: int = 0,
) -> Path:
    """A store with one waiting message a second, due `delays_ms` after it was stored."""
    builder = StoreBuilder(log_start=log_start)
    own = {"REAL_TOPIC": "Pay", "REAL_QID": "0"} if properties is None else properties
    for number, delay_ms in enumerate(delays_ms):
        stored = builder.append(
            message(
                SCHEDULE,
                level - 1,
                properties={**own, "DELAY": str(level), "UNIQ_KEY": f"K{number}"},
                store_time_ms=START + number,
            )
        )
        entries = builder.entries[(SCHEDULE, level - 1)]
        entries[-1] = (stored.physical_offset, stored.size_bytes, stored.store_time_ms + delay_ms)
    builder.write(root)
    return record(root, recorded or {})


def test_waiting_messages_are_no_fault_until_they_are_late(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000] * 3, recorded={2: 0})
    assert delay_findings(root, at_ms=START + 6_900) == []
    (finding,) = delay_findings(root, at_ms=START + 60_000)
    assert finding.code == "MQ707"
    assert numbers(finding)["overdue_count"] == 3
    assert numbers(finding)["late_ms"] == 55_000


@pytest.mark.parametrize(
    ("properties", "variant"),
    [
        ({"REAL_QID": "0"}, "no-real-topic"),
        ({"REAL_TOPIC": "Pay"}, "no-real-queue-id"),
        ({"REAL_TOPIC": "Pay", "REAL_QID": "x"}, "bad-real-queue-id"),
        ({"REAL_TOPIC": "P" * 128, "REAL_QID": "0"}, "bad-topic-length"),
    ],
)
def test_a_first_message_that_cannot_be_delivered_is_named(
    tmp_path: Path, properties: dict[str, str], variant: str
) -> None:
    root = scheduled(tmp_path, [5_000] * 2, recorded={2: 0}, properties=properties)
    assert verdicts(delay_findings(root, at_ms=START + 100)) == [("MQ708", 2, variant)]
    both = verdicts(delay_findings(root, at_ms=START + 60_000))
    assert both == [("MQ707", 2, None), ("MQ708", 2, variant)]
    passed = record(root, {2: 2})
    assert delay_findings(passed, at_ms=START + 60_000) == []


def test_delivered_copies_of_messages_without_unique_key_are_known_by_their_birth(tmp_path: Path) -> None:
    builder = StoreBuilder()
    waiting = [
        message(SCHEDULE, 1, properties={"REAL_TOPIC": "Pay", "REAL_QID": "0", "DELAY": "2"}, store_time_ms=START + at)
        for at in (0, 10, 20)
    ]
    for item in waiting:
        stored = builder.append(item)
        entries = builder.entries[(SCHEDULE, 1)]
        entries[-1] = (stored.physical_offset, stored.size_bytes, stored.store_time_ms + 5_000)
    for item in waiting[:2]:
        copy = replace(item, topic="Pay", queue_id=0, store_time_ms=item.store_time_ms + 5_000, properties={})
        builder.append(copy)
    builder.write(tmp_path)
    findings = delay_findings(record(tmp_path, {2: 0}), at_ms=START + 60_000)
    assert [item.code for item in findings] == ["MQ707", "MQ706"]
    assert numbers(findings[0])["overdue_count"] == 1
    assert numbers(findings[1])["again_count"] == 2


def test_entries_without_a_record_are_lost(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000] * 3, recorded={2: 0})
    queue = next((root / "consumequeue" / SCHEDULE / "1").iterdir())
    entries = bytearray(queue.read_bytes())
    entries[20:28] = (60_000).to_bytes(8, "big")
    queue.write_bytes(entries)
    findings = delay_findings(root, at_ms=START + 100)
    assert [item.code for item in findings] == ["MQ709"]
    assert numbers(findings[0]) == {"lost_count": 1, "first_offset": 1}


def test_a_waiting_record_that_is_torn_hides_nothing_of_the_others(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000] * 3, recorded={2: 0})
    (log,) = (root / "commitlog").iterdir()
    data = bytearray(log.read_bytes())
    size = int.from_bytes(data[:4], "big")
    data[size + 84 : size + 88] = (1 << 20).to_bytes(4, "big")  # the second record's body would end far behind it
    log.write_bytes(data)
    (finding,) = delay_findings(root, at_ms=START + 60_000)
    assert (finding.code, numbers(finding)["overdue_count"]) == ("MQ707", 3)


def test_entries_below_the_commit_log_expired(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000] * 3, recorded={2: 0}, log_start=1 << 16)
    queue = next((root / "consumequeue" / SCHEDULE / "1").iterdir())
    entries = bytearray(queue.read_bytes())
    for number in (0, 1):
        entries[20 * number : 20 * number + 8] = (number * 200).to_bytes(8, "big")
    queue.write_bytes(entries)
    (finding,) = delay_findings(root, at_ms=START + 100)
    assert finding.code == "MQ702"
    assert numbers(finding)["lost_count"] == 2


def test_a_queue_rebuilt_after_a_table_change_shows_new_delays_first(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [5_000, 5_000, 9_000, 9_000], recorded={2: 4})
    assert verdicts(delay_findings(root, at_ms=START + 100)) == [("MQ711", 2, None)]


def test_a_delay_beyond_the_retention_is_fatal(tmp_path: Path) -> None:
    root = scheduled(tmp_path, [4 * DAY], recorded={2: 0})
    assert verdicts(delay_findings(root, levels="1s 4d", at_ms=START + 100)) == [("MQ712", 2, None)]


def test_a_clock_that_went_back_makes_due_times_fall(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number, time_ms in enumerate((START + 9_000, START, START + 1)):
        stored = builder.append(
            message(
                SCHEDULE,
                1,
                properties={"REAL_TOPIC": "Pay", "REAL_QID": "0", "DELAY": "2", "UNIQ_KEY": f"K{number}"},
                store_time_ms=time_ms,
            )
        )
        builder.entries[(SCHEDULE, 1)][-1] = (stored.physical_offset, stored.size_bytes, time_ms + 5_000)
    root = record(builder.write(tmp_path), {2: 0})
    (finding,) = delay_findings(root, at_ms=START + 100)
    assert finding.code == "MQ713"
    assert numbers(finding)["descending_count"] == 1
    assert numbers(finding)["beyond_horizon_count"] == 1


def test_offsets_are_written_as_a_broker_writes_them(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    text = (record(tmp_path, {1: 3}) / "config" / "delayOffset.json").read_text()
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
