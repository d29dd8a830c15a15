"""`mqctl filter collisions`: tags that brokers cannot tell apart."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.filter.view import Collision, CollisionReport, collision_document
from mqctl.errors import ExitCode, UsageError
from mqctl.filter.tags import tag_code
from mqctl.text import sentence

EXAMPLES = ("mqctl filter collisions order_UP order_V1 paid", "sort -u tags.txt | mqctl filter collisions -")


def command(
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Tags; - reads them from standard input.")],
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Find tags that share a hash: brokers filter by hash, so subscribers of one are sent the other and drop it."""
    given = [line.strip() for line in sys.stdin] if tags == ["-"] else tags
    distinct = sorted({tag for tag in given if tag})
    if not distinct:
        raise UsageError(
            sentence("filter-no-tags-compare", "there are no tags to compare"),
            remedy=sentence("filter-name-some-line-standard", "name some, or - and one a line on standard input"),
        )
    by_code: dict[int, list[str]] = {}
    for tag in distinct:
        by_code.setdefault(tag_code(tag), []).append(tag)
    collisions = [
        Collision(code=code, tags=", ".join(names)) for code, names in sorted(by_code.items()) if len(names) > 1
    ]
    emit(collision_document(CollisionReport(tag_count=len(distinct), collisions=collisions)), output)
    return ExitCode.WARNING if collisions else ExitCode.OK
