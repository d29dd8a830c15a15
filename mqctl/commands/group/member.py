"""`mqctl group member`: one instance of a group, as it describes itself."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources.groups import group_holders, memberships_by_broker, speaking
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.group.member_view import instance_document
from mqctl.commands.group.rows import InstanceReport
from mqctl.errors import NotFoundError, RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Part
from mqctl.model.member import consume_mode
from mqctl.model.remark import on_one_line
from mqctl.text import sentence

EXAMPLES = (
    "mqctl group member 10.0.0.7@4711 -g order-service",
    "mqctl group member 10.0.0.7@4711 -g order-service -o json | jq .properties.consumeThreadMax",
)


def command(
    client: Annotated[str, typer.Argument(metavar="CLIENT-ID", help="As `group members` lists it.")],
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what one instance reports about itself: queues, caches, locks, rates, subscriptions, properties.

    The instance is asked through a broker that it is connected to. Clients in other languages may not answer.
    """
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers, _ = speaking(look, {Part.MEMBERS})
        memberships = memberships_by_broker(look, brokers, group)
        known = sorted({name for held in memberships.values() for name in held.client_ids})
        if client not in known:
            if not known:
                group_holders(look, group)  # a group that no broker knows is told as such
            listed = on_one_line(", ".join(known)) or sentence("group-nobody-online", "nobody is online")
            remedy = command_line("mqctl group members -g {}", group)
            raise NotFoundError(
                sentence("group-no-instance", "{group} has no instance {client}", group=group, client=client),
                reason=sentence("common-online", "online: {shown}", shown=listed),
                remedy=remedy,
            )
        numbered = {
            number: (memberships[item.name],)
            for number, item in enumerate(brokers)
            if item.name in memberships and client in memberships[item.name].client_ids
        }
        running, gaps = look.running(brokers, numbered)
    matching = [info for info in running if info.client_id == client]
    if not matching:
        reason = next(
            (gap.reason for gap in gaps if client in (gap.scope or "")),
            sentence("group-went-offline", "it went offline meanwhile"),
        )
        raise RefusedError(
            sentence(
                "group-did-not-report-doing",
                "{client} of {group} did not report what it is doing",
                client=client,
                group=group,
            ),
            reason=reason,
        )
    emit(instance_document(InstanceReport.of(matching[0], consume_mode(memberships.values()))), output)
    return 0
