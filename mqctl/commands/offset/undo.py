"""`mqctl offset undo`: take a change back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.options import ConfirmOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl offset undo 20261121-091500-3fa2",
    "mqctl offset undo 20261121-091500-3fa2 --execute --confirm order-service",
)


def command(
    change_id: Annotated[str, typer.Argument(metavar="ID", help="A change of `mqctl offset history`.")],
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan the way back to the offsets before a change, interrupted ones too; with --execute, go it.

    What was consumed since stays consumed. A queue that had no offset keeps the one it got: brokers have no request to
    forget a single one. An offset whose messages are deleted by now becomes the queue's minimum.
    """
    from mqctl.cli.live_brokers import asking_of
    from mqctl.cli.live_offsets import journal, run, undo_wish

    record = journal().read(change_id)
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        document, code = run(asking, undo_wish(asking, record), execute=execute, confirmed=confirm)
    emit(document, output)
    return code
