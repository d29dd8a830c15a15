"""`mqctl snapshot show`: what a snapshot holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.render.description import description_document
from mqctl.snapshot.archive import load_snapshot

EXAMPLES = ("mqctl snapshot show ticket-4711.snap", "mqctl snapshot show ticket-4711.snap -o json")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `mqctl snapshot save`.")],
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show what a snapshot holds: source, files, topics, groups, and what could not be read."""
    schema, folded = "snapshot.show/1", limit is None
    document = description_document(load_snapshot(file), schema=schema, folded=folded)
    emit(limited(document, output, limit), output)
