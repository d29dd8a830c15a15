"""One pass over the headers of the whole commit log for the marks of committed transactions."""

from __future__ import annotations

from collections import Counter

from mqctl.model.message import SYSFLAG_COMMIT, SYSFLAG_TRANSACTION_MASK
from mqctl.snapshot.store.reading import Reading


def commit_marks(reading: Reading) -> Counter[int]:
    """Counts how often each physical offset is named as PreparedTransactionOffset by a committed message.

    A damaged spot ends the pass through its file; verification says what stands there.
    """
    marks: Counter[int] = Counter()
    log = reading.store.commit_log
    for file in log.files:
        for found, _ in log.scan(file):
            if found is None:
                continue
            committed = (found.sys_flag & SYSFLAG_TRANSACTION_MASK) == SYSFLAG_COMMIT
            if committed.any():
                marks.update(found.prepared_offset[committed].tolist())
    return marks
