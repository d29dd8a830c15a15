"""`mqctl replay resume`: go on with a replay that stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
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
    """Show the rest of a replay that stopped in the middle; with --execute, publish it.

    Messages that were being sent are first looked up in the target by their keys; those found there are not sent again.
    """
    from mqctl.changes.engine.run import Consent, journal
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.commands.replay.publishing import resume_plan, run_publishing

    record = journal().replays.read(replay_id)
    if rate is not None:
        record.rate_per_s = rate
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        consent = Consent(execute=execute, confirmed=confirm)
        done = run_publishing(asking, consent, lambda: resume_plan(asking, record, execute=execute))
    emit(done.document, output)
    return done.code
