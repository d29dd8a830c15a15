"""Receipt handles of popped messages, and the texts by which a pop's answer says what they are made of.

A handle ("extraInfo", property POP_CK) is eight parts between single spaces: the start offset of its checkpoint, pop
time, invisible time, revive queue, retry flag, broker, queue, queue offset; gRPC proxies add a ninth. Source:
`ExtraInfoUtil` of 5.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Self

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import RETRY_PREFIX, pop_retry_topic
from mqctl.model.numbers import decimal
from mqctl.text import sentence

ORDER_REVIVE_QUEUE = 999
"""Stands where the revive queue would: the message was popped in order and has no checkpoint."""
NORMAL, RETRY_V1, RETRY_V2 = "0", "1", "2"
"""Retry flags."""
_SEPARATOR = " "
_FIELD = "%d,"
_BROKER_PARTS, _ALL_PARTS = 6, 8
_UTIL = "org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil"


class ReceiptError(BadInputError):
    """A receipt handle that is none.

    Attributes:
        remark: what a 5.3.3 broker answers with code 1.
    """

    def __init__(self, text: str | None, remark: str) -> None:
        super().__init__(
            sentence("wire-receipt-handle", "A receipt handle cannot be read"),
            reason=sentence("wire-no-receipt", "{text!r} is none", text=text),
        )
        self.remark = remark


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One receipt handle; `queue_id` and `offset` are None in a short one, which brokers take too."""

    start_offset: int
    pop_ms: int
    invisible_ms: int
    revive_queue: int
    retry: str
    broker_name: str
    queue_id: int | None = None
    offset: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """Reads a handle. Raises ReceiptError."""
        if text is None:
            null = _thrown(
                "IllegalArgumentException", "split extraInfo is null", f"{_UTIL}.split(ExtraInfoUtil.java:35)"
            )
            raise ReceiptError(text, null)
        parts = text.split(_SEPARATOR)
        if len(parts) < _BROKER_PARTS:
            short = f"getBrokerName fail, extraInfoStrs length {len(parts)}"
            frame = f"{_UTIL}.getBrokerName(ExtraInfoUtil.java:102)"
            raise ReceiptError(text, _thrown("IllegalArgumentException", short, frame))
        revive, start, pop, invisible = [_number(text, parts[index]) for index in (3, 0, 1, 2)]
        place = [_number(text, part) for part in parts[6:8]] if len(parts) >= _ALL_PARTS else [None, None]
        return cls(
            start_offset=start,
            pop_ms=pop,
            invisible_ms=invisible,
            revive_queue=revive,
            retry=parts[4],
            broker_name=parts[5],
            queue_id=place[0],
            offset=place[1],
        )

    @property
    def ordered(self) -> bool:
        """Whether the message was popped in order."""
        return self.revive_queue == ORDER_REVIVE_QUEUE

    @property
    def due_ms(self) -> int:
        """When the message becomes visible again."""
        return self.pop_ms + self.invisible_ms

    def __str__(self) -> str:
        place = "" if self.offset is None else f" {self.queue_id} {self.offset}"
        head = f"{self.start_offset} {self.pop_ms} {self.invisible_ms} {self.revive_queue}"
        return f"{head} {self.retry} {self.broker_name}{place}"


def _number(text: str, part: str) -> int:
    digits = part[1:] if part[:1] in {"-", "+"} else part
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        return int(part)
    frame = "java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)"
    raise ReceiptError(text, _thrown("NumberFormatException", f'For input string: "{part}"', frame))


def _thrown(exception: str, message: str, frame: str) -> str:
    """Returns what a broker answers with where its Java throws."""
    return f"java.lang.{exception}: {message}, {frame}"


def retry_flag(topic: str, group: str) -> str:
    """Returns the flag of a topic that `group` pops from."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if topic.startswith(pop_retry_topic(group, "", v2=True)) else RETRY_V1


def real_topic(topic: str, group: str, retry: str) -> str:
    """Returns the topic in which a message of the popped `topic` lies, by its retry flag."""
    return topic if retry == NORMAL else pop_retry_topic(group, topic, v2=retry == RETRY_V2)


Place = tuple[str, int]
"""Retry flag and queue id."""


def start_offset_info(starts: Mapping[Place, int]) -> str:
    """Writes where each queue's part of a pop began."""
    return ";".join([f"{flag} {queue_id} {start}" for (flag, queue_id), start in starts.items()])


def msg_offset_info(offsets: Mapping[Place, Iterable[int]]) -> str:
    """Writes the queue offsets of the popped messages."""
    return ";".join([f"{flag} {queue_id} {numbers_text(own)}" for (flag, queue_id), own in offsets.items()])


def numbers_text(numbers: Iterable[int]) -> str:
    """Writes numbers with commas between them; twice as fast as joining their texts."""
    return _numbers_text(numbers if isinstance(numbers, tuple) else tuple(numbers))


@lru_cache(maxsize=256)
def _numbers_text(values: tuple[int, ...]) -> str:
    """A pop, its checkpoint and its acknowledgement write the same numbers."""
    return (_FIELD * len(values) % values)[:-1]


def read_start_offsets(text: str | None) -> dict[Place, int]:
    """Reads `start_offset_info`. Raises BadInputError."""
    return {place: _plain(value, value) for place, value in _entries(text)}


def read_msg_offsets(text: str | None) -> dict[Place, list[int]]:
    """Reads `msg_offset_info`. Raises BadInputError."""
    return {place: [_plain(value, part) for part in value.split(",")] for place, value in _entries(text)}


def read_order_counts(text: str | None) -> dict[tuple[int, int], int]:
    """Reads `orderCountInfo`: how often a message (queue id, queue offset) was delivered before. Raises BadInputError.

    The entry of a whole queue, which old clients read, is left out.
    """
    counts = {}
    for entry in (text or "").split(";"):
        words = entry.split(_SEPARATOR)
        if len(words) == 3 and words[1].startswith("qo"):
            queue_id, _, offset = words[1][2:].partition("%")
            counts[_plain(entry, queue_id), _plain(entry, offset)] = _plain(entry, words[2])
    return counts


def _entries(text: str | None) -> list[tuple[Place, str]]:
    entries = []
    for entry in (text or "").split(";"):
        words = entry.split(_SEPARATOR)
        if len(words) == 3 and all(part.isascii() and part.isdigit() for part in (words[1], *words[2].split(","))):
            entries.append(((words[0], _plain(entry, words[1])), words[2]))
        elif entry:
            raise _no_offsets(entry)
    return entries


def _plain(entry: str, part: str) -> int:
    number = decimal(part)
    if number is None:
        raise _no_offsets(entry)
    return number


def _no_offsets(entry: str) -> BadInputError:
    return BadInputError(
        sentence("response-pop-cannot-decoded", "the response to a pop cannot be decoded"),
        reason=sentence("protocol-names-no-offsets", "{entry!r} names no offsets", entry=entry[:60]),
    )
