"""Two store directories side by side: their logs, and the tables that a slave copies from its master."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqctl.commands.ha.compare_consumers import Shares, consumer_effects
from mqctl.commands.ha.compare_rows import (
    ConsumerEffect,
    EpochSeen,
    QueueOnly,
    RecordSeen,
    StoreComparison,
    UnreadTable,
)
from mqctl.commands.ha.compare_tables import CONSUMER_OFFSETS_TABLE, compare_tables
from mqctl.errors import MqctlError
from mqctl.model.epochs import Epoch, meeting_point
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.progress import Progress
from mqctl.store import config_files as configs
from mqctl.store.commitlog import CommitLog
from mqctl.store.compare_logs import LogComparison, compare_logs, equal_again, only_here, written_end
from mqctl.store.directory import StoreDirectory
from mqctl.store.epochs import EPOCH_FILE, read_epochs, was_cut_at
from mqctl.store.log_holdings import log_holdings
from mqctl.store.unread_files import unread_log_files
from mqctl.text import composed


@dataclass(frozen=True)
class _Side:
    """One of the stores.

    Attributes:
        log: its commit log, without what was cut from it.
        cut_bytes: what was cut from it as a slave; the bytes are still in its files.
        epochs: None without a file of them, or where it cannot be read.
        unread: why the epochs cannot be read.
    """

    name: str
    store: StoreDirectory
    log: CommitLog
    cut_bytes: int
    confirmed: int | None
    epochs: tuple[Epoch, ...] | None
    unread: str | None


def compare_stores(path: Path, other_path: Path, progress: Progress | None = None) -> StoreComparison:
    """Compares logs and tables of two store directories; nothing is written.

    Raises:
        NotFoundError, BadInputError: one of them is no store.
        StorageError: a file cannot be read.
    """
    a, b = (_side(name, store) for name, store in zip("AB", _opened(path, other_path), strict=True))
    logs = compare_logs(a.log, b.log, progress)
    only_a = _shares(a.log, b.log, logs)
    only_b = _shares(b.log, a.log, logs.turned)
    tables, unread = compare_tables(a.store, b.store)
    unread += [UnreadTable(store=side.name, table="epochs", reason=side.unread) for side in (a, b) if side.unread]
    unread += [
        UnreadTable(store=side.name, table=each.part, reason=each.reason)
        for side in (a, b)
        for each in unread_log_files(side.store)
    ]
    return StoreComparison(
        a=str(path),
        b=str(other_path),
        state=_state(logs),
        a_start=logs.start,
        a_end=logs.end,
        b_start=logs.other_start,
        b_end=logs.other_end,
        a_unread_bytes=max(0, logs.written - logs.end),
        b_unread_bytes=max(0, logs.other_written - logs.other_end),
        a_cut_bytes=a.cut_bytes,
        b_cut_bytes=b.cut_bytes,
        a_is_open=a.store.is_written,
        b_is_open=b.store.is_written,
        a_has_abort=a.store.abort(),
        b_has_abort=b.store.abort(),
        a_file_bytes=logs.file_bytes,
        b_file_bytes=logs.other_file_bytes,
        compared_bytes=logs.compared_bytes,
        first_difference=logs.first_difference,
        different_byte=logs.different_byte,
        equal_again_at=equal_again(a.log, b.log, logs),
        a_record=_record(a.log, logs.first_difference),
        b_record=_record(b.log, logs.first_difference),
        a_confirm_offset=a.confirmed,
        b_confirm_offset=b.confirmed,
        a_epochs=_shown(a.epochs),
        b_epochs=_shown(b.epochs),
        epochs_meet_at=_meeting(a, b, logs),
        a_only_message_count=sum(share.count for shares in only_a.values() for share in shares),
        b_only_message_count=sum(share.count for shares in only_b.values() for share in shares),
        queues=[*_queues("A", only_a), *_queues("B", only_b)],
        tables=tables,
        unread_tables=unread,
        consumers=_consumers(a, b, only_a, only_b, unread),
    )


def _opened(path: Path, other_path: Path) -> Sequence[StoreDirectory]:
    """Opens both. Of running brokers the one that was looked at first may only seem to be shorter."""
    stores = [StoreDirectory.open(each) for each in (path, other_path)]
    ends = [store.commit_log.max_offset for store in stores]
    if stores[0].is_written and ends[0] < ends[1]:
        stores[0] = StoreDirectory.open(path)
    return stores


def _side(name: str, store: StoreDirectory) -> _Side:
    epochs, unread = None, None
    try:
        epochs = read_epochs(store.path)
    except MqctlError as error:
        unread = composed("{epoch_file}: {reason}", epoch_file=EPOCH_FILE, reason=error.reason or error.problem)
    is_controlled = epochs is not None or unread is not None
    checkpoint = store.checkpoint() if is_controlled else None
    confirmed = None if checkpoint is None else checkpoint.confirm_physical_offset
    log, cut_bytes = store.commit_log, 0
    if confirmed and was_cut_at(log, confirmed):
        cut_bytes = written_end(log) - confirmed
        log = replace(log, until=confirmed)
    return _Side(name, store, log, cut_bytes, confirmed, epochs, unread)


def _shares(log: CommitLog, other: CommitLog, logs: LogComparison) -> Shares:
    return {place: log_holdings(log, ranges) for place, ranges in only_here(log, other, logs).items()}


def _state(logs: LogComparison) -> str:
    if logs.first_difference is not None:
        return "different"
    if (logs.end == logs.start) is not (logs.other_end == logs.other_start):
        return "a-empty" if logs.end == logs.start else "b-empty"
    if logs.common is None:
        return "nothing-in-common"
    if not logs.is_whole:
        return "file-missing"
    if logs.end == logs.other_end:
        return "equal"
    return "b-behind" if logs.end > logs.other_end else "b-ahead"


def _record(log: CommitLog, offset: int | None) -> RecordSeen | None:
    """Returns the record at a physical offset; None where there is none: a file's filler, half a record."""
    if offset is None:
        return None
    try:
        message = log.record_at(offset)
    except MqctlError:
        return None
    return RecordSeen(
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        keys=message.keys,
        unique_id=message.unique_key,
        stored_ms=message.store_time_ms,
    )


def _shown(epochs: tuple[Epoch, ...] | None) -> list[EpochSeen] | None:
    return None if epochs is None else [EpochSeen(epoch=item.epoch, start=item.start) for item in epochs]


def _meeting(a: _Side, b: _Side, logs: LogComparison) -> int | None:
    if a.epochs is None or b.epochs is None:
        return None
    return meeting_point(a.epochs, logs.end, b.epochs, logs.other_end)


def _queues(name: str, shares: Shares) -> list[QueueOnly]:
    return [
        QueueOnly(
            store=name,
            place=place.value,
            topic=share.topic,
            queue_id=share.queue_id,
            message_count=share.count,
            first_offset=share.first_offset,
            last_offset=share.last_offset,
            stored_from_ms=share.stored_from_ms,
            stored_to_ms=share.stored_to_ms,
        )
        for place, holdings in shares.items()
        for share in holdings
    ]


def _consumers(
    a: _Side, b: _Side, only_a: Shares, only_b: Shares, unread: Sequence[UnreadTable]
) -> list[ConsumerEffect]:
    if any(item.table == CONSUMER_OFFSETS_TABLE for item in unread):
        return []
    offsets_a, offsets_b = (configs.consumer_offsets(side.store.config(configs.CONSUMER_OFFSETS)) for side in (a, b))
    return [
        *consumer_effects("A", offsets_a, offsets_b, only_b),
        *consumer_effects("B", offsets_b, offsets_a, only_a),
    ]
