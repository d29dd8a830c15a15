"""What of a store's files cannot be read as what their names say: pipes, directories, links to themselves, cut files.

Readers go on without them; whoever draws conclusions from what was read names them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from mqctl.errors import MqctlError
from mqctl.store.attached import look_at_each
from mqctl.store.commitlog import gaps
from mqctl.store.consumequeue import ConsumeQueue
from mqctl.store.directory import StoreDirectory, Unreadable
from mqctl.store.layouts import QUEUE_ENTRY_BYTES
from mqctl.store.plain_files import look_at
from mqctl.text import composed, sentence


def unread_log_files(store: StoreDirectory) -> Iterator[Unreadable]:
    """Yields files of the commit log that are none, are shorter or longer than the others, or are not there at all."""
    log = store.commit_log
    for odd in log.odd_files:
        yield Unreadable(store.relative(odd.path), odd.reason)
    size, odd_starts = log.file_size_bytes, {odd.start for odd in log.odd_files}
    for file in log.files if len(log.files) > 1 else ():
        if file.size_bytes != size:
            yield Unreadable(
                store.relative(file.path),
                sentence(
                    "store-file-size-unlike-others",
                    "it has {size:byte}, the others {others:,}",
                    size=file.size_bytes,
                    others=size,
                ),
            )
    for gap in log.gaps:
        if gap.start not in odd_starts:
            reason = sentence(
                "store-no-file-of-offsets",
                "no file holds physical offsets {start} to {end}",
                start=gap.start,
                end=gap.end,
            )
            yield Unreadable(f"commitlog/{gap.start:020}", reason)


def odd_topics(store: StoreDirectory) -> list[Unreadable]:
    """Returns what stands among the topics, and is none: a link that leads nowhere, a pipe, a row of no broker."""
    root = store.place_of("consumequeue")
    try:
        with os.scandir(root) as entries:
            others = sorted(entry.path for entry in entries if not entry.is_dir(follow_symlinks=False))
    except OSError:
        return store.left_out  # whoever lists the queues says why
    looked = [(Path(path), *look_at(Path(path))) for path in others if not Path(path).is_dir()]
    return [*store.left_out, *(Unreadable(store.relative(path), reason) for path, _, reason in looked if reason)]


def queue_file_size(queues: Iterable[ConsumeQueue]) -> int | None:
    """Returns the size that a store's consume queue files have: one setting gives it to all of them."""
    sizes: Counter[int] = Counter()
    for queue in queues:
        try:
            sizes.update(file.size_bytes for file in queue.files if file.size_bytes)
        except MqctlError:
            continue  # named where the queue itself is looked at
    return max(sizes, key=lambda size: (sizes[size], size), default=None)


def why_incomplete(queue: ConsumeQueue, size: int | None) -> str:
    """Says why a queue does not show all of its messages, or where; empty where nothing speaks for that.

    Args:
        size: that of all consume queue files of the store.
    """
    for file, after in pairwise(queue.files):
        if file.end > after.start:
            return sentence(
                "store-file-reaches-into",
                "{file} has {size:byte}, and reaches into {after}",
                file=file.path.name,
                size=file.size_bytes,
                after=after.path.name,
            )
    for file in queue.files:
        if size and file.size_bytes != size:
            return sentence(
                "store-queue-file-size-unlike",
                "{file} has {size:byte}, the store's other queue files {others:,}",
                file=file.path.name,
                size=file.size_bytes,
                others=size,
            )
    for gap in gaps(queue.files, size):
        low, high = gap.start // QUEUE_ENTRY_BYTES, gap.end // QUEUE_ENTRY_BYTES
        return sentence(
            "store-no-file-queue-offsets", "no file holds queue offsets {low} to {high}", low=low, high=high - 1
        )
    hole = queue.hole()
    return "" if hole is None else no_entries(*hole)


def no_entries(low: int, high: int) -> str:
    """Says that a queue lacks the entries at queue offsets [low, high)."""
    return sentence(
        "store-no-valid-entries", "queue offsets {low} to {high} hold no valid entries", low=low, high=high - 1
    )


def unread_queues(store: StoreDirectory) -> list[Unreadable]:
    """Returns the consume queues whose ends cannot be read, or that lack entries, and why."""
    lowest, places = store.commit_log.min_offset, store.queue_ids()
    size = queue_file_size(store.consume_queue(*place) for place in places)

    def why(queue: ConsumeQueue) -> str:
        queue.min_offset(lowest)
        return why_incomplete(queue, size)

    def look(place: tuple[str, int]) -> Unreadable | None:
        try:
            reason = store.look_at_queue(*place, why)
        except MqctlError as error:
            reason = why_unread(store, error)
        return Unreadable(f"consumequeue/{place[0]}/{place[1]}", reason) if reason else None

    return [each for each in look_at_each(store.path, look, places) if each is not None]


def why_unread(store: StoreDirectory, error: MqctlError) -> str:
    """Returns why something was not read, with the file that stood in the way where the error tells it."""
    reason, path = error.reason or error.problem, getattr(error, "path", None)
    return reason if path is None else composed("{relative}: {reason}", relative=store.relative(path), reason=reason)
