"""Two looks at a group that fails: what its members tell, and how far the group and the queues of its failures are."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.member import TopicRates
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from tests.rules.live_snapshots import LIVE, NOW


def failing_look(
    at_ms: int, failed_tps: float, *, offset: int, retries: int = 0, dead: int = 0, delayed: int = 0, known: bool = True
) -> ClusterSnapshot:
    """The group of two, whose first member fails so often; how far the group and the queues of its failures are."""

    def broker(usual: BrokerSnapshot) -> BrokerSnapshot:
        queues = [QueueState(topic="Pay", queue_id=number, min_offset=0, max_offset=10**9) for number in (0, 1)]
        if usual.name == LIVE.brokers[0].name:
            queues.append(QueueState(topic="%RETRY%G", queue_id=0, min_offset=0, max_offset=retries))
            queues.append(QueueState(topic="%DLQ%G", queue_id=0, min_offset=0, max_offset=dead))
        offsets = [ConsumerOffsetState(group="G", topic="Pay", queue_id=number, offset=offset) for number in (0, 1)]
        delay = _delay(delayed) if known else None
        return replace(usual, queues=tuple(queues), consumer_offsets=tuple(offsets), delay=delay)

    rates = (TopicRates(topic="Pay", consume_ok_tps=1.0, consume_failed_tps=failed_tps),)
    first, second = LIVE.running
    return replace(
        LIVE,
        origin=replace(LIVE.origin, observed_at_ms=at_ms),
        brokers=tuple(map(broker, LIVE.brokers)),
        running=(replace(first, rates=rates), second),
    )


def _delay(end: int) -> DelayState:
    level = DelayLevelState(level=3, delay_ms=10_000, queue=DelayQueueState(min_offset=0, max_offset=end))
    return DelayState(levels=(level,), table_source=LevelTableSource.BROKER_CONFIG)


def failing_twice(*, retries: int) -> ClusterSnapshot:
    """Half of ten messages a second fail for half a minute; so many retries were stored in it."""
    earlier = failing_look(NOW - 30_000, 5.0, offset=100)
    return replace(failing_look(NOW, 5.0, offset=200, retries=retries), earlier=earlier)
