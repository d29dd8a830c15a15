"""`mqctl undo`: take a change back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption, SettleOption
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl undo 20261121-091500-3fa2",
    "mqctl undo 20261121-091500-3fa2 --execute --confirm orders",
    "mqctl undo --last",
)


def command(
    change_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A change of `mqctl history`.")] = None,
    last: Annotated[
        bool, typer.Option("--last", help="The newest change that can be undone; an undo does not count. It is named.")
    ] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    settle: SettleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to undo a change of topics, groups, brokers or offsets; --execute does it.

    Works for interrupted changes too; the present state is read again first. Objects that the change created are only
    deleted while they are unused. Messages that were sent stay sent.

    Offsets with members online go back by the request that the change used. If brokers only take a time, queues may
    restart slightly before their old offset, never after it, and the plan says by how much. Messages consumed since
    then stay consumed. A queue that had no offset keeps its new one, as brokers have no request to remove a single
    offset; queues that the change never reached are left alone. Both are named. An offset whose messages are deleted by
    now becomes the queue's minimum.
    """
    from mqctl.changes.offsets.change import consent_of
    from mqctl.commands.changes.undoing import newest_change, take_back

    if last == (change_id is not None):
        raise UsageError(
            sentence("undo-id-last-cannot-combined", "an ID and --last cannot be combined")
            if last
            else sentence("undo-no-change-named", "no change is named"),
            remedy=sentence(
                "give-undo-id",
                "give one of them: mqctl undo ID, or mqctl undo --last; mqctl history lists the changes",
            ),
        )
    consent = consent_of(confirm, settle, execute=execute)
    document, code = take_back(change_id or newest_change(), lambda: cluster_target(namesrv, profile, timeout), consent)
    emit(document, output)
    return code
