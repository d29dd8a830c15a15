"""`mqctl local stop`: stop one broker of a local cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit, note, tell
from mqctl.cli.options.common import LocalNameOption, NoColorOption, OutputOption
from mqctl.cli.places import state_dir
from mqctl.commands.local.gather import local_row
from mqctl.commands.local.view import local_document
from mqctl.local.state import DEFAULT_NAME
from mqctl.local.supervisor import Supervisor
from mqctl.model.command_line import command_line
from mqctl.text import sentence

EXAMPLES = ("mqctl local stop broker-b", "mqctl local stop broker-b --kill", "mqctl local stop broker-b --name test")


def command(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="Which broker; of a slave the name with -s.")],
    kill: Annotated[bool, typer.Option("--kill", help="End it as kill -9 does: nothing is flushed.")] = False,
    name: LocalNameOption = DEFAULT_NAME,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Stop one broker of a local cluster; the others and the name server keep running.

    `mqctl local start BROKER` starts it again with its store and its port; `mqctl local down` stops the cluster.
    """
    state = Supervisor(state_dir() / "local", say=note).stop_broker(name, broker, kill=kill)
    emit(local_document([local_row(state)]), output)
    named = [] if name == DEFAULT_NAME else ["--name", name]
    tell(
        sentence(
            "local-down-start-again",
            "mqctl: {broker} is down; start it again with: {value}",
            broker=broker,
            value=command_line("mqctl local start {} {}", broker, named),
        )
    )
