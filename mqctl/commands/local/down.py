"""`mqctl local down`: stop a local cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import note, tell
from mqctl.cli.options.common import LocalNameOption
from mqctl.cli.places import state_dir
from mqctl.errors import ExitCode
from mqctl.local.state import DEFAULT_NAME
from mqctl.local.supervisor import Supervisor
from mqctl.text import sentence

EXAMPLES = ("mqctl local down", "mqctl local down --name test --purge", "mqctl local down --all")


def command(
    name: LocalNameOption = DEFAULT_NAME,
    everything: Annotated[bool, typer.Option("--all", help="Stop every local cluster.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its stores as well.")] = False,
) -> int:
    """Stop a local cluster: its stores are flushed and kept, unless they are thrown away."""
    supervisor = Supervisor(state_dir() / "local", say=note)
    names = [state.name for state in supervisor.states.all()] if everything else [name]
    for each in names:
        state = supervisor.down(each, purge=purge)
        tell(
            sentence(
                "local-cluster-pid-down",
                "mqctl: local cluster {each} (pid {pid}) is down",
                each=each,
                pid=state.ready.pid,
            )
        )
    return ExitCode.OK
