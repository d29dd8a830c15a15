"""`mqctl drill check`: judge the history of a drill."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.language import spoken
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.cli.terminal.progress import step_progress
from mqctl.drill.checker import Checker
from mqctl.errors import ExitCode
from mqctl.render.checks import CheckFormat
from mqctl.render.drill import verdict_document, verdict_exit, verdict_formatted

EXAMPLES = (
    "mqctl drill check drill.history",
    "mqctl drill check drill.history -o json | jq '.breaches[] | select(.allowed_by == null)'",
    "mqctl drill check drill.history --as junit > drill.xml",
)
FormatOption = Annotated[
    CheckFormat | None, typer.Option("--as", help="Format of a CI or monitoring system.", show_choices=True)
]
ExcerptsOption = Annotated[
    int, typer.Option("--excerpts", min=1, max=1000, help="Of how many breaches of each promise to show the evidence.")
]


def command(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="The file that a drill wrote.")],
    form: FormatOption = None,
    excerpts: ExcerptsOption = 3,
    output: OutputOption = Output.TABLE,
    lang: LangOption = None,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Judge the history of a drill: lost, repeated, out of order, late; with the lines that show it.

    A history that was interrupted is judged as far as it goes. Ends with 0 when every promise was kept, 2 when one was
    broken and no event explains it, 3 when the history ends before all could be judged.
    """
    with step_progress() as progress:
        verdict = Checker(history, excerpts, progress).judge()
    if form is not None:
        sys.stdout.write(verdict_formatted(verdict, form))
    else:
        emit(verdict_document(verdict, spoken()), output)
    return verdict_exit(verdict)
