"""`mqctl undo`: take a change back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
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
    """Plan the way back from a change of topics, groups, brokers or offsets; --execute reverts it.

    Interrupted changes too. What is there now is asked anew. What a change created is deleted only while nobody uses
    it. Offsets go back as with mqctl offset undo; messages that were sent stay sent.
    """
    from mqctl.operations.plans.changing import Consent
    from mqctl.operations.plans.undo import take_back

    consent = Consent(execute=execute, confirmed=confirm)
    document, code = take_back(change_id, lambda: cluster_target(namesrv, profile, timeout), consent)
    emit(document, output)
    return code
