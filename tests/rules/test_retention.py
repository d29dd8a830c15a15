"""Files that outlive their retention, on logs of any size, age and growth: a broker that deletes is never named."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.finding import Confidence, Finding
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import diagnose
from tests.rules.live_snapshots import DAY, HOUR, LIVE, NOW

_SIZES = st.sampled_from([1 << 20, 100 << 20, 1 << 30])


def _broker(bounds: tuple[int, int], first_ms: int, reserved_hours: int, file_bytes: int) -> BrokerSnapshot:
    return replace(
        LIVE.brokers[0],
        runtime={
            "commitLogMinOffset": str(bounds[0]),
            "commitLogMaxOffset": str(bounds[1]),
            "earliestMessageTimeStamp": str(first_ms),
        },
        config={"fileReservedTime": str(reserved_hours), "mappedFileSizeCommitLog": str(file_bytes)},
        file_reserved_ms=reserved_hours * HOUR,
    )


def _findings(broker: BrokerSnapshot) -> list[Finding]:
    world: ClusterSnapshot = replace(LIVE, brokers=(broker, *LIVE.brokers[1:]))
    return [item for item in diagnose(world, only=("MQ123",)).findings if item.code == "MQ123"]


@given(
    reserved_hours=st.integers(1, 2_000),
    ages_ms=st.lists(st.integers(0, 400 * DAY), min_size=1, max_size=40),
    file_bytes=_SIZES,
    night_ms=st.integers(0, DAY - 1),
    first_file=st.integers(0, 1_000),
)
def test_a_broker_that_deletes_each_night_is_not_named_however_its_log_grew(
    reserved_hours: int, ages_ms: list[int], file_bytes: int, night_ms: int, first_file: int
) -> None:
    """`ages_ms` is when each file was begun, in bursts or with months between. The broker deletes at one hour a day all
    files but the last whose successor was begun before the retention."""
    begun = sorted(NOW - age for age in ages_ms)
    last_night = NOW - night_ms
    while len(begun) > 1 and begun[1] + reserved_hours * HOUR < last_night:
        del begun[0]
    start = first_file * file_bytes
    broker = _broker((start, start + len(begun) * file_bytes - 1), begun[0], reserved_hours, file_bytes)
    broker = replace(broker, second_file_time_ms=begun[1] if len(begun) > 1 else None)
    assert _findings(broker) == []


@given(
    reserved_hours=st.integers(1, 2_000),
    overdue_ms=st.integers(2 * DAY + 1, 400 * DAY),
    filled_ms=st.integers(0, 400 * DAY),
    files=st.integers(2, 5_000),
    file_bytes=_SIZES,
    first_file=st.integers(0, 1_000),
)
def test_a_first_file_that_ended_long_before_is_named_with_when_it_was_due(
    reserved_hours: int, overdue_ms: int, filled_ms: int, files: int, file_bytes: int, first_file: int
) -> None:
    ended_ms = NOW - overdue_ms - reserved_hours * HOUR
    start = first_file * file_bytes
    broker = _broker((start, start + files * file_bytes), ended_ms - filled_ms, reserved_hours, file_bytes)
    (finding,) = _findings(replace(broker, second_file_time_ms=ended_ms))
    numbers = {item.name: item.value for item in finding.evidence}
    assert finding.confidence is Confidence.HIGH
    assert numbers == {
        "age_ms": NOW - ended_ms + filled_ms,
        "retention_ms": reserved_hours * HOUR,
        "file_count": files,
        "due_time_ms": NOW - overdue_ms,
    }


@given(st.integers(0, 100), st.sampled_from([1 << 20, 1 << 30]), st.integers(1, 400 * DAY))
def test_one_file_is_kept_for_ever(first_file: int, file_bytes: int, age_ms: int) -> None:
    start = first_file * file_bytes
    for end in (start, start + 1, start + file_bytes):
        assert _findings(_broker((start, end), NOW - age_ms, 1, file_bytes)) == []


@given(st.integers(0, 3 * DAY), st.integers(1, 72))
def test_retention_is_not_said_to_delete_what_outlived_it_by_days(beyond_ms: int, reserved_hours: int) -> None:
    """Such a message lies in a file that is not full yet, or nothing is deleted at all."""
    broker = LIVE.brokers[0]
    behind = ConsumerOffsetState(
        group="G",
        topic="Pay",
        queue_id=0,
        offset=900,
        next_store_time_ms=NOW - reserved_hours * HOUR - beyond_ms,
    )
    broker = replace(
        broker, file_reserved_ms=reserved_hours * HOUR, consumer_offsets=(behind, *broker.consumer_offsets[1:])
    )
    world = replace(LIVE, brokers=(broker, *LIVE.brokers[1:]))
    codes = {item.code for item in diagnose(world, only=("MQ403",)).findings}
    assert codes == (set() if beyond_ms > 2 * DAY else {"MQ403"})
