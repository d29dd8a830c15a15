"""`mqctl undo`: take a change back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl undo 20261121-091500-3fa2",
    "mqctl undo 20261121-091500-3fa2 --execute --confirm orders",
)


def command(
    change_id: Annotated[str, typer.Argument(metavar="ID", help="A change of `mqctl history`.")],
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan the way back from a change of topics, groups, brokers or offsets; with --execute, go it.

    Interrupted changes too. What is there now is asked anew. What a change created is deleted only while nobody uses
    it. Offsets go back as with mqctl offset undo; messages that were sent stay sent.
    """
    from mqctl.operations.settings.change import journal, run
    from mqctl.operations.settings.undo import plan_undo

    if not journal().has(change_id):
        from mqctl.commands.offset import undo as of_offsets

        return of_offsets.command(
            change_id,
            execute=execute,
            confirm=confirm,
            namesrv=namesrv,
            profile=profile,
            timeout=timeout,
            output=output,
            no_color=no_color,
        )
    record = journal().read(change_id)
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        document, code = run(
            cluster, chosen, lambda asking: plan_undo(asking, record), execute=execute, confirmed=confirm
        )
    emit(document, output)
    return code
