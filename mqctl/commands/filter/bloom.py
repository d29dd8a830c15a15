"""`mqctl filter bloom`: the bit map behind SQL92 subscriptions."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.filter.view import BloomReport, bloom_document
from mqctl.errors import UsageError
from mqctl.filter.bloom import BloomShape, element
from mqctl.text import sentence

EXAMPLES = ("mqctl filter bloom --groups 32", "mqctl filter bloom --error 5 --expected 64 -g order-service -t orders")


def command(
    error: Annotated[int, typer.Option("--error", metavar="PERCENT", help="maxErrorRateOfBloomFilter.")] = 20,
    expected: Annotated[int, typer.Option("--expected", metavar="N", help="expectConsumerNumUseFilter.")] = 32,
    groups: Annotated[int, typer.Option("--groups", metavar="N", min=0, help="Groups that match a message.")] = 32,
    group: Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Show this group's bits.")] = None,
    topic: Annotated[str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Its topic.")] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show size and error rate of the bit map by which brokers pick messages for SQL92 subscriptions."""
    if (group is None) != (topic is None):
        raise UsageError(sentence("filter-group-topic-belong-together", "--group and --topic belong together"))
    try:
        shape = BloomShape.of(error, expected)
    except ValueError as wrong:
        raise UsageError(
            str(wrong), remedy=sentence("filter-use-least-consumer", "use 1 to 99 % and at least one consumer")
        ) from wrong
    misses = (1 - 1 / shape.bit_count) ** (shape.hash_count * groups)
    report = BloomReport(
        hash_count=shape.hash_count,
        bit_count=shape.bit_count,
        group_count=groups,
        false_hit_share=(1 - misses) ** shape.hash_count,
        positions=list(shape.positions(element(group, topic))) if group is not None and topic is not None else None,
    )
    emit(bloom_document(report), output)
