"""Faults that newest messages of a live cluster tell of, put into the healthy one, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.delay_level import DEFAULT_TABLE
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.newest import NewestMessage
from mqctl.model.snapshot import ClusterSnapshot
from tests.diagnosis.live_faults import Scene, each_broker
from tests.diagnosis.live_snapshots import BROKERS, MINUTE, NOW

FIRST = BROKERS[0]


def newest(*messages: NewestMessage) -> ClusterSnapshot:
    return each_broker(lambda broker: replace(broker, newest=messages), FIRST)


def sent(*leads_ms: int) -> ClusterSnapshot:
    """Messages that were born so long after they were stored."""
    return newest(
        *(
            NewestMessage(
                topic="Pay",
                queue_id=0,
                queue_offset=number,
                born_time_ms=NOW - MINUTE + lead_ms,
                store_time_ms=NOW - MINUTE,
                born_host="192.0.2.40:50000",
            )
            for number, lead_ms in enumerate(leads_ms)
        )
    )


def retried(*counts: int, key: str | None = "0A0B") -> ClusterSnapshot:
    """Copies of a message (or, without a key, of several) that were sent back so often."""
    return newest(
        *(
            NewestMessage(
                topic="%RETRY%G",
                queue_id=0,
                queue_offset=number,
                born_time_ms=NOW - MINUTE,
                store_time_ms=NOW - MINUTE,
                born_host="192.0.2.40:50000",
                unique_key=key or f"0A0B{number}",
                retry_count=count,
            )
            for number, count in enumerate(counts)
        )
    )


def delayed_for(*topics: str) -> ClusterSnapshot:
    """A message for these topics waits in level 18."""
    queue = DelayQueueState(
        min_offset=0,
        max_offset=9,
        waiting_count=1,
        not_due_count=1,
        head_due_time_ms=NOW + MINUTE,
        first_undelivered_offset=8,
        dead_letter_topics=topics,
    )
    level = DelayLevelState(level=18, delay_ms=DEFAULT_TABLE.delay_ms(18), recorded_offset=8, queue=queue)
    state = DelayState(levels=(level,), table_source=LevelTableSource.BROKER_CONFIG, last_delivery_time_ms=NOW - 5_000)
    return each_broker(lambda broker: replace(broker, delay=state), FIRST)


SCENES: list[Scene] = [
    ("MQ423", None, retried(1, 1, 1), {"copy_count": 3, "tries_count": 1, "sampled_count": 3}),
    ("MQ423", "over", retried(3, 17, key=None), {"tries_count": 17, "sampled_count": 2}),
    ("MQ650", None, sent(-5, 45_000), {"difference_ms": 45_000, "sampled_count": 2}),
    ("MQ650", "behind", sent(-90_000, -90_010, -90_002), {"difference_ms": 90_000, "sampled_count": 3}),
    ("MQ728", None, delayed_for("%DLQ%G"), {"topic_count": 1}),
]

STATES: dict[str, ClusterSnapshot] = {
    "MQ423": retried(15, 16, 16),
    "MQ650": sent(9_000, -90_000, -90_000),
    "MQ728": delayed_for(),
}
