"""Two stores beside each other, a master's and its slave's, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqctl.commands.ha.compare_rows import EpochSeen, RecordSeen, StoreComparison
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

_WORDS = {
    "equal": sentence(
        "comparison-logs-equal-over-all", "The logs are equal over all that both have, and end at the same offset."
    ),
    "b-behind": sentence("comparison-ends-before-all-equal", "B ends before A; all that it has is equal to A."),
    "b-ahead": sentence("comparison-ends-after-all-equal", "B ends after A; all that A has is equal in B."),
    "a-empty": sentence("comparison-no-messages", "A HAS NO MESSAGES; B has."),
    "b-empty": sentence("comparison-only-a-has-messages", "B HAS NO MESSAGES; A has."),
    "file-missing": sentence(
        "comparison-file-missing-logs-both", "A file is missing in one of the logs; what both have is equal."
    ),
    "nothing-in-common": sentence(
        "comparison-logs-no-range-common", "The logs have no range in common: nothing was compared."
    ),
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
            *_shown(_QUEUES, sentence("comparison-messages", "Messages that only one of them has"), comparison.queues),
            Table(
                _TABLES,
                comparison.tables,
                title=sentence("title-tables-that-differ", "Tables that differ"),
                empty=sentence("empty-no-table-differs", "no table differs"),
            ),
            *_shown(
                _UNREAD,
                sentence("comparison-not-compared-nothing-known", "Not compared, so nothing is known of it"),
                comparison.unread_tables,
            ),
            *_shown(
                _CONSUMERS,
                sentence(
                    "comparison-consumers-meet-if-serves",
                    "What consumers meet if one serves them in place of the other",
                ),
                comparison.consumers,
            ),
        ],
    )


def _shown(columns: tuple[Column, ...], title: str, rows: Sequence[object]) -> Iterator[Table | Paragraphs]:
    if rows:
        yield Table(columns, rows[:_SHOWN_ROWS], title=title)
    if len(rows) > _SHOWN_ROWS:
        yield Paragraphs(
            [
                sentence(
                    "comparison-more-rows-json-all",
                    "{rows:,} more rows: -o json has all of them.",
                    rows=len(rows) - _SHOWN_ROWS,
                )
            ]
        )


def _epochs(epochs: list[EpochSeen] | None) -> str | None:
    return None if epochs is None else ", ".join(f"{item.epoch}@{item.start:,}" for item in epochs)


def _of_logs(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    first, byte = f"{comparison.first_difference or 0:,}", f"{comparison.different_byte or 0:,}"
    if comparison.equal_again_at is None:
        yield (
            _WORDS.get(comparison.state)
            or sentence(
                "comparison-logs-differ-record-first",
                "THE LOGS DIFFER from the record at {first} on (first different byte at {byte}).",
                first=first,
                byte=byte,
            )
        )
    else:
        yield (
            sentence(
                "comparison-logs-differ-between-first",
                "THE LOGS DIFFER between {first} and {equal_again_at:,} (first different byte at "
                "{byte}) and are equal after that: bytes were changed in one copy, the copies did "
                "not diverge. mqctl store verify on each may tell which.",
                first=first,
                equal_again_at=comparison.equal_again_at,
                byte=byte,
            )
        )
    if comparison.first_difference is not None:
        for side in sides:
            yield (
                sentence("comparison-no-record", "{side} has no record there.", side=side.name)
                if side.record is None
                else _record(side.name, side.record)
            )
    if comparison.state in ("b-behind", "b-ahead"):
        yield (
            sentence(
                "comparison-compared",
                "Compared: {compared_bytes}; in one only: {a_end}.",
                compared_bytes=counted(comparison.compared_bytes, "byte"),
                a_end=counted(abs(comparison.a_end - comparison.b_end), "byte"),
            )
        )
    else:
        yield sentence(
            "comparison-compared-bytes", "Compared: {compared_bytes:byte}.", compared_bytes=comparison.compared_bytes
        )
    if comparison.a_start != comparison.b_start:
        later = "B" if comparison.b_start > comparison.a_start else "A"
        yield sentence(
            "comparison-log-begins-bytes-later",
            "The log of {later} begins {a_start:byte} later.",
            later=later,
            a_start=abs(comparison.a_start - comparison.b_start),
        )
    for side in sides:
        if side.only_count:
            yield sentence(
                "comparison-read",
                "Can be read in {side} only: {only_count}.",
                side=side.name,
                only_count=counted(side.only_count, "message"),
            )
    if comparison.has_other_files:
        yield (
            sentence(
                "comparison-log-files-differ-size",
                "Log files differ in size: {a_file_bytes:byte} in A, {b_file_bytes:,} in B. A "
                "slave cannot follow a master with files of another size.",
                a_file_bytes=comparison.a_file_bytes,
                b_file_bytes=comparison.b_file_bytes,
            )
        )


def _record(name: str, record: RecordSeen) -> str:
    place = f"{record.topic}/{record.queue_id}"
    key = record.keys[0] if record.keys else record.unique_id or "-"
    return sentence(
        "comparison-offset-key-stored",
        "{name} has {place} offset {queue_offset:,} there, key {key}, stored {stored_time_ms}.",
        name=name,
        place=place,
        queue_offset=record.queue_offset,
        key=key,
        stored_time_ms=record.stored_ms,
    )


def _of_epochs(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    if (comparison.a_epochs is None) is not (comparison.b_epochs is None):
        if not any(item.table == "epochs" for item in comparison.unread_tables):
            name = "A" if comparison.b_epochs is None else "B"
            yield sentence(
                "comparison-epochs-other-ran-under",
                "Only {name} has epochs: the other one ran under no controller, and would not be cut as a slave.",
                name=name,
            )
    elif comparison.a_epochs is not None and comparison.epochs_meet_at is None:
        yield sentence(
            "comparison-epochs-nothing-common-neither",
            "Their epochs have nothing in common: neither can follow the other, and it retries indefinitely.",
        )
    elif comparison.epochs_meet_at is not None:
        for side, other in (sides, sides[::-1]):
            if side.end > comparison.epochs_meet_at:
                yield (
                    sentence(
                        "comparison-slave-cut-epochs-go",
                        "As a slave of {other}, {side} would be cut to {epochs_meet_at:,} by its epochs: "
                        "{end} would go.",
                        other=other.name,
                        side=side.name,
                        epochs_meet_at=comparison.epochs_meet_at,
                        end=counted(side.end - comparison.epochs_meet_at, "byte"),
                    )
                )


def _of_sides(sides: tuple[_Side, _Side]) -> Iterator[str]:
    for side in sides:
        if side.unread_bytes:
            yield (
                sentence(
                    "comparison-bytes-after-last-readable",
                    "{side} has {unread_bytes:byte} after its last readable record: half a record, or "
                    "what an earlier end of the log left.",
                    side=side.name,
                    unread_bytes=side.unread_bytes,
                )
            )
        if side.cut_bytes:
            yield (
                sentence(
                    "comparison-cut-slave-bytes-older",
                    "{side} was cut to {end:,} as a slave; {cut_bytes:byte} of older records {cut_bytes:/is/are} "
                    "still in its files, and a restart brings them back until its master cuts them again.",
                    side=side.name,
                    end=side.end,
                    cut_bytes=side.cut_bytes,
                )
            )
        elif side.confirm_offset is not None and side.confirm_offset < side.end:
            yield (
                sentence(
                    "comparison-ran-under-controller-confirmed",
                    "{side} ran under a controller and is confirmed up to {confirm_offset:,}: what "
                    "follows was not confirmed by the whole set, or was cut when it was a slave.",
                    side=side.name,
                    confirm_offset=side.confirm_offset,
                )
            )


def _of_moments(comparison: StoreComparison, sides: tuple[_Side, _Side]) -> Iterator[str]:
    """Says what ends are worth that were not taken at one moment."""
    for side in sides:
        if side.is_open:
            yield (
                sentence(
                    "comparison-open-running-broker-other",
                    "{side} is open by a running broker: what the other one has more may have come since "
                    "it was looked at.",
                    side=side.name,
                )
            )
        elif side.has_abort and comparison.state in ("b-behind", "b-ahead"):
            yield (
                sentence(
                    "comparison-killed-copied-while-broker",
                    "{side} was killed, or copied while its broker ran (its abort file is there): of "
                    "copies made one after the other the later one has more.",
                    side=side.name,
                )
            )
