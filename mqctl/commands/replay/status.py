"""`mqctl replay status`: how far replays are."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption

EXAMPLES = ("mqctl replay status", "mqctl replay status 20261121-101500-77aa", "mqctl replay status -o json")


def command(
    replay_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One replay, queue by queue.")] = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the replays started on this machine, or show how far one is; for a group's replay, whether its end is
    reached.

    The cluster is only asked for a single replay by a group. Ends with 0 when that has reached its end, with 1 when it
    has not.
    """
    from mqctl.changes.engine.run import journal
    from mqctl.commands.replay.progress import committed_by, report_of
    from mqctl.commands.replay.view import replay_document, replay_list_document

    book = journal().replays
    if replay_id is None:
        from mqctl.changes.engine.history import UnreadRecords

        unread = UnreadRecords()
        reports = [report_of(record) for record in book.all(unread)]
        emit(replay_list_document(reports, unread.reasons), output)
        return unread.exit_code
    record = book.read(replay_id)
    if record.group is None:
        emit(replay_document(report_of(record)), output)
        return 0
    from mqctl.cli.sources.brokers import asking_of

    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        report = report_of(record, committed_by(asking_of(cluster, target), record))
    emit(replay_document(report), output)
    return 0 if report.state == "reached" else 1
