"""Whether a consumer group is there at all: a misspelt name must not read as a healthy group."""

from __future__ import annotations

from mqctl.errors import NotFoundError
from mqctl.model.gap import Part
from mqctl.model.near_names import meant
from mqctl.model.snapshot import ClusterSnapshot

_EVIDENCE = frozenset({Part.GROUPS, Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.ROUTES})


def require_group(snapshot: ClusterSnapshot, group: str) -> None:
    """Passes when some broker knows `group`, or when one that could know it did not tell.

    Raises:
        NotFoundError: all brokers told their groups, members and offsets, and `group` is in none.
    """
    for broker in snapshot.brokers:
        if any(item.name == group for item in broker.groups):
            return
        if any(item.group == group for item in broker.memberships):
            return
        if any(item.group == group for item in broker.consumer_offsets):
            return
    gaps = (snapshot.unavailable, *(broker.unavailable for broker in snapshot.brokers))
    if not any(gap.part in _EVIDENCE for part in gaps for gap in part):
        told = {item.name for broker in snapshot.brokers for item in broker.groups}
        raise NotFoundError(f"there is no consumer group {group}", remedy=meant(group, told, "mqctl group list --all"))
