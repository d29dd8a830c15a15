"""Every rule gives the numbers of its fault, not merely its name."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.finding import Value
from mqctl.rules import diagnose
from tests.each import each
from tests.rules.access_faults import SCENES as ACCESS_SCENES
from tests.rules.address_faults import SCENES as ADDRESS_SCENES
from tests.rules.gone_faults import SCENES as GONE_SCENES
from tests.rules.group_faults import NUMBERS as GROUP_NUMBERS
from tests.rules.live_faults import DOUBLE_SCENES, SCENES
from tests.rules.observed_faults import SCENES as OBSERVED_SCENES
from tests.rules.past_faults import SCENES as PAST_SCENES
from tests.rules.replication_faults import SCENES as REPLICATION_SCENES
from tests.rules.room_faults import SCENES as ROOM_SCENES
from tests.rules.setting_faults import DOUBLE_SCENES as SETTING_DOUBLE_SCENES
from tests.rules.setting_faults import SCENES as SETTING_SCENES
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, HEALTHY, HOUR, MINUTE, NOW, Fault, cluster, offset
from tests.rules.stack_faults import DOUBLE_SCENES as STACK_DOUBLE_SCENES
from tests.rules.stack_faults import SCENES as STACK_SCENES
from tests.rules.window_faults import SCENES as WINDOW_SCENES

DOUBLES = [*DOUBLE_SCENES, *SETTING_DOUBLE_SCENES, *STACK_DOUBLE_SCENES]
ONES = [
    *SCENES,
    *ADDRESS_SCENES,
    *GONE_SCENES,
    *ACCESS_SCENES,
    *OBSERVED_SCENES,
    *WINDOW_SCENES,
    *PAST_SCENES,
    *REPLICATION_SCENES,
    *SETTING_SCENES,
    *STACK_SCENES,
]
LIVE_FAULTS = [*ONES, *(scene for scene, _ in DOUBLES)]
ALL_FAULTS = [*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS)]
COMMIT_LOG = {"commit_log_bytes": 90_000}
HOT = {"message_count": 9_000, "mean_count": 2_925, "queue_share": 9_000 / 11_700}
BLOCKED = {"blocked_count": 3, "head_physical_offset": 4_000, "head_due_time_ms": NOW + 2_000}
NUMBERS: dict[str, dict[str, Value]] = {
    **GROUP_NUMBERS,
    **{code: numbers for code, _, numbers in ROOM_SCENES},
    **{Fault(code, scene, variant).label: numbers for code, variant, scene, numbers in LIVE_FAULTS},
    "MQ101": {"not_dispatched_bytes": 0},
    "MQ101-runs": {"not_dispatched_bytes": 0, "started_time_ms": NOW},
    "MQ102-zero": {**COMMIT_LOG},
    "MQ102-missing": {**COMMIT_LOG},
    "MQ102-unreadable": {**COMMIT_LOG},
    "MQ103": {"missing_count": 1, "queue_max_offset": 294, "log_max_offset": 295},
    "MQ104": {"deviation_count": 1, "byte_offset": 77, "physical_offset": 77, "first_found": 3},
    "MQ104-size": {"deviation_count": 1, "first_found_bytes": 900_000, "first_expected_bytes": 1_048_576},
    "MQ104-cut": {"deviation_count": 1, "first_found_bytes": 3},
    "MQ104-odd": {"deviation_count": 1, "first_found_bytes": 7 << 20},
    "MQ104-no-log": {"deviation_count": 9},
    "MQ104-gone": {"deviation_count": 2, "queue_count": 1},
    "MQ104-gone-or-anew": {"deviation_count": 2, "queue_count": 1},
    "MQ105": {"physical_offset": 89_900, "record_bytes": 100},
    "MQ106-backup": {"used_file_time_ms": NOW - HOUR},
    "MQ106-none": {"used_file_time_ms": NOW - HOUR},
    "MQ107-producer": {"born_ahead_count": 2, "message_count": 9, "max_born_ahead_ms": 20_000},
    "MQ107-broker": {"step_back_count": 1, "max_step_back_ms": 4_000, "first_physical_offset": 99},
    "MQ108": {"file_count": 1},
    "MQ109": {"file_count": 65_000, "limit_count": 65_530},
    "MQ109-open": {"file_count": 980, "open_count": 1_010, "limit_count": 1_024},
    "MQ121": {},
    "MQ121-container": {},
    "MQ122": {"file_count": 2, "size_bytes": 5_000},
    "MQ108-cut": {"sound_record_count": 7},
    "MQ108-torn": {"sound_record_count": 0},
    "MQ143": {"physical_offset": 12_800, "cut_bytes": 12_800},
    "MQ417-first": {"stranded_count": 3},
    "MQ421-hung": {"held_count": 2, "invisible_count": 1},
    "MQ201": {"topic_count": 2},
    "MQ301-key": {**HOT, "key_share": 390 / 400},
    "MQ301-queue": {**HOT, "key_share": 9 / 400},
    "MQ401": {"lag_count": 500, "lag_ms": 10 * MINUTE, "queue_count": 2},
    "MQ402": {"lost_count": 60, "consumer_offset": 40, "min_offset": 100},
    "MQ403": {"lag_count": 500, "lag_ms": 71 * HOUR, "retention_ms": 72 * HOUR},
    "MQ404": {"beyond_count": 200, "consumer_offset": 1_200, "max_offset": 1_000},
    "MQ405": {"lag_count": 3, "lag_ms": MINUTE},
    "MQ406": {"dead_letter_count": 3, "oldest_time_ms": NOW - HOUR, "newest_time_ms": NOW - 1_000},
    "MQ407": {"dead_letter_count": 3, "perm": 2},
    "MQ408": {"lag_count": 10},
    "MQ408-unused": {"lag_count": 0},
    "MQ409": {"jump_count": 1, "skipped_count": 97, "last_time_ms": NOW - HOUR},
    "MQ601": {"message_count": 900, "read_queue_count": 1, "write_queue_count": 2},
    "MQ601-empty": {"message_count": 0, "read_queue_count": 2, "write_queue_count": 4},
    "MQ602": {"read_queue_count": 2, "write_queue_count": 1},
    "MQ604": {"group_count": 1, "message_count": 0},
    "MQ603-read": {"perm": 2, "message_count": 1_800},
    "MQ603-write": {"perm": 4, "message_count": 1_800},
    "MQ603-both": {"perm": 0, "message_count": 1_800},
    "MQ701": {"recorded_offset": 14, "max_offset": 10, "beyond_count": 4},
    "MQ702": {"recorded_offset": 3, "min_offset": 7, "lost_count": 4},
    "MQ703": {"again_count": 10, "delivered_count": 7, "min_offset": 0, "max_offset": 10},
    "MQ704": {"again_count": 10, "due_count": 6},
    "MQ705-waiting": {"waiting_count": 4, "recorded_offset": 0, "max_level": 18},
    "MQ705-empty": {"waiting_count": 0, "recorded_offset": 3, "max_level": 18},
    "MQ705-key": {},
    "MQ706": {"again_count": 2, "recorded_offset": 5, "first_undelivered_offset": 7},
    "MQ707": {"overdue_count": 2, "late_ms": MINUTE, "oldest_due_time_ms": NOW - MINUTE, "waiting_count": 3},
    "MQ708-no-real-topic": {**BLOCKED},
    "MQ708-no-real-queue-id": {**BLOCKED},
    "MQ708-bad-real-queue-id": {**BLOCKED},
    "MQ708-bad-topic-length": {**BLOCKED},
    "MQ709": {"lost_count": 1, "first_offset": 8},
    "MQ710-early": {"message_count": 3, "configured_delay_ms": 5_000, "indexed_delay_ms": 30_000},
    "MQ710-late": {"message_count": 3, "configured_delay_ms": 5_000, "indexed_delay_ms": 1_000},
    "MQ711": {"run_count": 2, "configured_delay_ms": 5_000},
    "MQ712": {"configured_delay_ms": 96 * HOUR, "retention_ms": 72 * HOUR, "waiting_count": 0},
    "MQ713": {"descending_count": 1, "first_descending_offset": 9, "beyond_horizon_count": 0},
    "MQ717": {"lost_count": 3, "recorded_offset": 7, "first_offset": 2, "unseen_count": 0},
    "MQ717-partly": {"lost_count": 3, "first_offset": 2, "unseen_count": 2},
    "MQ714": {"disk_used_share": 0.97, "overdue_count": 2},
    "MQ720": {"pending_count": 1, "oldest_ms": 5 * MINUTE, "most_checks_count": 3},
    "MQ721": {"pending_count": 1, "oldest_ms": HOUR, "most_checks_count": 12},
    "MQ725": {"pending_count": 1, "oldest_ms": 5 * MINUTE, "most_checks_count": 3},
    "MQ722": {"discarded_count": 1, "last_time_ms": NOW - HOUR},
    "MQ723": {"transaction_count": 1, "first_half_offset": 5},
    "MQ724": {"transaction_count": 1, "extra_count": 1},
}


def test_every_sentence_has_its_numbers() -> None:
    assert NUMBERS.keys() == {fault.label for fault in ALL_FAULTS}


@each("fault", ALL_FAULTS)
def test_the_numbers_are_those_of_the_fault(fault: Fault) -> None:
    (finding,) = diagnose(cluster(fault.broker), only=(fault.code,), settings=fault.settings).findings
    evidence = {item.name: item.value for item in finding.evidence}
    assert {name: evidence.get(name) for name in NUMBERS[fault.label]} == NUMBERS[fault.label]


def test_an_offset_beyond_one_queue_does_not_hide_the_backlog_of_another() -> None:
    offsets = (offset("G", "Pay", 0, 1_700), offset("G", "Pay", 1, 500, HOUR))
    broker = replace(HEALTHY, consumer_offsets=offsets)
    diagnosis = diagnose(cluster(broker), only=("MQ4*",))
    figures = {item.code: {entry.name: entry.value for entry in item.evidence} for item in diagnosis.findings}
    assert figures["MQ401"]["lag_count"] == 500
    assert figures["MQ401"]["lag_ms"] == HOUR
    assert figures["MQ404"]["beyond_count"] == 700
    assert diagnosis.not_judged == ()
