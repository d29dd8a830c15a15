"""`mqctl filter lint`: what is odd about an SQL92 expression."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.filter.view import LintReport, Remark, lint_document
from mqctl.errors import ExitCode
from mqctl.filter.lint import lint
from mqctl.filter.sql import compile_sql

EXAMPLES = ("mqctl filter lint \"a LIKE 'x%'\"", 'mqctl filter lint "NOT price = 5" -o json')


def command(
    expression: Annotated[str, typer.Argument(metavar="SQL92", help="A condition in SQL92.")],
    release: Annotated[str, typer.Option("--release", metavar="RELEASE", help="Of the broker: 4.9 or 5.x.")] = "5.x",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Find mistakes in an expression that brokers accept. Ends with 1 when it does not do what it seems to."""
    remarks = lint(compile_sql(expression, is_v5=not release.startswith("4")))
    rows = [Remark(severity="warning" if remark.grave else "info", what=remark.text) for remark in remarks]
    emit(lint_document(LintReport(expression=expression, remarks=rows)), output)
    return ExitCode.WARNING if any(remark.grave for remark in remarks) else ExitCode.OK
