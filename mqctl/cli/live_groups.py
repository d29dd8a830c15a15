"""What the group commands share."""

from __future__ import annotations

from mqctl.cli.live_brokers import open_brokers
from mqctl.errors import NotFoundError
from mqctl.model.member import GroupMembership
from mqctl.snapshot.live_asking import Asking, Scope
from mqctl.snapshot.live_brokers import LiveBroker, ask_groups, masters_of
from mqctl.snapshot.live_members import gather_memberships


def group_holders(asking: Asking, group: str) -> list[LiveBroker]:
    """Returns the masters, each with the settings of one group.

    Raises:
        NotFoundError: every broker answered, and none knows it.
    """
    brokers = masters_of(open_brokers(asking))
    ask_groups(asking, brokers, Scope(groups=frozenset({group})))
    if not any(broker.groups or broker.gaps for broker in brokers):
        raise NotFoundError(f"there is no consumer group {group}", remedy="mqctl group list --all")
    return brokers


def memberships_by_broker(asking: Asking, brokers: list[LiveBroker], group: str) -> dict[str, GroupMembership]:
    """Returns what each broker says of one group's members."""
    found = gather_memberships(asking, brokers, Scope(groups=frozenset({group})))
    return {brokers[number].name: items[0] for number, items in found.items()}
