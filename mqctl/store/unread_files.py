"""What of a store's files cannot be read as what their names say: pipes, directories, links to themselves, cut files.

Readers go on without them; whoever draws conclusions from what was read names them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from mqctl.errors import MqctlError
from mqctl.store.attached import look_at_each
from mqctl.store.directory import StoreDirectory, Unreadable
from mqctl.store.mapped_files import MappedFile
from mqctl.store.plain_files import look_at


def unread_log_files(store: StoreDirectory) -> Iterator[Unreadable]:
    """Yields files of the commit log that are none, are shorter or longer than the others, or are not there at all."""
    log = store.commit_log
    for odd in log.odd_files:
        yield Unreadable(store.relative(odd.path), odd.reason)
    size, odd_starts = log.file_size_bytes, {odd.start for odd in log.odd_files}
    for file in log.files if len(log.files) > 1 else ():
        if file.size_bytes != size:
            yield Unreadable(store.relative(file.path), f"it has {file.size_bytes:,} bytes, the others {size:,}")
    for gap in log.gaps:
        if gap.start not in odd_starts:
            reason = f"no file holds physical offsets {gap.start} to {gap.end}"
            yield Unreadable(f"commitlog/{gap.start:020}", reason)


def odd_topics(store: StoreDirectory) -> list[Unreadable]:
    """Returns what stands among the directories of topics, and is a link that leads nowhere, a pipe or a socket."""
    root = store.place_of("consumequeue")
    try:
        with os.scandir(root) as entries:
            others = sorted(entry.path for entry in entries if not entry.is_dir(follow_symlinks=False))
    except OSError:
        return []  # whoever lists the queues says why
    looked = [(Path(path), *look_at(Path(path))) for path in others if not Path(path).is_dir()]
    return [Unreadable(store.relative(path), reason) for path, _, reason in looked if reason]


def overlap(files: Sequence[MappedFile]) -> str:
    """Says which file of a queue reaches into the next one, as no broker's does; empty where none does."""
    for file, after in pairwise(files):
        if file.end > after.start:
            return f"{file.path.name} has {file.size_bytes:,} bytes, and reaches into {after.path.name}"
    return ""


def unread_queues(store: StoreDirectory) -> list[Unreadable]:
    """Returns the consume queues whose ends cannot be read, and why."""
    lowest = store.commit_log.min_offset

    def look(place: tuple[str, int]) -> Unreadable | None:
        queue = store.consume_queue(*place)
        try:
            queue.min_offset(lowest)
            reason = overlap(queue.files)
        except MqctlError as error:
            reason = why_unread(store, error)
        return Unreadable(f"consumequeue/{place[0]}/{place[1]}", reason) if reason else None

    return [each for each in look_at_each(store.path, look, store.queue_ids()) if each is not None]


def why_unread(store: StoreDirectory, error: MqctlError) -> str:
    """Returns why something was not read, with the file that stood in the way where the error tells it."""
    reason, path = error.reason or error.problem, getattr(error, "path", None)
    return reason if path is None else f"{store.relative(path)}: {reason}"
