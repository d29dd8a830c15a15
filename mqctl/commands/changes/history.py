"""`mqctl history`: what was changed from here."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl history",
    "mqctl history -o json | jq -r '.changes[] | select(.state != \"confirmed\") | .id'",
    "mqctl history -g order-service -o json | jq '.changes[0].queues'",
)


def command(group: GroupOption = None, output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> int:
    """Show every change made by this user on this machine, the latest first, and how to undo it.

    It covers offsets, topics, groups, brokers and resent dead letters; JSON has the old offset of each queue.
    `interrupted` means that a change was killed half-way. A record that cannot be read is named, and the exit code is
    74; the others are shown.
    """
    from mqctl.changes.engine.history import UnreadRecords, entries
    from mqctl.commands.changes.view import history_document

    unread = UnreadRecords()
    emit(history_document(entries(unread, group or ()), unread.reasons), output)
    return unread.exit_code
