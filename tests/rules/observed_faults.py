"""Faults that newest messages of a live cluster tell of, put into the healthy one, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.config import TopicConfig
from mqctl.model.delay_level import DEFAULT_TABLE
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.newest import NewestMessage
from mqctl.model.probe import SendProbe
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import Scene, after, each_broker
from tests.rules.live_snapshots import BROKERS, LIVE, MINUTE, NOW, ONE, TWO, held, member, with_members
from tests.rules.setting_faults import unheard

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


def allowing(most: str, world: ClusterSnapshot) -> ClusterSnapshot:
    """Members report this limit of their own."""
    running = (replace(info, properties={**info.properties, "maxReconsumeTimes": most}) for info in world.running)
    return replace(world, running=tuple(running))


def delayed_for(*topics: str, failing: tuple[str, ...] = ()) -> ClusterSnapshot:
    """A message for these topics waits in level 18, or for these because it failed often."""
    queue = DelayQueueState(
        min_offset=0,
        max_offset=9,
        waiting_count=1,
        not_due_count=1,
        head_due_time_ms=NOW + MINUTE,
        first_undelivered_offset=8,
        dead_letter_topics=topics,
        failing_topics=failing,
    )
    level = DelayLevelState(level=18, delay_ms=DEFAULT_TABLE.delay_ms(18), recorded_offset=8, queue=queue)
    state = DelayState(levels=(level,), table_source=LevelTableSource.BROKER_CONFIG, last_delivery_time_ms=NOW - 5_000)
    return each_broker(lambda broker: replace(broker, delay=state), FIRST)


def failing(*topics: str) -> ClusterSnapshot:
    """A message waits in level 18, for one of these retry topics if it failed often."""
    return delayed_for(failing=topics)


def answering(probe: SendProbe, *, used: str = "0.4", version: int | None = None) -> ClusterSnapshot:
    """The first broker answered a message so; its disk is used so far, and its members have this version."""
    base = LIVE if version is None else with_members(members=(replace(member(ONE, 5_001), version=version),))
    first, *others = base.brokers
    return replace(base, brokers=(replace(first, probe=probe, runtime={"commitLogDiskRatio": used}), *others))


def refusing(code: int) -> SendProbe:
    return SendProbe(topic=FIRST, code=code, reason="service not available now", vip_open=True)


def storing(status: str = "SEND_OK", *, took_ms: float = 3.0, vip_open: bool = True) -> SendProbe:
    return SendProbe(topic=FIRST, status=status, took_ms=took_ms, vip_open=vip_open)


def set_without(*topics: str, **config: str) -> ClusterSnapshot:
    """The first broker has these settings, and these topics beside its own."""
    more = tuple(TopicConfig(name=name, read_queue_count=1, write_queue_count=1) for name in topics)
    return each_broker(lambda broker: replace(broker, config=config, topics=(*broker.topics, *more)), FIRST)


def seen(*clients: tuple[str, ...]) -> ClusterSnapshot:
    """Who was there at each look; the last is the whole one."""
    first, *between, last = (
        with_members(client_ids=some, members=tuple(member(client, 5_001 + int(client[8])) for client in some))
        for some in clients
    )
    return replace(after(last, first), between=tuple(between))


def handed(*owners: str) -> ClusterSnapshot:
    """Who held the first queue at each look, while both members stayed."""
    looks = [_holding(owner) for owner in owners]
    return replace(after(looks[-1], looks[0]), between=tuple(looks[1:-1]))


def _holding(owner: str) -> ClusterSnapshot:
    queue = held(FIRST, 0)
    infos = []
    for info in LIVE.running:
        others = tuple(item for item in info.queues if item.queue != queue.queue)
        infos.append(replace(info, queues=(*others, queue) if info.client_id == owner else others))
    return replace(LIVE, running=tuple(infos))


SCENES: list[Scene] = [
    ("MQ120", "refused", answering(refusing(1)), {}),
    ("MQ120", "disk", answering(refusing(14)), {}),
    ("MQ120", "copy", answering(storing("SLAVE_NOT_AVAILABLE")), {"took_ms": 3}),
    ("MQ120", "flush", answering(storing("FLUSH_DISK_TIMEOUT", took_ms=5_000)), {"took_ms": 5_000}),
    ("MQ120", "slow", answering(storing(took_ms=900)), {"took_ms": 900}),
    ("MQ628", None, answering(storing(vip_open=False), version=433), {}),
    ("MQ628", "old", answering(storing(vip_open=False), version=313), {"client_count": 1}),
    ("MQ220", None, seen((ONE, TWO), (ONE,), (ONE, TWO)), {"look_count": 3, "flapping_count": 1, "queue_count": 0}),
    ("MQ220", "members", unheard(seen((ONE, TWO), (ONE,), (ONE, TWO))), {"flapping_count": 1, "queue_count": None}),
    ("MQ220", "queues", handed(ONE, TWO, ONE, ONE), {"look_count": 4, "flapping_count": 0, "queue_count": 1}),
    ("MQ644", None, set_without("SELF_TEST_TOPIC", autoCreateTopicEnable="true"), {}),
    ("MQ423", None, retried(1, 1, 1), {"copy_count": 3, "tries_count": 1, "sampled_count": 3}),
    ("MQ423", "over", allowing("-1", retried(3, 17, key=None)), {"tries_count": 17, "sampled_count": 2}),
    ("MQ650", None, sent(-5, 45_000), {"difference_ms": 45_000, "sampled_count": 2}),
    ("MQ650", "behind", sent(-90_000, -90_010, -90_002), {"difference_ms": 90_000, "sampled_count": 3}),
    ("MQ427", None, failing("%RETRY%G"), {"tries_count": 4, "level_count": 1}),
    ("MQ728", None, delayed_for("%DLQ%G"), {"topic_count": 1}),
]

STATES: dict[str, ClusterSnapshot] = {
    "MQ120": answering(storing(took_ms=60)),
    "MQ220": seen((ONE, TWO), (ONE, TWO), (ONE, "192.0.2.3@new"), (ONE, "192.0.2.3@new")),
    "MQ628": answering(storing(), version=313),
    "MQ644": set_without("SELF_TEST_TOPIC", autoCreateTopicEnable="false", traceTopicEnable="false"),
    "MQ423": allowing("200", retried(15, 16, 160)),
    "MQ650": sent(9_000, -90_000, -90_000),
    "MQ427": failing(),
    "MQ728": delayed_for(),
}
