"""`mqctl group members`: who consumes for a group."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, open_brokers, tell_broker_gaps, tell_gaps
from mqctl.cli.live_groups import group_holders, memberships_by_broker
from mqctl.cli.options import NoColorOption, OneGroupOption, OutputOption
from mqctl.render.groups import members_document
from mqctl.snapshot.live_brokers import masters_of
from mqctl.snapshot.live_members import gather_running

EXAMPLES = ("mqctl group members -g order-service", "mqctl group members -g order-service -o json | jq .members")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show who consumes for a group: each instance with its queues, cache and subscription, as it tells itself."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        brokers = masters_of(open_brokers(asking))
        memberships = memberships_by_broker(asking, brokers, group)
        if not memberships and not any(broker.gaps for broker in brokers):
            group_holders(asking, group)  # nobody online is an answer, a name that no broker knows is not
        numbered = {n: (memberships[item.name],) for n, item in enumerate(brokers) if item.name in memberships}
        running, gaps = gather_running(asking, brokers, numbered)
    emit(members_document(group, memberships, running), output)
    return max(tell_broker_gaps(brokers), tell_gaps(gaps))
