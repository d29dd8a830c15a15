"""`mqctl message recall`: take timer messages back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl message recall djEgb3JkZXJzIGJyb2tlci1hIDE3OTUyMTgwMDEwMDAgSzE=",
    'mqctl message recall "$HANDLE" --execute --confirm orders',
)


def command(
    handles: Annotated[
        list[str], typer.Argument(metavar="HANDLE...", help="The recallHandle that a send answered; all of one topic.")
    ],
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to cancel timer messages while they wait; with --execute, do it. The name to confirm is the topic's.

    Brokers of 5.3.2 and newer can do this if recallMessageEnable is set, for messages with a delivery time, not for
    delay levels. This cannot be undone; to deliver the message after all, send it again.
    """
    from mqctl.commands.message.recall_plan import recall

    document, code = recall(
        tuple(handles), cluster_target(namesrv, profile, timeout), execute=execute, confirmed=confirm
    )
    emit(document, output)
    return code
