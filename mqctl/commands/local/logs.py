"""`mqctl local logs`: what a local cluster said."""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep
from typing import Annotated

import typer

from mqctl.cli.options.common import LocalNameOption
from mqctl.cli.places import state_dir
from mqctl.errors import NotFoundError
from mqctl.local.state import DEFAULT_NAME, LocalStates
from mqctl.model.command_line import command_line
from mqctl.render.text import printable_lines
from mqctl.text import sentence

EXAMPLES = ("mqctl local logs", "mqctl local logs --follow", "mqctl local logs --name test -n 200")
_POLL_SECONDS = 0.2


def command(
    name: LocalNameOption = DEFAULT_NAME,
    lines: Annotated[int, typer.Option("-n", "--lines", metavar="N", min=0, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the cluster ends or Ctrl-C.")] = False,
) -> None:
    """Print what a local cluster logged: warnings and errors, one line each."""
    states = LocalStates(state_dir() / "local")
    state = states.load(name)
    log = Path(state.log) if state else states.directory / f"{name}.log"
    if not log.exists():
        raise NotFoundError(
            sentence("no-log-local-cluster", "there is no log of a local cluster {name}", name=name),
            remedy=command_line("mqctl local status"),
        )
    with log.open(encoding="utf-8", errors="replace") as stream:
        shown = stream.readlines()
        sys.stdout.write(printable_lines("".join(shown[-lines:] if lines else [])))
        sys.stdout.flush()
        while follow and state is not None:
            alive = state.alive
            more = stream.read()
            if more:
                sys.stdout.write(printable_lines(more))
                sys.stdout.flush()
            elif not alive:
                return
            else:
                sleep(_POLL_SECONDS)
