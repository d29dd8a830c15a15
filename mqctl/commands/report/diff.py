"""`mqctl report diff`: what changed between two saved runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.report.runs_view import diff_document
from mqctl.errors import ExitCode

EXAMPLES = (
    "mqctl report diff monday.parquet tuesday.parquet",
    "mqctl report diff a.parquet b.parquet --only backlog -o csv",
)


def command(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A file of `mqctl report run --save`.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="A later one.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="REPORT", help="Only this report; may be repeated.")
    ] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show which figures differ between two saved runs.

    Rows over time (buckets, periods, windows) are left out: other runs have other times. Needs the spark extra, for
    Parquet, but neither Spark nor Java.
    """
    from mqctl.spark.session.open import require_spark

    require_spark()
    from mqctl.spark.runs import load_run, run_changes

    changes = run_changes(load_run(before), load_run(after))
    shown = [change for change in changes if not only or change.report in only]
    emit(diff_document(str(before), str(after), shown), output)
    return ExitCode.OK
