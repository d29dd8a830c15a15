"""`mqctl broker stats`: everything a broker tells of itself, as it tells it."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, open_brokers, tell_broker_gaps
from mqctl.cli.options import NoColorOption, OutputOption
from mqctl.render.brokers import Setting, setting_document
from mqctl.snapshot.live_brokers import ask_runtime

EXAMPLES = ("mqctl broker stats", "mqctl broker stats broker-a -o json")


def command(
    broker: Annotated[
        list[str] | None, typer.Argument(metavar="[BROKER]...", help="Names or addresses; all brokers unless given.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show every counter and state that brokers tell, under RocketMQ's own names."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        brokers = open_brokers(asking, broker or ())
        ask_runtime(asking, brokers)
    rows = [
        Setting(broker=item.name, address=item.address.address, key=name, value=value)
        for item in brokers
        for name, value in sorted(item.runtime.items())
    ]
    emit(setting_document(rows, "broker.stats/1"), output)
    return tell_broker_gaps(brokers)
