"""The filter options of commands that read a topic as a consumer would."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.errors import UsageError
from mqctl.text import sentence

TagsOption = Annotated[
    str | None, typer.Option("--tags", metavar="EXPRESSION", help="Only these tags, `a || b`; brokers filter.")
]
SqlOption = Annotated[
    str | None, typer.Option("--sql", metavar="CONDITION", help="Only what this SQL92 condition lets through.")
]


def chosen_filter(tags: str | None, sql: str | None) -> tuple[str, str]:
    """Returns the expression and its type.

    Raises:
        UsageError: both are given, or one that cannot be: brokers refuse it without saying where it is wrong.
    """
    if tags is not None and sql is not None:
        raise UsageError(
            sentence("message-tags-sql-cannot-combined", "--tags and --sql cannot be combined"),
            remedy=sentence("message-use", "use one of them"),
        )
    if sql is not None:
        if not sql.strip():
            raise UsageError(
                sentence("message-sql-no-condition", "--sql has no condition"),
                remedy=sentence("message-instance-sql-amount", 'for instance --sql "amount > 100"'),
            )
        _check(sql)
        return sql, "SQL92"
    from mqctl.filter.tags import parse_tags

    return parse_tags(tags).expression, "TAG"


def _check(sql: str) -> None:
    """Passes when brokers of one version line, at least, can read a condition. Raises UsageError."""
    from mqctl.filter.sql import SqlSyntaxError, compile_sql

    try:
        compile_sql(sql)
    except SqlSyntaxError:
        compile_sql(sql, is_v5=False)
