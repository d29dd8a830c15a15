"""What mqadmin prints, taken apart: fixed-width tables, properties, messages. Times are UTC, as recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_MESSAGE = re.compile(
    r"MSGID: (?P<id>\w+) MessageExt \[brokerName=(?P<broker>[^,]+), queueId=(?P<queue>\d+), storeSize=(?P<size>\d+), "
    r"queueOffset=(?P<offset>\d+), .*?storeTimestamp=(?P<stored>\d+), .*?commitLogOffset=(?P<physical>\d+), "
)


def rows(text: str, heading: str) -> list[list[str]]:
    """Returns the words of each line below the line that begins with `heading`, to the next empty line."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(heading))
    table: list[list[str]] = []
    for line in lines[first + 1 :]:
        if not line.strip():
            break
        table.append(line.split())
    return table


def properties(text: str, separator: str) -> dict[str, str]:
    """Returns `name separator value` lines."""
    pairs = (line.partition(separator) for line in text.splitlines() if separator in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def time_ms(text: str) -> int:
    """Reads `2026-11-20 23:28:11,778` (the milliseconds may be absent)."""
    whole, _, fraction = text.partition(",")
    instant = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(instant.timestamp()) * 1000 + int(fraction or 0)


@dataclass(frozen=True, slots=True)
class PrintedMessage:
    """One message of `printMsg` and its kin."""

    unique_id: str
    broker: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    size_bytes: int
    store_time_ms: int


def messages(text: str) -> Iterator[PrintedMessage]:
    """Yields the messages that `printMsg`, `printMsgByQueue` and `consumeMessage` print."""
    for match in _MESSAGE.finditer(text):
        yield PrintedMessage(
            unique_id=match["id"],
            broker=match["broker"],
            queue_id=int(match["queue"]),
            queue_offset=int(match["offset"]),
            physical_offset=int(match["physical"]),
            size_bytes=int(match["size"]),
            store_time_ms=int(match["stored"]),
        )


def message_fields(text: str) -> Mapping[str, str]:
    """Returns the `Name: value` lines of one printed message; empty when there is none."""
    pairs = (line.partition(":") for line in text.splitlines() if re.match(r"[A-Z][\w ]+: ", line))
    return {name: value.strip() for name, _, value in pairs}
