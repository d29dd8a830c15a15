"""Brokers that no name server knows any more, and what still names them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.model.route import RECENT_MS, SeenBroker, missed_brokers
from mqctl.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneBroker:
    """A broker that is nowhere registered.

    Attributes:
        seen: when and as what it was registered, and who expects it; None where nobody here ever saw it.
        held: its queues that members still hold; `holders` are their groups.
        ordered: topics whose order configuration names it.
        recent: whether it was registered within a day.
    """

    name: str
    seen: SeenBroker | None
    held: frozenset[MessageQueue]
    holders: frozenset[str]
    ordered: tuple[str, ...]
    recent: bool

    @property
    def expected_by(self) -> str | None:
        """Who says that it belongs there."""
        return self.seen.expected_by if self.seen is not None else None

    @property
    def answered_name(self) -> str | None:
        """Who answered at its last known address; None where nobody did, or nobody asked."""
        return self.seen.answer.name if self.seen is not None and self.seen.answer is not None else None

    @property
    def belongs(self) -> bool:
        """Whether something still counts on it; one that merely was there may have been removed on purpose."""
        return bool(self.expected_by or self.held or self.ordered)


def registered_names(snapshot: ClusterSnapshot) -> set[str]:
    """Returns the names of the brokers of which some process is registered."""
    return {endpoint.name for view in snapshot.name_servers for endpoint in view.endpoints if endpoint.addresses}


# RouteInfoManager.onChannelDestroy (4.9.8) takes a broker out of all routes when its connection breaks: what is left of
# a killed one is in the memory of others only.
def gone_brokers(snapshot: ClusterSnapshot) -> list[GoneBroker]:
    """Returns them by name; none where no name server was asked."""
    if not snapshot.name_servers:
        return []
    seen, ordered = _seen(snapshot), _ordered(snapshot)
    held: dict[str, set[MessageQueue]] = {}
    holders: dict[str, set[str]] = {}
    for info in snapshot.running:
        for queue in (item.queue for item in info.queues):
            held.setdefault(queue.broker_name, set()).add(queue)
            holders.setdefault(queue.broker_name, set()).add(info.group)
    now_ms = snapshot.origin.observed_at_ms
    return [
        GoneBroker(
            name=name,
            seen=item,
            held=frozenset(held.get(name, ())),
            holders=frozenset(holders.get(name, ())),
            ordered=tuple(ordered.get(name, ())),
            recent=item is not None and (item.last_seen_time_ms or 0) > now_ms - RECENT_MS,
        )
        for name in sorted({*seen, *ordered, *held} - registered_names(snapshot))
        for item in [seen.get(name)]
    ]


def out_of_reach(snapshot: ClusterSnapshot) -> list[str]:
    """Returns the names of brokers without which sums over queues are part of one: those that `missed_brokers` misses,
    and those whose queues members still hold or an order configuration names."""
    if snapshot.without_brokers:
        return []
    seen, now_ms = snapshot.seen_brokers, snapshot.origin.observed_at_ms
    missed = {item.name for item in missed_brokers(seen, registered_names(snapshot), now_ms)}
    return [item.name for item in gone_brokers(snapshot) if item.belongs or item.name in missed]


def _seen(snapshot: ClusterSnapshot) -> dict[str, SeenBroker]:
    seen = {item.name: item for item in snapshot.seen_brokers}
    if snapshot.earlier is not None:
        moment_ms = snapshot.earlier.origin.observed_at_ms
        for view in snapshot.earlier.name_servers:
            for item in view.endpoints:
                before = seen.get(item.name) or SeenBroker(cluster=item.cluster, name=item.name, address=None)
                seen[item.name] = replace(before, address=item.any_address(), last_seen_time_ms=moment_ms)
    return seen


def _ordered(snapshot: ClusterSnapshot) -> dict[str, list[str]]:
    ordered: dict[str, list[str]] = {}
    for topic, route in snapshot.routes().items():
        for part in (route.order_conf or "").split(";"):
            name, _, count = part.partition(":")
            if decimal(count) is not None:  # what is written otherwise names no broker, and is MQ508's
                ordered.setdefault(name, []).append(topic)
    return ordered
