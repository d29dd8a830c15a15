"""`mqctl replay resume`: go on with a replay that stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OutputOption
from mqctl.cli.options.replay import ConfirmTopicOption

EXAMPLES = (
    "mqctl replay resume 20261121-101500-77aa",
    "mqctl replay resume 20261121-101500-77aa --execute --confirm orders-again",
)


def command(
    replay_id: Annotated[str, typer.Argument(metavar="ID", help="A replay of `mqctl replay status`.")],
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="COUNT", min=0.01, help="Another rate than before.")
    ] = None,
    execute: ExecuteOption = False,
    confirm: ConfirmTopicOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what is left of a replay that stopped in the middle; with --execute, publish it.

    Messages that were being sent are looked up in the target by their keys first: what is there is not sent again.
    """
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.operations.replay.publish import carry_publish_out, replays, resumed

    record = replays().read(replay_id)
    if rate is not None:
        record.rate_per_s = rate
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        shown = resumed(asking_of(cluster, chosen), record, execute=execute)
        if not execute:
            emit(shown, output)
            return 0
        done = carry_publish_out(asking_of(cluster, chosen), record, shown, confirm)
    emit(done.document, output)
    return done.code
