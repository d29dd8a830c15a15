"""The checkpoint file: until when everything was on disk.

Source: `StoreCheckpoint` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.layouts import CHECKPOINT, CHECKPOINT_BYTES
from mqctl.text import sentence

_RECOVERY_MARGIN_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Times in epoch milliseconds; zero means never written.

    Attributes:
        physical_time_ms: store time of the last flushed commit log data.
        queue_time_ms: store time of the last dispatched message; flushed with the consume queues.
        index_time_ms: end time of the last full index file.
        master_flushed_offset, confirm_physical_offset: 5.x; zero in 4.9. The embedded broker notes the end of the
            flushed log in the second one under both, for clocks that were set back; 4.9 passes over it.
    """

    physical_time_ms: int
    queue_time_ms: int
    index_time_ms: int
    master_flushed_offset: int = 0
    confirm_physical_offset: int = 0

    @property
    def recovery_time_ms(self) -> int:
        """Store time up to which recovery after a crash trusts both the log and the queues."""
        return max(0, min(self.physical_time_ms, self.queue_time_ms) - _RECOVERY_MARGIN_MS)

    @property
    def is_zero(self) -> bool:
        """Whether nothing was ever flushed: a broker killed soon after its first start leaves this."""
        return not (self.physical_time_ms or self.queue_time_ms or self.index_time_ms)


def parse_checkpoint(data: bytes) -> Checkpoint:
    """Reads the first 40 bytes of a checkpoint file.

    Raises:
        BadInputError: the file is shorter than that, or its times cannot be.
    """
    if len(data) < CHECKPOINT.size:
        raise BadInputError(
            sentence("store-could-not-read-checkpoint", "could not read the checkpoint file"),
            reason=sentence(
                "store-bytes-too-few-hold",
                "{data:byte is/are} too few, {size} hold the times",
                data=len(data),
                size=CHECKPOINT.size,
            ),
            remedy=sentence("copy-store-again", "copy the store again"),
        )
    physical, queue, index, master, confirm = CHECKPOINT.unpack_from(data)
    if min(physical, queue, index) < 0:
        raise BadInputError(
            sentence("store-could-not-read-checkpoint", "could not read the checkpoint file"),
            reason=sentence(
                "store-times-ms-no-message",
                "its times, in milliseconds since 1970, are {physical}, {queue} and {index}; no message is "
                "stored before that",
                physical=physical,
                queue=queue,
                index=index,
            ),
            remedy=sentence(
                "copy-store-again-broker",
                "copy the store again; a broker without a checkpoint reads the commit log from its first file",
            ),
        )
    return Checkpoint(
        physical_time_ms=physical,
        queue_time_ms=queue,
        index_time_ms=index,
        master_flushed_offset=master,
        confirm_physical_offset=confirm,
    )


def format_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Writes a whole checkpoint file."""
    return CHECKPOINT.pack(
        checkpoint.physical_time_ms,
        checkpoint.queue_time_ms,
        checkpoint.index_time_ms,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_physical_offset,
    ).ljust(CHECKPOINT_BYTES, b"\0")
