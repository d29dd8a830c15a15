"""`mqctl broker config`: the properties of brokers."""

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
from mqctl.snapshot.live.brokers import ask_settings

EXAMPLES = (
    "mqctl broker config broker-a",
    "mqctl broker config --key 'flush*' --key fileReservedTime",
    "mqctl broker config --diff",
)


def command(
    broker: Annotated[
        list[str] | None, typer.Argument(metavar="[BROKER]...", help="Names or addresses; all brokers unless given.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="PATTERN", help="Only these keys; * and ? stand for others.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Only keys in which brokers differ.")] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the properties of brokers, by key."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.CONFIG}, broker or (), anywhere=True)
        look.ask(ask_settings, brokers)
    keys = sorted({name for item in brokers for name in item.config})
    if key:
        keys = [name for name in keys if like_any(name, key)]
    if diff:
        keys = [name for name in keys if len({item.config.get(name) for item in brokers if item.config}) > 1]
    rows = [
        Setting(broker=item.name, address=item.address.address, key=name, value=item.config[name])
        for name in keys
        for item in brokers
        if name in item.config
    ]
    return answer(limited(setting_document(rows, "broker.config/1"), output, limit), broker_gaps(brokers), output)
