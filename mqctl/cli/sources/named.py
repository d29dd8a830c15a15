"""Whether what a command line names is there at all: a misspelt name must not read as a healthy one."""

from __future__ import annotations

from collections.abc import Collection

from mqctl.errors import NotFoundError
from mqctl.model.gap import Part
from mqctl.model.names_alike import meant
from mqctl.model.snapshot import ClusterSnapshot

_OF_GROUPS = frozenset({Part.GROUPS, Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.ROUTES})
_OF_TOPICS = frozenset({Part.TOPICS, Part.QUEUES, Part.CONSUMER_OFFSETS, Part.ROUTES})


def require_group(snapshot: ClusterSnapshot, group: str) -> None:
    """Passes when some broker knows `group`, or when one that could know it did not tell.

    Raises:
        NotFoundError: all brokers told their groups, members and offsets, and `group` is in none.
    """
    existing = {item.name for broker in snapshot.brokers for item in broker.groups}
    known = existing | {item.group for broker in snapshot.brokers for item in broker.memberships}
    known |= {item.group for broker in snapshot.brokers for item in broker.consumer_offsets}
    if group not in known and _all_told(snapshot, _OF_GROUPS):
        raise NotFoundError(
            f"there is no consumer group {group}", remedy=meant(group, existing, "mqctl group list --all")
        )


def require_topic(snapshot: ClusterSnapshot, topic: str) -> None:
    """Passes when some broker or name server knows `topic`, or when one that could know it did not tell.

    Raises:
        NotFoundError: all told, and `topic` is with none.
    """
    existing = {item.name for broker in snapshot.brokers for item in broker.topics} | snapshot.routes().keys()
    known = existing | {item.topic for broker in snapshot.brokers for item in broker.queues}
    known |= {item.topic for broker in snapshot.brokers for item in broker.consumer_offsets}
    if topic not in known and _all_told(snapshot, _OF_TOPICS):
        raise NotFoundError(f"there is no topic {topic}", remedy=meant(topic, existing, "mqctl topic list"))


def require_broker(snapshot: ClusterSnapshot, name: str) -> None:
    """Passes when `name` is a broker's, one that was seen lately included, or when the source names no brokers.

    Raises:
        NotFoundError: no name server knows it.
    """
    registered = {endpoint.name for view in snapshot.name_servers for endpoint in view.endpoints}
    known = (
        registered | {item.name for item in snapshot.seen_brokers} | {item.name or name for item in snapshot.brokers}
    )
    if name not in known and not snapshot.without_brokers:
        listed = ", ".join(sorted(registered)) or "none"
        remedy = meant(name, known, "mqctl broker list")
        raise NotFoundError(f"there is no broker {name}", reason=f"known: {listed}", remedy=remedy)


def _all_told(snapshot: ClusterSnapshot, parts: Collection[Part]) -> bool:
    """Tells whether nobody kept back what could name it; without a broker nobody told anything."""
    gaps = (snapshot.unavailable, *(broker.unavailable for broker in snapshot.brokers))
    return not snapshot.without_brokers and not any(gap.part in parts for part in gaps for gap in part)
