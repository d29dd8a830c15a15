"""Whom a rule is for: kinds of consumer groups, told by their members, and kinds of topics, told by name and settings.

What a rule leaves out is left out in one place, `judging`, for all rules alike.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from mqctl.allocation.group_view import GroupView, group_views
from mqctl.model.config import TopicConfig
from mqctl.model.names import DLQ_PREFIX, LMQ_PREFIX, RETRY_PREFIX, is_system_group, is_system_topic
from mqctl.model.snapshot import ClusterSnapshot


class GroupKind(StrEnum):
    """How a group consumes. `proxy`: its members are clients of a proxy (gRPC); `offline`: it has no members."""

    CLUSTERING = "clustering"
    ORDERLY = "orderly"
    BROADCASTING = "broadcasting"
    POP = "pop"
    PULL = "pull"
    PROXY = "proxy"
    OFFLINE = "offline"
    SYSTEM = "system"


class TopicKind(StrEnum):
    """What a topic is for. `ordered` has an order configuration (4.x), `fifo` and `compacted` are 5.x attributes."""

    NORMAL = "normal"
    ORDERED = "ordered"
    FIFO = "fifo"
    COMPACTED = "compacted"
    LIGHT = "lmq"
    RETRY = "retry"
    DEAD_LETTER = "dead-letter"
    SYSTEM = "system"


EVERY = frozenset(GroupKind) - {GroupKind.SYSTEM}
ONLINE = EVERY - {GroupKind.OFFLINE}
# Those of which each queue belongs to one member.
SHARING = frozenset({GroupKind.CLUSTERING, GroupKind.ORDERLY})
# Those whose members are pushed to, and tell when they pulled and consumed last.
PUSHED = SHARING | {GroupKind.BROADCASTING}
# Those whose progress brokers store. What a broker stores of a broadcasting group is left from before it was one.
COMMITTING = EVERY - {GroupKind.BROADCASTING}
JOINED = ONLINE - {GroupKind.BROADCASTING}

EVERY_TOPIC = frozenset(TopicKind)
APPLICATION = frozenset({TopicKind.NORMAL, TopicKind.ORDERED, TopicKind.FIFO, TopicKind.COMPACTED})
# Those that members name themselves; a group's retry topic comes by itself.
SUBSCRIBED = EVERY_TOPIC - {TopicKind.RETRY}
# Those of which somebody owes progress: brokers and tools come and go on their own topics.
LAGGING = EVERY_TOPIC - {TopicKind.SYSTEM}
POPPED = APPLICATION | {TopicKind.DEAD_LETTER}
# A topic of 5.x may have an order configuration as well.
ORDERED = frozenset({TopicKind.ORDERED, TopicKind.FIFO})


def kind_of(view: GroupView) -> GroupKind:
    """Returns the kind of a group with members."""
    if view.broadcasting:
        return GroupKind.BROADCASTING
    if view.behind_proxy:
        return GroupKind.PROXY
    if view.pops:
        return GroupKind.POP
    if view.pulls:
        return GroupKind.PULL
    return GroupKind.ORDERLY if view.orderly else GroupKind.CLUSTERING


def kinds(snapshot: ClusterSnapshot) -> dict[str, GroupKind]:
    """Returns the kind of every group with members."""
    return {view.group: kind_of(view) for view in group_views(snapshot)}


def topic_kind(topic: str, settings: Collection[TopicConfig], *, ordered: bool) -> TopicKind:
    """Returns the kind of a topic.

    Args:
        settings: its settings on each broker; what one of them says counts for all.
        ordered: whether name servers have an order configuration of it.
    """
    if is_system_topic(topic):
        return TopicKind.SYSTEM
    for prefix, kind in _PREFIXES.items():
        if topic.startswith(prefix):
            return kind
    if any(config.compacted for config in settings):
        return TopicKind.COMPACTED
    if any(config.message_type == "FIFO" for config in settings):
        return TopicKind.FIFO
    return TopicKind.ORDERED if ordered or any(config.order for config in settings) else TopicKind.NORMAL


_PREFIXES = {RETRY_PREFIX: TopicKind.RETRY, DLQ_PREFIX: TopicKind.DEAD_LETTER, LMQ_PREFIX: TopicKind.LIGHT}


class Audience:
    """Groups and topics of one snapshot by kind, for the question whether a rule is for them."""

    def __init__(self, snapshot: ClusterSnapshot, *, live: bool) -> None:
        self._groups = kinds(snapshot) if live else None
        self._settings: dict[str, list[TopicConfig]] = {}
        for config in (config for broker in snapshot.brokers for config in broker.topics):
            self._settings.setdefault(config.name, []).append(config)
        self._ordered = frozenset(topic for topic, route in snapshot.routes().items() if route.order_conf)

    def group(self, group: str) -> GroupKind | None:
        """Returns a group's kind; None where the source cannot tell members."""
        if is_system_group(group):
            return GroupKind.SYSTEM
        return None if self._groups is None else self._groups.get(group, GroupKind.OFFLINE)

    def topic(self, topic: str) -> TopicKind:
        """Returns a topic's kind."""
        return topic_kind(topic, self._settings.get(topic, ()), ordered=topic in self._ordered)
