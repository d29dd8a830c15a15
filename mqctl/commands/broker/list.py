"""`mqctl broker list`: every broker process with its rates."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, open_brokers, tell_broker_gaps
from mqctl.cli.options import NoColorOption, OutputOption
from mqctl.render.brokers import broker_document, broker_row
from mqctl.snapshot.live_brokers import ask_runtime

EXAMPLES = ("mqctl broker list", "mqctl broker list -o wide", "mqctl broker list -o json | jq '.brokers[].address'")


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List every broker process: address, version, rates, disk. One that does not answer is listed with the reason."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        brokers = open_brokers(asking)
        ask_runtime(asking, brokers)
    emit(broker_document([broker_row(broker) for broker in brokers]), output)
    return tell_broker_gaps(brokers)
