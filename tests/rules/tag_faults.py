"""Members of a group that want different tags of a topic (MQ203): who skips what of it."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.finding import Value
from mqctl.model.member import Subscription
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_snapshots import BROKERS, LIVE, membership, with_second

_TORN = replace(
    with_second(
        lambda info: replace(info, subscriptions=(Subscription(topic="Pay", tags=("b",)), info.subscriptions[1]))
    ),
    tag_samples=(
        TagSample(queue=MessageQueue("Pay", BROKERS[0], 0), first_offset=0, counts={"a": 30, "b": 10}),
        TagSample(queue=MessageQueue("Pay", BROKERS[1], 0), first_offset=0, counts={"a": 25, "b": 5}),
    ),
)
_WANTED = TagSample(queue=MessageQueue("Pay", BROKERS[0], 0), first_offset=0, counts={"a": 30})
_SPARED = replace(_TORN, tag_samples=(_WANTED,))


def _against_each_other(of_first: dict[str, int]) -> ClusterSnapshot:
    """The first instance wants tag a, the second b; brokers filter by b, as the second was heard last."""
    wanted = [
        (Subscription(topic="Pay", expression=tag, tags=(tag,)), info.subscriptions[1])
        for tag, info in zip(("a", "b"), LIVE.running, strict=True)
    ]
    sample = _TORN.tag_samples[0]
    return replace(
        LIVE,
        brokers=tuple(replace(item, memberships=(membership(subscriptions=wanted[1]),)) for item in LIVE.brokers),
        running=tuple(replace(info, subscriptions=mine) for info, mine in zip(LIVE.running, wanted, strict=True)),
        tag_samples=(
            replace(sample, counts=of_first),
            replace(sample, queue=MessageQueue("Pay", BROKERS[1], 0), counts={"b": 5}),
        ),
    )


TAG_SCENES: list[tuple[str, str | None, ClusterSnapshot, dict[str, Value]]] = [
    ("MQ203", "dropped", _TORN, {"sampled_count": 70, "lost_count": 25}),
    ("MQ203", "filtered", _against_each_other({"a": 30}), {"sampled_count": 35, "lost_count": 30}),
    ("MQ203", "both", _against_each_other({"a": 30, "b": 10}), {"sampled_count": 45, "lost_count": 40}),
    ("MQ203", "spared", _SPARED, {"sampled_count": 30, "lost_count": 0}),
]
