"""Two stores beside each other, a master's and its slave's, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.store_comparison import EpochSeen, RecordSeen, StoreComparison
from mqctl.render.units import instant

_WORDS = {
    "equal": "The logs are equal over all that both have, and end at the same offset.",
    "b-behind": "B ends before A; all that it has is equal to A.",
    "b-ahead": "B ends after A; all that A has is equal in B.",
    "different": "THE LOGS DIFFER from the record at {} on (first different byte at {}).",
    "a-empty": "A HAS NO MESSAGES; B has.",
    "b-empty": "B HAS NO MESSAGES; A has.",
    "file-missing": "A file is missing in one of the logs; what both have is equal.",
    "nothing-in-common": "The logs have no range in common: nothing was compared.",
}
_COMPARED = (
    Column("name", "store"),
    Column("path", "directory"),
    Column("start", "log from", CellKind.COUNT),
    Column("end", "log to", CellKind.COUNT),
    Column("confirm_offset", "confirmed to", CellKind.COUNT),
    Column("epochs", "epochs"),
)
_TABLES = (
    Column("table", "table", CellKind.WORDS),
    Column("only_a_count", "only in A", CellKind.COUNT),
    Column("only_b_count", "only in B", CellKind.COUNT),
    Column("differing_count", "in all", CellKind.COUNT),
    Column("examples", "for instance", CellKind.SENTENCE),
)
_UNREAD = (
    Column("store", "store"),
    Column("table", "table", CellKind.WORDS),
    Column("reason", "reason", CellKind.SENTENCE),
)
_QUEUES = (
    Column("store", "store"),
    Column("place", "where", CellKind.WORDS),
    Column("topic", "topic"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
    Column("first_offset", "from offset", CellKind.COUNT),
    Column("last_offset", "to offset", CellKind.COUNT),
    Column("stored_from_ms", "stored from", CellKind.TIME_MS),
    Column("stored_to_ms", "stored to", CellKind.TIME_MS, wide=True),
)
_CONSUMERS = (
    Column("serving", "served by"),
    Column("group", "group"),
    Column("topic", "topic"),
    Column("read_again_count", "read again", CellKind.COUNT),
    Column("missed_count", "missed", CellKind.COUNT),
    Column("without_offset_count", "queues without offset", CellKind.COUNT),
)
_SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    name: str
    path: str
    start: int
    end: int
    confirm_offset: int | None
    epochs: str | None
    record: RecordSeen | None
    unread_bytes: int
    cut_bytes: int
    is_open: bool
    has_abort: bool
    only_count: int


def comparison_document(comparison: StoreComparison) -> Document:
    """Builds the document of `ha compare`."""
    sides = (
        _Side(
            name="A",
            path=comparison.a,
            start=comparison.a_start,
            end=comparison.a_end,
            confirm_offset=comparison.a_confirm_offset,
            epochs=_epochs(comparison.a_epochs),
            record=comparison.a_record,
            unread_bytes=comparison.a_unread_bytes,
            cut_bytes=comparison.a_cut_bytes,
            is_open=comparison.a_is_open,
            has_abort=comparison.a_has_abort,
            only_count=comparison.a_only_message_count,
        ),
        _Side(
            name="B",
            path=comparison.b,
            start=comparison.b_start,
            end=comparison.b_end,
            confirm_offset=comparison.b_confirm_offset,
            epochs=_epochs(comparison.b_epochs),
            record=comparison.b_record,
            unread_bytes=comparison.b_unread_bytes,
            cut_bytes=comparison.b_cut_bytes,
            is_open=comparison.b_is_open,
            has_abort=comparison.b_has_abort,
            only_count=comparison.b_only_message_count,
        ),
    )
    compared = _COMPARED if comparison.a_epochs or comparison.b_epochs else _COMPARED[:-2]
    return Document(
        schema="ha.compare/1",
        value=comparison,
        records=[comparison],
        blocks=[
            Table(compared, sides),
            Paragraphs(
                [
                    *_of_logs(comparison, sides),
                    *_of_epochs(comparison, sides),
                    *_of_sides(sides),
                    *_of_moments(comparison, sides),
                ]
            ),
            *_shown(_QUEUES, "Messages that only one of them has", comparison.queues),
            Table(_TABLES, comparison.tables, title="Tables that differ", empty="no table differs"),
            *_shown(_UNREAD, "Not compared, so nothing is known of it", comparison.unread_tables),
            *_shown(_CONSUMERS, "What consumers meet if one serves them in place of the other", comparison.consumers),
        ],
    )


def _shown(columns: tuple[Column, ...], title: str, rows: Sequence[object]) -> Iterator[Table | Paragraphs]:
    if rows:
        yield Table(columns, rows[:_SHOWN_ROWS], title=title)
    if len(rows) > _SHOWN_ROWS:
        yield Paragraphs([f"{len(rows) - _SHOWN_ROWS:,} more rows: -o json has all of them."])


def _epochs(epochs: list[EpochSeen] | None) -> str | None:
    return None if epochs is None else ", ".join(f"{item.epoch}@{item.start:,}" for item in epochs)


def _of_logs(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    first, byte = f"{comparison.first_difference or 0:,}", f"{comparison.different_byte or 0:,}"
    if comparison.equal_again_at is None:
        yield _WORDS[comparison.state].format(first, byte)
    else:
        yield (
            f"THE LOGS DIFFER between {first} and {comparison.equal_again_at:,} (first different byte at {byte}) and "
            "are equal after that: bytes were changed in one copy, the copies did not diverge. "
            "mqctl store verify on each may tell which."
        )
    if comparison.first_difference is not None:
        for side in sides:
            yield f"{side.name} has no record there." if side.record is None else _record(side.name, side.record)
    if comparison.state in ("b-behind", "b-ahead"):
        yield (
            f"Compared: {counted(comparison.compared_bytes, 'byte')}; "
            f"in one only: {counted(abs(comparison.a_end - comparison.b_end), 'byte')}."
        )
    else:
        yield f"Compared: {comparison.compared_bytes:,} bytes."
    if comparison.a_start != comparison.b_start:
        later = "B" if comparison.b_start > comparison.a_start else "A"
        yield f"The log of {later} begins {abs(comparison.a_start - comparison.b_start):,} bytes later."
    for side in sides:
        if side.only_count:
            yield f"Can be read in {side.name} only: {counted(side.only_count, 'message')}."
    if comparison.has_other_files:
        yield (
            f"Log files differ in size: {comparison.a_file_bytes:,} bytes in A, {comparison.b_file_bytes:,} in B. "
            "A slave cannot follow a master with files of another size."
        )


def _record(name: str, record: RecordSeen) -> str:
    place = f"{record.topic}/{record.queue_id}"
    key = record.keys[0] if record.keys else record.unique_id or "-"
    return f"{name} has {place} offset {record.queue_offset:,} there, key {key}, stored {instant(record.stored_ms)}."


def _of_epochs(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    if (comparison.a_epochs is None) is not (comparison.b_epochs is None):
        if not any(item.table == "epochs" for item in comparison.unread_tables):
            name = "A" if comparison.b_epochs is None else "B"
            yield f"Only {name} has epochs: the other one ran under no controller, and would not be cut as a slave."
    elif comparison.a_epochs is not None and comparison.epochs_meet_at is None:
        yield "Their epochs have nothing in common: neither can follow the other, and it tries again for ever."
    elif comparison.epochs_meet_at is not None:
        for side, other in (sides, sides[::-1]):
            if side.end > comparison.epochs_meet_at:
                yield (
                    f"As a slave of {other.name}, {side.name} would be cut to {comparison.epochs_meet_at:,} by its "
                    f"epochs: {counted(side.end - comparison.epochs_meet_at, 'byte')} would go."
                )


def _of_sides(sides: tuple[_Side, _Side]) -> Iterator[str]:
    for side in sides:
        if side.unread_bytes:
            yield (
                f"{side.name} has {side.unread_bytes:,} bytes after its last readable record: half a record, or what "
                "an earlier end of the log left."
            )
        if side.cut_bytes:
            yield (
                f"{side.name} was cut to {side.end:,} as a slave; {side.cut_bytes:,} bytes of older records are still "
                "in its files, and a restart brings them back until its master cuts them again."
            )
        elif side.confirm_offset is not None and side.confirm_offset < side.end:
            yield (
                f"{side.name} ran under a controller and is confirmed up to {side.confirm_offset:,}: what follows was "
                "not confirmed by the whole set, or was cut when it was a slave."
            )


def _of_moments(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    """Says what ends are worth that were not taken at one moment."""
    for side in sides:
        if side.is_open:
            yield (
                f"{side.name} is open by a running broker: what the other one has more may have come since it was "
                "looked at."
            )
        elif side.has_abort and comparison.state in ("b-behind", "b-ahead"):
            yield (
                f"{side.name} was killed, or copied while its broker ran (its abort file is there): of copies made one "
                "after the other the later one has more."
            )
