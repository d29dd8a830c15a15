"""`mqctl store verify`: every record, queue entry and index entry of a store."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption, StoreOption
from mqctl.cli.terminal.progress import step_progress
from mqctl.errors import ExitCode
from mqctl.render.verification import UnreadPart, verification_document, verification_exit
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify

EXAMPLES = (
    "mqctl store verify --store /backup/store",
    "mqctl store verify --store /backup/store -o json | jq '.deviations[] | select(.grade == \"damage\")'",
)


def command(store: StoreOption, output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> ExitCode:
    """Verify every record, queue entry and index entry of a store directory.

    Ends with 0 when all is as it should be, 1 for the usual traces of a crash (recovery repairs them), 2 for damage, 3
    when a part could not be read: it is kept in a format that is not read offline, or the operating system refused.
    What is unusual but legal does not count.
    """
    directory = StoreDirectory.open(store)
    with step_progress() as progress:
        report = verify(directory, progress=progress)
    unread = [UnreadPart(part=gap.part, reason=gap.reason) for gap in (*directory.unreadable, *report.unread)]
    emit(verification_document(str(store), report.summary(), report.damages, unread), output)
    return verification_exit(report.damages, unread)
