"""`mqctl producer list`: who is connected to send."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, open_brokers, tell_broker_gaps
from mqctl.cli.options import AllOption, GroupOption, NoColorOption, OutputOption
from mqctl.render.groups import producer_document
from mqctl.snapshot.live_brokers import ask_producers, ask_producers_of, masters_of

EXAMPLES = ("mqctl producer list", "mqctl producer list -g order-producer -o json")


def command(
    group: GroupOption = None,
    everything: AllOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the producers that are connected; of brokers before 4.9.4 those of the groups that are named."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        brokers = masters_of(open_brokers(asking))
        ask_producers(asking, brokers, system=everything)
        ask_producers_of(asking, brokers, group or ())
    found = ((broker.name, item) for broker in brokers for item in broker.producers)
    emit(producer_document((name, item) for name, item in found if not group or item.group in group), output)
    return tell_broker_gaps(brokers)
