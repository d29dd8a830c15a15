"""`mqctl group members`: who consumes for a group."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.groups import group_holders, memberships_by_broker, speaking
from mqctl.cli.sources.live_or_saved import LiveOrSaved, looking
from mqctl.commands.group.gather import gather_members
from mqctl.commands.group.members_view import instance_document
from mqctl.commands.group.rows import InstanceReport
from mqctl.commands.group.view import members_document
from mqctl.errors import NotFoundError, RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Part
from mqctl.model.member import consume_mode
from mqctl.model.remark import on_one_line
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups
from mqctl.text import sentence

EXAMPLES = (
    "mqctl group members -g order-service",
    "mqctl group members -g order-service -o json | jq .members",
    "mqctl group members -g order-service --client 10.0.0.7@4711",
    "mqctl group members -g order-service --client 10.0.0.7@4711 -o json | jq .properties.consumeThreadMax",
)


def command(
    group: OneGroupOption,
    client: Annotated[
        str | None, typer.Option("--client", metavar="CLIENT-ID", help="One instance, with all that it reports.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show who consumes for a group: each instance with its queues, cache and subscription, as it reports them.

    --client shows all that one instance reports: also locks, rates and properties. It is asked through a broker that
    it is connected to. Clients in other languages may not answer.
    """
    with looking(namesrv, profile, timeout, snapshot, proxies=proxy) as look:
        if client is not None:
            emit(instance_document(_instance(look, group, client)), output)
            return 0
        brokers, silent = speaking(look, {Part.MEMBERS, Part.GROUPS, Part.CONFIG})
        memberships = memberships_by_broker(look, brokers, group)
        if not memberships and not any(broker.gaps for broker in brokers):
            group_holders(look, group)  # nobody online is an answer, a name that no broker knows is not
        joined = [item for item in brokers if item.name in memberships]
        look.ask(ask_groups, joined, Scope(groups=frozenset({group})))
        members, unanswered, minor = gather_members(look, brokers, memberships, group)
    document = members_document(members, online_known=not look.is_store)
    return answer(document, [*broker_gaps(brokers), *unanswered], output, minor=[*silent, *minor])


def _instance(look: LiveOrSaved, group: str, client: str) -> InstanceReport:
    """Returns what one instance reports.

    Raises:
        NotFoundError: it is not online.
        RefusedError: it did not report.
    """
    brokers, _ = speaking(look, {Part.MEMBERS})
    memberships = memberships_by_broker(look, brokers, group)
    known = sorted({name for held in memberships.values() for name in held.client_ids})
    if client not in known:
        if not known:
            group_holders(look, group)  # a group that no broker knows is told as such
        listed = on_one_line(", ".join(known)) or sentence("group-nobody-online", "no member is online")
        raise NotFoundError(
            sentence("group-no-instance", "{group} has no instance {client}", group=group, client=client),
            reason=sentence("common-online", "online: {shown}", shown=listed),
            remedy=command_line("mqctl group members -g {}", group),
        )
    numbered = {
        number: (memberships[item.name],)
        for number, item in enumerate(brokers)
        if item.name in memberships and client in memberships[item.name].client_ids
    }
    running, gaps = look.running(brokers, numbered)
    matching = [info for info in running if info.client_id == client]
    if matching:
        return InstanceReport.of(matching[0], consume_mode(memberships.values()))
    raise RefusedError(
        sentence(
            "group-did-not-report-doing",
            "{client} of {group} did not report what it is doing",
            client=client,
            group=group,
        ),
        reason=next(
            (gap.reason for gap in gaps if client in (gap.scope or "")),
            sentence("group-went-offline", "it went offline meanwhile"),
        ),
    )
