"""`mqctl history`: what was changed from here."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options import NoColorOption, OutputOption

EXAMPLES = ("mqctl history", "mqctl history -o json | jq -r '.changes[] | select(.state != \"confirmed\") | .id'")


def command(output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> None:
    """Show every change made by this user on this machine, the latest first, and how to take it back.

    Offsets, topics, groups, brokers and resent dead letters. `interrupted` is one that was killed half-way.
    """
    from mqctl.cli.all_changes import entries
    from mqctl.render.settings import history_document

    emit(history_document(entries()), output)
