"""The option that says how many rows of a long answer are wanted."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output
from mqctl.errors import UsageError
from mqctl.model.numbers import decimal
from mqctl.render.document import Document
from mqctl.text import sentence

ALL = "all"


def _checked(text: str | None) -> str | None:
    if text is None or text == ALL or decimal(text, 1) is not None:
        return text
    raise UsageError(
        sentence("cli-limit-not-number-rows", "--limit {text} is not a number of rows", text=text),
        remedy=sentence("cli-use-number", "use a number from 1 on, or {all}", all=ALL),
    )


GroupLimitOption = Annotated[
    str | None,
    typer.Option(
        "--limit",
        metavar="N|all",
        callback=_checked,
        help="Most groups with metrics: those with members, then those furthest behind. Default: 500.",
    ),
]
LimitOption = Annotated[
    str | None,
    typer.Option(
        "--limit",
        metavar="N|all",
        callback=_checked,
        help="Most rows of each list. Default: 50 in tables, fewer where several share two screens; all in formats for "
        "machines.",
    ),
]


def most_of(limit: str | None, usual: int) -> int | None:
    """Returns the number that was asked for, `usual` without one; None for all."""
    return None if limit == ALL else usual if limit is None else decimal(limit)


def limited(document: Document, output: Output, limit: str | None) -> Document:
    """Returns the document with so many rows as `limit` says, or as are usual for `output`."""
    people = output in (Output.TABLE, Output.WIDE)
    if limit == ALL or (limit is None and not people):
        return document
    from mqctl.render.cut import cut_tables, cut_value, rows_that_fit

    rows = rows_that_fit(document) if limit is None else decimal(limit) or 0
    return cut_tables(document, rows) if people else cut_value(document, rows)
