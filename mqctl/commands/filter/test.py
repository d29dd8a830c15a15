"""`mqctl filter test`: would a broker deliver a message with these properties."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.filter.view import FilterVerdict, verdict_document
from mqctl.errors import ExitCode, UsageError
from mqctl.filter.sql import EvaluationError, compile_sql
from mqctl.filter.tags import parse_tags
from mqctl.text import Word, sentence

EXAMPLES = (
    "mqctl filter test \"price > 5 AND region = 'eu'\" --prop price=7 --prop region=eu",
    "mqctl filter test --tags 'paid || refunded' --prop TAGS=paid",
)
_VERDICTS = {
    True: sentence("filter-delivered", "delivered"),
    False: sentence("not-delivered", "not delivered"),
    None: Word("unknown"),
}


def command(
    expression: Annotated[str | None, typer.Argument(metavar="[SQL92]", help="A condition in SQL92.")] = None,
    tags: Annotated[str | None, typer.Option("--tags", metavar="EXPRESSION", help="Instead: tags, `a || b`.")] = None,
    prop: Annotated[
        list[str] | None, typer.Option("--prop", metavar="NAME=VALUE", help="A property of the message; repeatable.")
    ] = None,
    release: Annotated[
        str, typer.Option("--release", metavar="RELEASE", help="Release of the broker: 4.9 or 5.x.")
    ] = "5.x",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show whether a broker would deliver a message with these properties. Ends with 0 when it does, 1 when it does
    not.
    """
    if (expression is None) == (tags is None):
        raise UsageError(
            sentence("name-filter", "name one filter"),
            remedy=sentence("filter-give-sql-condition-tags", "give an SQL92 condition, or --tags"),
        )
    properties: dict[str, str] = {}
    for item in prop or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(
                sentence("filter-cannot-read-prop", "cannot read --prop {item!r}", item=item),
                remedy=sentence("write-name-value", "write NAME=VALUE"),
            )
        properties[name] = value
    reason: str | None = None
    if tags is not None:
        verdict = _VERDICTS[parse_tags(tags).wants(properties.get("TAGS"))]
    else:
        compiled = compile_sql(expression or "", is_v5=not release.startswith("4"))
        try:
            verdict = _VERDICTS[compiled.evaluate(properties)]
        except EvaluationError as error:
            verdict, reason = "throws", str(error)
        if compiled.ignored and reason is None:
            reason = sentence(
                "filter-brokers-ignore-everything",
                "brokers ignore everything from {ignored!r} on",
                ignored=compiled.ignored,
            )
    shown = FilterVerdict(
        expression=tags if tags is not None else expression or "",
        expression_type="TAG" if tags is not None else "SQL92",
        properties=properties,
        verdict=verdict,
        reason=reason,
    )
    emit(verdict_document(shown), output)
    return ExitCode.OK if verdict == "delivered" else ExitCode.WARNING
