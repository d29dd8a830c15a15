"""`mqctl local status`: the local clusters of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.places import state_dir
from mqctl.commands.local.gather import local_row
from mqctl.commands.local.view import local_document
from mqctl.errors import ExitCode, NotFoundError
from mqctl.local.state import LocalStates
from mqctl.model.command_line import command_line
from mqctl.text import joined, sentence

EXAMPLES = ("mqctl local status", "mqctl local status --name test -o json", "mqctl local status && echo all run")


def command(
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only this one. Default: all.")] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the local clusters of this machine and their brokers.

    Ends with 2 when a cluster has died without being stopped, with 1 when a broker of one is down.
    """
    known = LocalStates(state_dir() / "local")
    if name is None:
        clusters = list(known.all())
    else:
        one = known.load(name)
        if one is None:
            raise NotFoundError(
                sentence("no-local-cluster", "there is no local cluster {name}", name=name),
                remedy=joined("; ", map(command_line, ("mqctl local up", "mqctl local status"))),
            )
        clusters = [one]
    rows = [local_row(state) for state in clusters]
    emit(local_document(rows), output)
    states = {row.state for row in rows}
    return ExitCode.ERROR if "dead" in states else ExitCode.WARNING if "degraded" in states else ExitCode.OK
