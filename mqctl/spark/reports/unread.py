"""Parts of stores that reports cannot read, and how much that leaves out: nothing is undercounted silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mqctl.errors import BadInputError, MqctlError
from mqctl.model.counts import counted
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.model.report_rows import Unread
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.rows import READ
from mqctl.spark.engines import Engine, sum_of, text
from mqctl.spark.query import Query
from mqctl.spark.scan.planning import has_queue_files, open_store
from mqctl.spark.selection import Selection
from mqctl.store.directory import StoreDirectory, Unreadable
from mqctl.store.mapping_guard import RefusedPart, passed_over
from mqctl.store.timer import read_timer_check
from mqctl.store.unread_files import odd_topics, unread_log_files, unread_queues
from mqctl.store.verify import COMMIT_LOG
from mqctl.text import joined, sentence

QUEUES = "consumequeue"
_SHOWN_PARTS = 3


def unread_parts(stores: Sequence[str]) -> list[Unread]:
    """Lists what is in a store and not read; `messages` is not known yet.

    A store that cannot be opened here has none: whoever reads it says why it cannot.
    """
    parts = []
    for path, store in _opened(stores):
        for each in (*store.unreadable, *store.in_memory):
            parts.append(
                Unread(
                    store=path, part=each.part, reason=each.reason, bytes=_size(store.path / each.part), messages=None
                )
            )
        parts += log_parts(path, store)
        if has_queue_files(store):
            parts += [_unread(path, each) for each in (*odd_topics(store), *unread_queues(store))]
        timers = store.path / "timerlog"
        if timers.is_dir() and read_timer_check(store.path / "config" / "timercheck") is None:
            reason = sentence(
                "unread-without-timercheck",
                "without config/timercheck delivered timers are not known: all count as waiting",
            )
            parts.append(Unread(store=path, part="config/timercheck", reason=reason, bytes=0, messages=None))
    return parts


def needed(report: str, parts: Iterable[Unread]) -> list[Unread]:
    """Returns the parts without which the figures of a report are not whole."""
    own = {
        "delay": ("config/timercheck", "rocksdbstore", "rocksdbstore/timer"),
        "transactions": ("config/consumerOffsets", "rocksdbstore", "rocksdbstore/trans"),
    }.get(report, ("config/consumerOffsets",))
    topics = {"delay": (SCHEDULE_TOPIC, TIMER_TOPIC), "transactions": (HALF_TOPIC, OP_TOPIC)}.get(report)
    return [each for each in parts if each.part in (QUEUES, *own) or _is_of(each, topics)]


def _is_of(part: Unread, topics: tuple[str, ...] | None) -> bool:
    """Tells whether a part is of the log, or a consume queue of one of the topics; None: of any."""
    if part.part.startswith(f"{COMMIT_LOG}/"):
        return True
    if not part.part.startswith(f"{QUEUES}/"):
        return False
    return topics is None or part.part.split("/")[1] in topics


def log_unread(stores: Sequence[str]) -> list[Unread]:
    """Lists the files of commit logs that are not read: what they hold is missing from every figure."""
    return [each for path, store in _opened(stores) for each in log_parts(path, store)]


def with_log(report: Any, parts: Sequence[Unread]) -> Any:
    """Returns a report with files of the log among what it has not read, where it does not say so itself."""
    known = {(each.store, each.part) for each in report.unread}
    more = [each for each in parts if (each.store, each.part) not in known]
    return replace(report, unread=[*report.unread, *more]) if more else report


def log_parts(path: str, store: StoreDirectory) -> list[Unread]:
    """Lists what of one store's commit log is not read: files, and parts of files that their disk has refused."""
    refused = [
        Unread(
            store=path,
            part=str(store.relative(file.path)),
            reason=sentence("unread-refused-at", "{reason} at {places}", reason=parts[0][2], places=_in_words(parts)),
            bytes=sum(high - low for low, high, _ in parts),
            messages=None,
        )
        for file in store.commit_log.files
        if (parts := sorted(passed_over(file.path)))
    ]
    return [_unread(path, each) for each in unread_log_files(store)] + refused


def _in_words(parts: Sequence[RefusedPart]) -> str:
    shown = joined(
        ", ",
        (
            sentence("spark-bytes-range", "bytes {low:,} to {high:,}", low=low, high=high)
            for low, high, _ in parts[:_SHOWN_PARTS]
        ),
    )
    more = len(parts) - _SHOWN_PARTS
    return (
        sentence("spark-and-in-more", "{shown} and in {more}", shown=shown, more=counted(more, "more place"))
        if more > 0
        else shown
    )


def _unread(path: str, each: Unreadable) -> Unread:
    return Unread(store=path, part=each.part, reason=each.reason, bytes=0, messages=None)


def require_queues(wanted: Selection) -> None:
    """Checks that at least one store's consume queues can be read.

    Raises:
        BadInputError: none is.
    """
    without = {
        path: next(part.reason for part in store.unreadable if part.part == QUEUES)
        for path, store in _opened(wanted.stores)
        if not has_queue_files(store)
    }
    if len(without) == len(wanted.stores):
        raise BadInputError(
            sentence("spark-read-consume-queues", "read the consume queues of {without}", without=without),
            reason=joined("; ", dict.fromkeys(without.values())),
            remedy=sentence(
                "spark-ask-running-broker-instead",
                "ask the running broker instead: `mqctl group lag --namesrv`; reports on the commit "
                "log (skew, order, duplicates, tags, capacity) do not need them",
            ),
        )


def _opened(stores: Iterable[str]) -> Iterator[tuple[str, StoreDirectory]]:
    for path in stores:
        try:
            store = open_store(path)
        except MqctlError:
            continue
        yield path, store


def with_message_counts(engine: Engine, parts: Sequence[Unread]) -> list[Unread]:
    """Tells how many messages the commit logs of stores with unread queues hold, by one scan of these."""
    stores = tuple(dict.fromkeys(each.store for each in parts if each.part == QUEUES))
    if not stores:
        return list(parts)
    return with_messages(parts, engine.rows("counts", Selection(stores, system=True), Query(())))


def with_messages(parts: Sequence[Unread], rows: Iterable[Row]) -> list[Unread]:
    """Adds the messages of the commit log, as a scan has counted them, to what its unread queues leave out."""
    messages = {text(row, "store"): sum_of(row, "messages") for row in rows if row["cut"] == READ}
    return [replace(each, messages=messages.get(each.store)) if each.part == QUEUES else each for each in parts]


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
