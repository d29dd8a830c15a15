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
from mqctl.cli.sources.live_or_saved import looking
from mqctl.model.gap import Cause
from mqctl.operations.topics.groups import group_holders, group_shares, memberships_by_broker, missing_members, refusing
from mqctl.render.groups import config_rows, members_document

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
        numbered = {n: (memberships[item.name],) for n, item in enumerate(brokers) if item.name in memberships}
        refused = refusing(look, [brokers[number] for number in numbered], group)
        running, unanswered = look.running(brokers, numbered)
        modes = look.declared_modes(brokers).get(group, ())
        unseen = missing_members(look, brokers, memberships, group)
        pops = group_shares(look, brokers, group)
    configs = config_rows({broker.name: broker.groups[group] for broker in brokers if group in broker.groups})
    gaps = [*broker_gaps(brokers), *(gap for gap in unanswered if gap.cause is not Cause.UNSUPPORTED)]
    minor = [*unseen, *(gap for gap in unanswered if gap.cause is Cause.UNSUPPORTED)]
    return answer(
        members_document(
            group,
            memberships,
            running,
            configs,
            pops=pops,
            refused_by=refused,
            modes=modes,
            online_known=not look.is_store,
        ),
        gaps,
        output,
        minor=minor,
    )
