"""`mqctl filter lint`: what is odd about a filter."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.filter.view import BloomReport, Collision, LintReport, Remark, lint_document
from mqctl.errors import ExitCode, UsageError
from mqctl.filter.bloom import BloomShape, element
from mqctl.filter.lint import lint
from mqctl.filter.sql import compile_sql
from mqctl.filter.tags import tag_code
from mqctl.text import sentence

EXAMPLES = (
    "mqctl filter lint \"a LIKE 'x%'\"",
    'mqctl filter lint "NOT price = 5" -o json',
    "mqctl filter lint --collisions order_UP order_V1 paid",
    "sort -u tags.txt | mqctl filter lint --collisions -",
    "mqctl filter lint --bloom --error 5 --expected 64 -g order-service -t orders",
)


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SQL92|TAG...]", help="A condition in SQL92; tags, where - reads them from stdin."),
    ] = None,
    collisions: Annotated[bool, typer.Option("--collisions", help="Find tags that share a hash.")] = False,
    bloom: Annotated[bool, typer.Option("--bloom", help="Show the bit map behind SQL92 subscriptions.")] = False,
    release: Annotated[
        str, typer.Option("--release", metavar="RELEASE", help="Release of the broker: 4.9 or 5.x.")
    ] = "5.x",
    error: Annotated[int, typer.Option("--error", metavar="PERCENT", help="maxErrorRateOfBloomFilter.")] = 20,
    expected: Annotated[int, typer.Option("--expected", metavar="N", help="expectConsumerNumUseFilter.")] = 32,
    groups: Annotated[int, typer.Option("--groups", metavar="N", min=0, help="Groups that match a message.")] = 32,
    group: Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Show this group's bits.")] = None,
    topic: Annotated[str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Its topic.")] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Find mistakes in an expression that brokers accept. Ends with 1 when it does not do what it seems to.

    --collisions finds tags that share a hash, and ends with 1 then: brokers filter by hash, so subscribers of one are
    sent the other and drop it. --bloom shows size and error rate of the bit map by which brokers pick messages for
    SQL92 subscriptions.
    """
    given = words or []
    bits = _bloom(error, expected, groups, group, topic) if bloom else None
    if collisions:
        report = _collisions([line.strip() for line in sys.stdin] if given == ["-"] else given, bits)
    elif len(given) == 1:
        remarks = lint(compile_sql(given[0], is_v5=not release.startswith("4")))
        rows = [Remark(severity="warning" if remark.grave else "info", what=remark.text) for remark in remarks]
        report = LintReport(expression=given[0], remarks=rows, bloom=bits)
    elif given or not bloom:
        raise UsageError(
            sentence("name-filter", "name one filter"),
            remedy=sentence("filter-lint-one", "give an SQL92 condition, --collisions with tags, or --bloom"),
        )
    else:
        report = LintReport(bloom=bits)
    emit(lint_document(report), output)
    warns = report.collisions or any(row.severity == "warning" for row in report.remarks)
    return ExitCode.WARNING if warns else ExitCode.OK


def _collisions(tags: list[str], bits: BloomReport | None) -> LintReport:
    distinct = sorted({tag for tag in tags if tag})
    if not distinct:
        raise UsageError(
            sentence("filter-no-tags-compare", "there are no tags to compare"),
            remedy=sentence("filter-name-some-line-standard", "name some, or - and one a line on standard input"),
        )
    by_code: dict[int, list[str]] = {}
    for tag in distinct:
        by_code.setdefault(tag_code(tag), []).append(tag)
    shared = [(code, tags) for code, tags in sorted(by_code.items()) if len(tags) > 1]
    colliding = [Collision(code=code, tags=names) for code, names in shared]
    return LintReport(tag_count=len(distinct), collisions=colliding, bloom=bits)


def _bloom(error: int, expected: int, groups: int, group: str | None, topic: str | None) -> BloomReport:
    if (group is None) != (topic is None):
        raise UsageError(sentence("filter-group-topic-belong-together", "--group and --topic belong together"))
    try:
        shape = BloomShape.of(error, expected)
    except ValueError as wrong:
        raise UsageError(
            str(wrong), remedy=sentence("filter-use-least-consumer", "use 1 to 99 % and at least one consumer")
        ) from wrong
    misses = (1 - 1 / shape.bit_count) ** (shape.hash_count * groups)
    return BloomReport(
        hash_count=shape.hash_count,
        bit_count=shape.bit_count,
        group_count=groups,
        false_hit_share=(1 - misses) ** shape.hash_count,
        positions=list(shape.positions(element(group, topic))) if group is not None and topic is not None else None,
    )
