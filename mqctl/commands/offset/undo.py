"""`mqctl offset undo`: take a change back."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmOption, ExecuteOption, NoColorOption, OutputOption, SettleOption

EXAMPLES = (
    "mqctl offset undo 20261121-091500-3fa2",
    "mqctl offset undo 20261121-091500-3fa2 --execute --confirm order-service",
)


def command(
    change_id: Annotated[str, typer.Argument(metavar="ID", help="A change of `mqctl offset history`.")],
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    settle: SettleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to restore the offsets before a change, even an interrupted one; --execute does it.

    With members online it uses the request that the change used; where brokers only take a time, queues may restart a
    little before where they stood, never behind it, and the plan says by how much. What was consumed since stays
    consumed. A queue that had no offset keeps the one it got, as brokers have no request to forget a single one, and
    queues that the change never reached are left alone; both are named. An offset whose messages are deleted by now
    becomes the queue's minimum.
    """
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.operations.offsets.change import consent_of, run_offset_change
    from mqctl.operations.offsets.requests import undo_request
    from mqctl.operations.plans.changing import journal

    request = undo_request(journal().offsets.read(change_id))
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        done = run_offset_change(asking_of(cluster, target), request, consent_of(confirm, settle, execute=execute))
    emit(done.document, output)
    return done.code
