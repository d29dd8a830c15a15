"""`mqctl group members`: who consumes for a group."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.groups import group_holders, memberships_by_broker, speaking
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.group.gather import gather_members
from mqctl.commands.group.view import members_document
from mqctl.model.gap import Part
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups

EXAMPLES = ("mqctl group members -g order-service", "mqctl group members -g order-service -o json | jq .members")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show who consumes for a group: each instance with its queues, cache and subscription, as it reports them."""
    with looking(namesrv, profile, timeout, snapshot, proxies=proxy) as look:
        brokers, silent = speaking(look, {Part.MEMBERS, Part.GROUPS, Part.CONFIG})
        memberships = memberships_by_broker(look, brokers, group)
        if not memberships and not any(broker.gaps for broker in brokers):
            group_holders(look, group)  # nobody online is an answer, a name that no broker knows is not
        joined = [item for item in brokers if item.name in memberships]
        look.ask(ask_groups, joined, Scope(groups=frozenset({group})))
        members, unanswered, minor = gather_members(look, brokers, memberships, group)
    document = members_document(members, online_known=not look.is_store)
    return answer(document, [*broker_gaps(brokers), *unanswered], output, minor=[*silent, *minor])
