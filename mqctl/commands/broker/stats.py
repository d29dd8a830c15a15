"""`mqctl broker stats`: everything a broker tells of itself, as it tells it."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.model.gap import Part
from mqctl.model.names_alike import like_any
from mqctl.render.brokers import Setting, setting_document
from mqctl.snapshot.live.brokers import ask_runtime

EXAMPLES = ("mqctl broker stats", "mqctl broker stats broker-a --key '*Tps'", "mqctl broker stats broker-a -o json")


def command(
    broker: Annotated[
        list[str] | None, typer.Argument(metavar="[BROKER]...", help="Names or addresses; all brokers unless given.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="PATTERN", help="Only these keys; * and ? stand for others.")
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show every counter and state that brokers report, under RocketMQ's own names."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME}, broker or (), anywhere=True)
        look.ask(ask_runtime, brokers)
    rows = [
        Setting(broker=item.name, address=item.address.address, key=name, value=value)
        for item in brokers
        for name, value in sorted(item.runtime.items())
        if not key or like_any(name, key)
    ]
    return answer(limited(setting_document(rows, "broker.stats/1"), output, limit), broker_gaps(brokers), output)
