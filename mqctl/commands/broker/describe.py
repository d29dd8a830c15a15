"""`mqctl broker describe`: the state of one broker, or every counter that brokers report."""

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
from mqctl.errors import UsageError
from mqctl.model.gap import Part
from mqctl.model.names_alike import like_any
from mqctl.render.brokers import Setting, description_document, setting_document
from mqctl.snapshot.live.brokers import ask_runtime
from mqctl.text import sentence

EXAMPLES = (
    "mqctl broker describe broker-a",
    "mqctl broker describe 10.0.0.1:10911 -o json | jq .raw",
    "mqctl broker describe --counters --key '*Tps'",
)


def command(
    broker: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BROKER]...",
            help="Broker name (its master is asked) or any address; with --counters several, or none for all.",
        ),
    ] = None,
    counters: Annotated[bool, typer.Option("--counters", help="Every counter, under RocketMQ's own names.")] = False,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="PATTERN", help="Only these counters; * and ? stand for others."),
    ] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the state of one broker: rates, waits, disk, commit log. JSON has every value the broker reported."""
    whole = not (counters or key)
    if whole and len(broker or ()) != 1:
        raise UsageError(
            sentence("broker-describe-one", "one broker is described at a time"),
            remedy=sentence("broker-describe-several", "name one BROKER; --counters shows several"),
        )
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME}, broker or (), anywhere=True)[: 1 if whole else None]
        look.ask(ask_runtime, brokers)
    if whole:
        return answer(description_document(*brokers), broker_gaps(brokers), output)
    rows = [
        Setting(broker=item.name, address=item.address.address, key=name, value=value)
        for item in brokers
        for name, value in sorted(item.runtime.items())
        if not key or like_any(name, key)
    ]
    return answer(limited(setting_document(rows, "broker.counters/1"), output, limit), broker_gaps(brokers), output)
