"""One pass over the headers of the whole commit log: clocks, ends, and the marks of committed transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mqctl.model.message import SYSFLAG_COMMIT, SYSFLAG_TRANSACTION_MASK
from mqctl.model.storage_state import ClockState
from mqctl.snapshot.reading import Reading
from mqctl.store.kernel import Headers

BORN_AHEAD_MS = 10_000


@dataclass
class LogPass:
    """What the headers of all accepted records say together."""

    record_count: int = 0
    oldest_store_time_ms: int | None = None
    newest_store_time_ms: int | None = None
    commits: Counter[int] = field(default_factory=Counter)
    born_ahead_count: int = 0
    max_born_ahead_ms: int | None = None
    step_back_count: int = 0
    max_step_back_ms: int | None = None
    first_step_back_offset: int | None = None
    _previous_ms: int | None = None

    def add(self, found: Headers) -> None:
        """Takes in one chunk of records, in log order."""
        stored = found.store_time_ms
        if not len(stored):
            return
        self.record_count += len(stored)
        oldest, newest = int(stored.min()), int(stored.max())
        self.oldest_store_time_ms = min(oldest, self.oldest_store_time_ms or oldest)
        self.newest_store_time_ms = max(newest, self.newest_store_time_ms or newest)
        committed = (found.sys_flag & SYSFLAG_TRANSACTION_MASK) == SYSFLAG_COMMIT
        if committed.any():
            self.commits.update(found.prepared_offset[committed].tolist())
        ahead = found.born_time_ms - stored
        self.born_ahead_count += int((ahead > BORN_AHEAD_MS).sum())
        self.max_born_ahead_ms = max(
            int(ahead.max()), int(ahead.max()) if self.max_born_ahead_ms is None else self.max_born_ahead_ms
        )
        before = np.concatenate(([stored[0] if self._previous_ms is None else self._previous_ms], stored[:-1]))
        steps = before - stored
        if (steps > 0).any():
            self.step_back_count += int((steps > 0).sum())
            self.max_step_back_ms = max(int(steps.max()), self.max_step_back_ms or 0)
            if self.first_step_back_offset is None:
                self.first_step_back_offset = int(found.physical_offset[np.argmax(steps > 0)])
        self._previous_ms = int(stored[-1])

    def clocks(self) -> ClockState:
        """Returns the clocks' part."""
        return ClockState(
            sampled_count=self.record_count,
            born_ahead_count=self.born_ahead_count,
            max_born_ahead_ms=self.max_born_ahead_ms,
            step_back_count=self.step_back_count,
            max_step_back_ms=self.max_step_back_ms,
            first_step_back_offset=self.first_step_back_offset,
        )


def log_pass(reading: Reading, progress: Callable[[int, int], None] | None = None) -> LogPass:
    """Reads the headers of every accepted record, file by file.

    A damaged spot ends the pass through its file; verification says what stands there.
    """
    passed = LogPass()
    files = reading.store.commit_log.files
    total = sum(file.size_bytes for file in files)
    done = 0
    for file in files:
        for found, _ in reading.store.commit_log.scan(file):
            if found is not None:
                passed.add(found)
                if progress and len(found):
                    progress(done + int(found.position[-1]), total)
        done += file.size_bytes
    return passed
