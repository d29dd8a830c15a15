"""`mqctl ha compare`: the logs and tables of two store directories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.terminal.progress import step_progress
from mqctl.commands.ha.compare_stores import compare_stores
from mqctl.commands.ha.compare_view import comparison_document
from mqctl.errors import ExitCode, UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl ha compare --store /backup/master --store /backup/slave",
    "mqctl ha compare --store /backup/master --store /backup/slave -o json | jq .first_difference",
)


def command(
    stores: Annotated[
        list[Path], typer.Option("--store", metavar="DIR", help="Root of a store; give two, the master's first.")
    ],
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Compare two store directories: where their commit logs and tables differ.

    Logs are compared byte by byte over what both have, half records behind their ends included. Names the first record
    that differs, what only one has by queue, what consumers would read again or miss, and where the epochs of a
    controller would cut a slave. Ends with 0 when logs and tables are equal, 1 when one has less, a table differs or
    epochs do not fit, 2 when the logs differ, 3 when not all could be compared.
    """
    if len(stores) != 2:
        raise UsageError(
            sentence("ha-stores-cannot-compared", "{stores} stores cannot be compared", stores=len(stores)),
            remedy=sentence("ha-give-two-store-master", "give two: --store MASTER --store SLAVE"),
        )
    with step_progress() as progress:
        comparison = compare_stores(stores[0], stores[1], progress)
    emit(comparison_document(comparison), output)
    return comparison.exit_code()
