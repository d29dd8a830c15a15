"""Messages that wait on a delay level, from a store directory or from live brokers, to be sent again."""

from __future__ import annotations

from pathlib import Path

from mqctl.changes.plan.delay_resend import StrandedMessage
from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError, RefusedError
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from mqctl.text import sentence

MOST = 1_000
_PAGE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedRange:
    """Part of a schedule queue: queue offsets [first, end)."""

    level: int
    first: int
    end: int


def check_count(ranges: list[StrandedRange]) -> None:
    """Raises RefusedError when there are too many messages for one plan."""
    total = sum(max(0, item.end - item.first) for item in ranges)
    if total > MOST:
        raise RefusedError(
            sentence("snapshot-messages-too-many-plan", "{total:,} messages are too many for one plan", total=total),
            reason=sentence(
                "snapshot-most-sent-again-once",
                "at most {most:,} are sent again at once, each looked up first",
                most=MOST,
            ),
            remedy=sentence(
                "snapshot-narrow-level-until-go", "narrow it with --level, --from and --until, and go on where it ended"
            ),
        )


def from_broker(
    asking: Asking, address: str, ranges: list[StrandedRange], table: DelayLevelTable
) -> tuple[list[StrandedMessage], list[str]]:
    """Reads waiting messages of a live broker; returns them and what could not be read, in words.

    Raises:
        UnreachableError, DeadlineError, AnswerError: the broker does not tell its entries.
    """
    stranded: list[StrandedMessage] = []
    lost: list[str] = []
    unpacker = Unpacker()
    for part in ranges:
        entries = _entries(asking, address, part)
        answers = asking.put((offset, address, messages.message_at(place)) for offset, (place, _) in entries.items())
        for offset, (place, code) in entries.items():
            message = answers.values.get(offset)
            if message is None or message.physical_offset != place:
                lost.append(sentence("level-offset", "level {level} offset {offset}", level=part.level, offset=offset))
                continue
            due_ms = _due(code, message.store_time_ms, table.delay_ms(part.level))
            kept = unpacker.stored(message)
            stranded.append(StrandedMessage(level=part.level, queue_offset=offset, due_time_ms=due_ms, stored=kept))
    return stranded, lost


def _entries(asking: Asking, address: str, part: StrandedRange) -> dict[int, tuple[int, int]]:
    entries: dict[int, tuple[int, int]] = {}
    place = part.first
    while place < part.end:
        question = ask.queue_entries(SCHEDULE_TOPIC, part.level - 1, place, min(_PAGE, part.end - place))
        data = asking.cluster.ask(address, question, asking.deadline)
        if data is None or not data.queue_data:
            break
        for item in data.queue_data[: part.end - place]:
            entries[place] = (item.physic_offset, item.tags_code)
            place += 1
    return entries


def from_store(
    path: Path, ranges: list[StrandedRange], table: DelayLevelTable
) -> tuple[list[StrandedMessage], list[str]]:
    """Reads waiting messages of a store directory; returns them and what could not be read, in words.

    Raises:
        NotFoundError, BadInputError: there is no such store.
    """
    from mqctl.snapshot.store.reading import Reading
    from mqctl.store.directory import StoreDirectory

    reading = Reading(StoreDirectory.open(path))
    stranded: list[StrandedMessage] = []
    lost: list[str] = []
    unpacker = Unpacker()
    for part in ranges:
        bounds = reading.bounds.get((SCHEDULE_TOPIC, part.level - 1))
        if bounds is None:
            continue
        offsets, entries = reading.entries(bounds, part.first)
        rows = zip(offsets.tolist(), entries["physical_offset"].tolist(), entries["tags_code"].tolist(), strict=True)
        for offset, place, code in rows:
            if offset >= part.end:
                break
            try:
                message = reading.store.commit_log.record_at(place)
            except MqctlError:
                lost.append(sentence("level-offset", "level {level} offset {offset}", level=part.level, offset=offset))
                continue
            due_ms = _due(code, message.store_time_ms, table.delay_ms(part.level))
            kept = unpacker.stored(message)
            stranded.append(StrandedMessage(level=part.level, queue_offset=offset, due_time_ms=due_ms, stored=kept))
    return stranded, lost


def _due(code: int, store_time_ms: int, delay_ms: int | None) -> int | None:
    """The due time, as brokers reckon it where the entry holds only an address."""
    if code > EXT_ADDRESS_LIMIT:
        return code
    return None if delay_ms is None else store_time_ms + delay_ms
