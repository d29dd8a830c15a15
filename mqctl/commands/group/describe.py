"""`mqctl group describe`: settings, members and subscriptions of one group."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    AtOption,
    NoColorOption,
    OneGroupOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
)
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.groups import group_holders, memberships_by_broker
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.group.gather import gather_members
from mqctl.commands.group.view import members_document

EXAMPLES = (
    "mqctl group describe -g order-service",
    "mqctl group describe -g order-service -o yaml",
    "mqctl group describe -g order-service --store /backup/store",
)


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    at: AtOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a group's settings, its instances, what brokers filter by, and what it pops.

    A store has the settings and, exactly, what is popped, as of its own last instant or --at; not who is online.

    Its lag: `mqctl group lag -g GROUP`, which says how the states of popped messages are known.
    """
    with looking(namesrv, profile, timeout, snapshot, store=store, at=at, proxies=proxy) as look:
        brokers = group_holders(look, group)
        memberships = memberships_by_broker(look, brokers, group)
        members, unanswered, minor = gather_members(look, brokers, memberships, group, whole=True)
    document = members_document(members, online_known=not look.is_store)
    return answer(document, [*broker_gaps(brokers), *unanswered], output, minor=minor)
