"""`mqctl group list`: every consumer group."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import AllOption, NoColorOption, OnlineOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.groups import speaking
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.group.gather import group_row
from mqctl.commands.group.view import list_document
from mqctl.model.gap import Part
from mqctl.model.member import GroupMembership
from mqctl.model.names import is_system_group
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups

EXAMPLES = ("mqctl group list", "mqctl group list -o json | jq -r '.groups[] | select(.member_count == 0) | .group'")


def command(
    system: AllOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    only_online: OnlineOption = False,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List every consumer group with its members and topics, those with members first.

    System groups are hidden unless --all.
    """
    with looking(namesrv, profile, timeout, snapshot, proxies=proxy) as look:
        brokers, silent = speaking(look, {Part.GROUPS, Part.MEMBERS})
        look.ask(ask_groups, brokers, Scope())
        memberships = look.memberships(brokers)
        modes = look.declared_modes(brokers)
    known: dict[str, list[str]] = {}
    for broker in brokers:
        for name in broker.groups:
            if system or not is_system_group(name):
                known.setdefault(name, []).append(broker.name)
    online: dict[str, list[GroupMembership]] = {}
    for items in memberships.values():
        for item in items:
            online.setdefault(item.group, []).append(item)
    rows = [
        group_row(name, holders, online.get(name, []), modes.get(name, ())) for name, holders in sorted(known.items())
    ]
    rows = [row for row in rows if online.get(row.group)] + [
        row for row in rows if not online.get(row.group) and not only_online
    ]
    return answer(limited(list_document(rows), output, limit), broker_gaps(brokers), output, minor=silent)
