"""`mqctl broker describe`: the state of one broker."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, open_brokers, tell_broker_gaps
from mqctl.cli.options import NoColorOption, OutputOption
from mqctl.render.brokers import description_document
from mqctl.snapshot.live_brokers import ask_runtime

EXAMPLES = ("mqctl broker describe broker-a", "mqctl broker describe 10.0.0.1:10911 -o json | jq .raw")


def command(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="Name (its master is asked) or address.")],
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the state of one broker: rates, waits, disk, commit log. JSON has every value the broker told."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        found = open_brokers(asking, [broker])[:1]
        ask_runtime(asking, found)
    (asked,) = found
    emit(description_document(asked), output)
    return tell_broker_gaps(found)
