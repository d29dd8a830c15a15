"""`mqctl local start`: start one broker of a local cluster again."""

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
from mqctl.text import sentence

EXAMPLES = ("mqctl local start broker-b", "mqctl local start broker-b --name test")


def command(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="Which broker; of a slave the name with -s.")],
    name: LocalNameOption = DEFAULT_NAME,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Start one broker of a local cluster again, on its store and its port; `mqctl local up` starts a cluster."""
    state = Supervisor(state_dir() / "local", say=note).start_broker(name, broker)
    emit(local_document([local_row(state)]), output)
    tell(sentence("local-running", "mqctl: {broker} is running", broker=broker))
