"""`mqctl broker describe`: the state of one broker."""

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
from mqctl.render.brokers import description_document
from mqctl.snapshot.live.brokers import ask_runtime

EXAMPLES = ("mqctl broker describe broker-a", "mqctl broker describe 10.0.0.1:10911 -o json | jq .raw")


def command(
    broker: Annotated[
        str, typer.Argument(metavar="BROKER", help="Name (its master is asked) or address, registered or not.")
    ],
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the state of one broker: rates, waits, disk, commit log. JSON has every value the broker reported."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = look.brokers({Part.RUNTIME}, [broker], anywhere=True)[:1]
        look.ask(ask_runtime, brokers)
    (named,) = brokers
    return answer(description_document(named), broker_gaps(brokers), output)
