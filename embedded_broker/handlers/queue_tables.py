"""Answers that list queues: made in slices, and bounded, for topics may have 65,536 queues each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from embedded_broker.remoting.handler_table import Call
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import Steps
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import ResponseCode

T = TypeVar("T")

MOST_LISTED = 65_536
"""Queues in one answer: more would not fit a frame."""
_PORTION = 64
EMPTY_TABLE = b'"offsetTable":{}'
Portions = Generator[None, None, bytes]


def check_listed(count: int, name: str) -> None:
    """Raises Refusal when an answer would list more queues than it can."""
    if count > MOST_LISTED:
        remark = f"{name}: {count} queues, at most {MOST_LISTED} are listed in one answer"
        raise Refusal(ResponseCode.SYSTEM_ERROR, remark)


def listed_in_slices(
    call: Call, items: Iterable[tuple[MessageQueue, T]], encode: Callable[[Mapping[MessageQueue, T]], bytes]
) -> Steps:
    """Returns the steps that make an answer whose body has a table of queues, `offsetTable`.

    Args:
        encode: makes the body of a table.
    """
    return call.answer(body=(yield from in_portions(items, lambda portion: encode(dict(portion)), EMPTY_TABLE)))


def in_portions(items: Iterable[T], encode: Callable[[Sequence[T]], bytes], empty: bytes) -> Portions:
    """Makes a body portion by portion, pausing after each: what `encode` would make of all items at once.

    Args:
        empty: how the list or table is written in a body without items.
    """
    start, end = encode(()).split(empty, 1)
    start, end = start + empty[:-1], empty[-1:] + end
    rest = iter(items)
    parts: list[bytes] = []
    while portion := tuple(islice(rest, _PORTION)):
        parts.append(encode(portion)[len(start) : -len(end)])
        yield
    return b"".join((start, b",".join(parts), end))
