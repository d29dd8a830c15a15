"""Following queue entries into the commit log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mqctl.store.commitlog import CommitLog
from mqctl.store.kernel import Headers, Int64s, accepted, headers
from mqctl.store.layouts import HEADER_BYTES
from mqctl.store.mapped_files import MappedFile
from mqctl.store.walk import record_limit


def records_at(log: CommitLog, physical: Int64s) -> Iterator[tuple[MappedFile, Int64s, Headers]]:
    """Yields file by file the rows of `physical` (any order) at which sound records stand, and their headers."""
    order = np.argsort(physical, kind="stable")
    ordered = physical[order]
    for file in log.files:
        low, high = np.searchsorted(ordered, [file.start, file.end - HEADER_BYTES + 1])
        rows = order[low:high]
        if len(rows):
            found = headers(file.records_view(physical[rows] - file.start), physical[rows] - file.start)
            good = accepted(found, file.start, record_limit(file.known, log.capacity))
            yield file, rows[good], found.take(good)
