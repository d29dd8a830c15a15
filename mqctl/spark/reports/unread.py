"""Parts of stores that reports cannot read, and how much that leaves out: nothing is undercounted silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mqctl.errors import BadInputError, MqctlError
from mqctl.model.report_rows import Unread
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.rows import READ
from mqctl.spark.engines import Engine, sum_of, text
from mqctl.spark.query import Query
from mqctl.spark.scan.planning import has_queue_files, open_store
from mqctl.spark.selection import Selection
from mqctl.store.directory import StoreDirectory
from mqctl.store.timer import read_timer_check

QUEUES = "consumequeue"


def unread_parts(stores: Sequence[str]) -> list[Unread]:
    """Lists what is in a store and not read; `messages` is not known yet.

    A store that cannot be opened here has none: whoever reads it says why it cannot.
    """
    parts = []
    for path, store in _opened(stores):
        for each in store.unreadable:
            parts.append(
                Unread(
                    store=path, part=each.part, reason=each.reason, bytes=_size(store.path / each.part), messages=None
                )
            )
        timers = store.path / "timerlog"
        if timers.is_dir() and read_timer_check(store.path / "config" / "timercheck") is None:
            reason = "without config/timercheck nobody knows which timers were delivered: all count as waiting"
            parts.append(Unread(store=path, part="config/timercheck", reason=reason, bytes=0, messages=None))
    return parts


def needed(report: str, parts: Iterable[Unread]) -> list[Unread]:
    """Returns the parts without which the figures of a report are not whole."""
    own = ("config/timercheck",) if report == "delay" else ("config/consumerOffsets",)
    return [each for each in parts if each.part in (QUEUES, *own)]


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
            f"read the consume queues of {', '.join(without)}",
            reason="; ".join(dict.fromkeys(without.values())),
            remedy="ask the running broker instead: `mqctl group lag --namesrv`; reports on the commit log"
            " (skew, order, duplicates, tags, capacity) do not need them",
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
