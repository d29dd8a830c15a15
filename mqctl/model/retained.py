"""How long a broker's log is kept, by what the broker tells: age, files, retention."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.replicas import log_bounds
from mqctl.model.snapshot import BrokerSnapshot

_FILE_BYTES = 1 << 30
"""mappedFileSizeCommitLog, unless the broker's settings say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedLog:
    """The commit log of a broker that has more than one file.

    Attributes:
        first_time_ms: store time of the oldest message, epoch milliseconds.
        start, end: physical bounds of the log.
        file_bytes: size of one file.
        reserved_ms: how long a file is kept after its last message.
        second_file_time_ms: store time of the first message of the second file; None where that is not known.
    """

    first_time_ms: int
    start: int
    end: int
    file_bytes: int
    reserved_ms: int
    second_file_time_ms: int | None = None

    @property
    def second_file_offset(self) -> int:
        """The physical offset at which the second file begins."""
        return (self.start // self.file_bytes + 1) * self.file_bytes

    @property
    def file_count(self) -> int:
        """Files that the log lies in."""
        return -(-self.end // self.file_bytes) - self.start // self.file_bytes

    def due_ms(self, now_ms: int) -> int:
        """Returns when the retention of the first file was over, epoch milliseconds: counted from the first message of
        the second file, or from where the first one ended if the log had grown evenly."""
        ended_ms = self.second_file_time_ms
        if ended_ms is None:
            share = (self.second_file_offset - self.start) / (self.end - self.start)
            ended_ms = self.first_time_ms + round((now_ms - self.first_time_ms) * share)
        return ended_ms + self.reserved_ms


def retained_log(broker: BrokerSnapshot) -> RetainedLog | None:
    """Returns the log of a broker, or None where it has one file or none, or does not tell enough."""
    start, end = log_bounds(broker)
    first_ms = decimal(broker.runtime.get("earliestMessageTimeStamp"))
    file_bytes = decimal(broker.config.get("mappedFileSizeCommitLog")) or _FILE_BYTES
    if start is None or end is None or not first_ms or broker.file_reserved_ms is None or file_bytes <= 0:
        return None
    log = RetainedLog(
        first_time_ms=first_ms,
        start=start,
        end=end,
        file_bytes=file_bytes,
        reserved_ms=broker.file_reserved_ms,
        second_file_time_ms=broker.second_file_time_ms,
    )
    return log if log.second_file_offset < end else None
