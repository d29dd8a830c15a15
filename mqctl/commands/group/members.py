"""`mqctl group members`: who consumes for a group."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, ProxyOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.model.gap import Cause, Part
from mqctl.operations.topics.groups import group_holders, memberships_by_broker, missing_members, refusing
from mqctl.render.groups import members_document
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups, masters_of

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
        brokers = masters_of(look.brokers({Part.MEMBERS, Part.GROUPS, Part.CONFIG}))
        memberships = memberships_by_broker(look, brokers, group)
        if not memberships and not any(broker.gaps for broker in brokers):
            group_holders(look, group)  # nobody online is an answer, a name that no broker knows is not
        numbered = {n: (memberships[item.name],) for n, item in enumerate(brokers) if item.name in memberships}
        joined = [brokers[number] for number in numbered]
        look.ask(ask_groups, joined, Scope(groups=frozenset({group})))
        refused = refusing(look, joined, group)
        running, unanswered = look.running(brokers, numbered)
        modes = look.declared_modes(brokers).get(group, ())
        unseen = missing_members(look, brokers, memberships, group)
    gaps = [*broker_gaps(brokers), *(gap for gap in unanswered if gap.cause is not Cause.UNSUPPORTED)]
    minor = [*unseen, *(gap for gap in unanswered if gap.cause is Cause.UNSUPPORTED)]
    return answer(
        members_document(
            group,
            memberships,
            running,
            refused_by=refused,
            modes=modes,
            online_known=not look.is_store,
        ),
        gaps,
        output,
        minor=minor,
    )
