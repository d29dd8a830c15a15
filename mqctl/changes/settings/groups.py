"""What undo and the cleaning of our own groups share with `group delete`."""

from __future__ import annotations

from mqctl.errors import RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.topic_use import all_told
from mqctl.text import sentence


def refuse_with_members(asking: Asking, holders: list[LiveBroker], group: str) -> None:
    """Raises RefusedError when somebody consumes for a group."""
    memberships = gather_memberships(asking, holders, Scope(groups=frozenset({group})))
    all_told(holders)
    members = {client for items in memberships.values() for item in items for client in item.client_ids}
    if members:
        raise RefusedError(
            sentence("settings-group-cannot-deleted", "group {group} cannot be deleted", group=group),
            reason=sentence(
                "settings-online",
                "{members} of it online: {members_2}",
                members=counted(len(members), "member"),
                members_2=sorted(members)[:3],
            ),
            remedy=sentence(
                "settings-stop-lists",
                "stop them; {value} lists them",
                value=command_line("mqctl group members -g {}", group),
            ),
        )
