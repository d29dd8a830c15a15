"""What a commit log says of queues by itself, damaged spots passed over: for logs whose queues are lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqctl.store.commitlog import CommitLog
from mqctl.store.kernel import Headers, Stop
from mqctl.store.mapped_files import MappedFile


def sound_records(
    log: CommitLog, files: Sequence[MappedFile] | None = None, start: int = 0
) -> Iterator[tuple[MappedFile, Headers]]:
    """Reads the headers of all records, those behind damaged spots as well; raises as `map_file` does.

    Args:
        files: of these files alone.
        start: where in each file the first record is looked for.
    """
    for file in log.files if files is None else files:
        position: int | None = start if file.size_bytes else None
        while position is not None:
            onward = None
            for rows, tail in log.scan(file, position):
                if rows is not None and len(rows):
                    yield file, rows
                if tail is not None and tail.stop is not Stop.BLANK:
                    onward = log.resync(file, tail.position)
            position = onward


def logged_queues(log: CommitLog, topic: str) -> dict[int, dict[int, int]]:
    """Returns physical offset by queue offset of each queue of a topic; raises as `map_file` does."""
    name = topic.encode()
    places: dict[int, dict[int, int]] = {}
    for file, rows in sound_records(log):
        own = rows.take(rows.topic_size == len(name))
        view = file.buffer.data
        columns = (own.position, own.topic_start, own.queue_id, own.queue_offset)
        for position, start, queue_id, offset in zip(*(column.tolist() for column in columns), strict=True):
            if view[start : start + len(name)] == name:
                places.setdefault(queue_id, {})[offset] = file.start + position
    return places
