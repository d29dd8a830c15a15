"""`mqctl broker stats`: everything a broker tells of itself, as it tells it."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.model.gap import Part
from mqctl.render.brokers import Setting, setting_document
from mqctl.snapshot.live.brokers import ask_runtime

EXAMPLES = ("mqctl broker stats", "mqctl broker stats broker-a -o json")


def command(
    broker: Annotated[
        list[str] | None, typer.Argument(metavar="[BROKER]...", help="Names or addresses; all brokers unless given.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show every counter and state that brokers report, under RocketMQ's own names."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME}, broker or ())
        look.ask(ask_runtime, brokers)
    rows = [
        Setting(broker=item.name, address=item.address.address, key=name, value=value)
        for item in brokers
        for name, value in sorted(item.runtime.items())
    ]
    return answer(setting_document(rows, "broker.stats/1"), broker_gaps(brokers), output)
