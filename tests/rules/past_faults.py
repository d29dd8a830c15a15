"""Faults that only weeks of a recording show, put behind the healthy cluster, and what looks like them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.past import GroupHours, MemberReturns, RecordedPast, TopicHours
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import Scene, each_broker
from tests.rules.live_snapshots import HOUR, LIVE, MINUTE, NOW

DAY = 24 * HOUR
DAYS = 35
LAST_HOUR_MS = NOW // HOUR * HOUR
Ago = Callable[[int], int | None]
"""A figure by how many hours ago its hour began; 0 is the hour that has only begun."""


def hours(figure: Ago, days: int = DAYS) -> tuple[int | None, ...]:
    return tuple(figure(ago) for ago in range(days * 24 - 1, -1, -1))


def flow(figure: Ago) -> Ago:
    """What came or was consumed in an hour: of the one that has only begun nothing is known."""
    return lambda ago: figure(ago) if ago else None


def steady(_: int) -> int:
    return 1_000


def nothing(_: int) -> int:
    return 0


def past(
    *,
    days: int = DAYS,
    wait: Ago = nothing,
    consumed: Ago = steady,
    sent: Ago = steady,
    topic: Ago = steady,
    returns: tuple[MemberReturns, ...] = (),
    used_ms: Mapping[str, int] | None = None,
) -> ClusterSnapshot:
    """The healthy cluster with a group Idle that has settings only, and with so many days behind it."""
    group = GroupHours(
        group="G",
        topic="Pay",
        lag_counts=hours(nothing, days),
        wait_ms=hours(wait, days),
        consumed_counts=hours(flow(consumed), days),
        sent_counts=hours(flow(sent), days),
    )
    behind = RecordedPast(
        recording="/rec",
        begin_ms=NOW - days * DAY,
        until_ms=NOW,
        first_hour=NOW // HOUR - days * 24 + 1,
        groups=(group,),
        topics=(TopicHours(topic="Pay", sent_counts=hours(flow(topic), days)),),
        returns=returns,
        used_ms={"G": NOW, "Idle": NOW} if used_ms is None else used_ms,
        old_groups=("G", "Idle"),
        unused_since_ms=NOW - 30 * DAY,
    )
    idle = SubscriptionGroupConfig(name="Idle")
    cluster = each_broker(lambda broker: replace(broker, groups=(*broker.groups, idle)))
    return replace(cluster, past=behind)


def came_back(count: int, last_ago_ms: int = 5 * MINUTE) -> tuple[MemberReturns, ...]:
    return (
        MemberReturns(
            group="G", host="192.0.2.1", return_count=count, first_ms=NOW - 10 * HOUR, last_ms=NOW - last_ago_ms
        ),
    )


def leaking(ago: int) -> int:
    """Six hours more a day for five days, the newest hour being the best of its day."""
    day, hour = divmod(ago, 24)
    return (34 - 6 * day) * HOUR + hour * MINUTE if day < 5 else 0


def by_night(ago: int) -> int:
    """Further behind every day, and up to date every night."""
    return 0 if ago % 24 == 3 else leaking(ago)


def halving(ago: int) -> int:
    """Half as much each week, but for one hour of the day."""
    return 1_000 if ago % 24 == 1 else 1_000 >> max(0, 2 - (ago - 1) // 168)


def except_last(value: int, usual: int = 1_000) -> Ago:
    return lambda ago: value if ago == 1 else usual


def weekly_rest(ago: int) -> int:
    """Nearly nothing in this hour of this weekday."""
    return 5 if ago % 168 == 1 else 1_000


def unused(**used_ms: int) -> ClusterSnapshot:
    """G has nobody online, and was used last as given."""
    state = past(used_ms={"Idle": NOW, **used_ms})
    return replace(state, running=(), brokers=tuple(replace(broker, memberships=()) for broker in state.brokers))


SCENES: list[Scene] = [
    ("MQ221", None, past(returns=came_back(6)), {"return_count": 6, "host_count": 1}),
    ("MQ221", "over", past(returns=came_back(4, 5 * HOUR)), {"return_count": 4, "last_time_ms": NOW - 5 * HOUR}),
    (
        "MQ430",
        None,
        past(wait=leaking),
        {
            "day_count": 6,
            "first_wait_ms": 0,
            "last_wait_ms": 34 * HOUR,
            "retention_ms": 72 * HOUR,
            "meets_expected_time_ms": LAST_HOUR_MS + round(38 / 6 * DAY),
            "earliest_expected_time_ms": LAST_HOUR_MS + round(38 / 10 * DAY),
            "latest_expected_time_ms": LAST_HOUR_MS + round(38 / 6 * DAY),
        },
    ),
    (
        "MQ431",
        None,
        past(consumed=halving),
        {"first_week_count": 168_000, "second_week_count": 87_500, "last_week_count": 47_250, "sent_count": 168_000},
    ),
    ("MQ432", None, unused(), {"unused_ms": 30 * DAY, "topic_count": 1}),
    (
        "MQ433",
        None,
        past(consumed=except_last(100)),
        {"hour_count": 100, "usual_count": 1_000, "day_count": 4, "sent_count": 1_000},
    ),
    ("MQ434", None, past(topic=except_last(5)), {"hour_count": 5, "usual_count": 1_000, "day_count": 4}),
    ("MQ434", "more", past(topic=except_last(9_000)), {"hour_count": 9_000, "hour_time_ms": LAST_HOUR_MS - HOUR}),
]

STATES: dict[str, ClusterSnapshot] = {
    "MQ221": past(returns=came_back(3)),
    "MQ430": past(wait=by_night),
    "MQ431": past(consumed=halving, sent=halving),
    "MQ432": unused(G=NOW - 12 * DAY),
    "MQ433": past(consumed=except_last(100), sent=except_last(100)),
    "MQ434": past(topic=weekly_rest),
}

STEADY = past()
SHORT = replace(LIVE, past=replace(STEADY.past, begin_ms=NOW - HOUR)) if STEADY.past else LIVE
