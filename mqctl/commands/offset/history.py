"""`mqctl offset history`: what was changed from here."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption

EXAMPLES = ("mqctl offset history", "mqctl offset history -g order-service -o json | jq '.changes[0].queues'")


def command(group: GroupOption = None, output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> int:
    """Show the changes of offsets made by this user on this machine, the latest first, with their old values in JSON.

    `interrupted` is one that was killed half-way: `mqctl offset undo` undoes it as any other. A record that cannot
    be read is named, and the exit code is 74; the others are shown.
    """
    from mqctl.operations.plans.changing import journal
    from mqctl.operations.plans.history import UnreadRecords
    from mqctl.render.offsets import history_document

    unread = UnreadRecords()
    records = [record for record in journal().offsets.all(unread) if not group or record.subject in group]
    emit(history_document(records, unread.reasons), output)
    return unread.exit_code
