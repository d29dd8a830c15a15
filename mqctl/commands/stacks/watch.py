"""`mqctl stacks watch`: what consume threads do, again and again."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.options.stacks import ClientOption, NativeOption, NonblockingOption, PidOption, StackGroupOption
from mqctl.cli.times import parse_span_ms
from mqctl.commands.stacks.gather import StackRequest
from mqctl.commands.stacks.rounds import WatchPace, watch_stacks

EXAMPLES = (
    "mqctl stacks watch -g order-service",
    "mqctl stacks watch --pid 4711 --every 2s --nonblocking",
    "mqctl stacks watch -g order-service --every 10s --count 6 -o ndjson",
)


def command(
    pid: PidOption = None,
    client: ClientOption = None,
    group: StackGroupOption = None,
    every: Annotated[str, typer.Option("--every", metavar="SPAN", help="How often to look.")] = "5s",
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="End after so many rounds, for scripts.")
    ] = None,
    native: NativeOption = False,
    nonblocking: NonblockingOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what consume threads do, again and again, and for how long already; ends with Ctrl-C (130) or --count.

    If the process ends, so does the command, with 66; instances that come and go are followed.
    """
    request = StackRequest(
        pid=pid,
        client_id=client,
        group=group,
        native=native,
        nonblocking=nonblocking,
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
    )
    return watch_stacks(request, WatchPace(every_ms=parse_span_ms(every), count=count), output)
