"""What `group lag` needs of a store, and nothing else: it must start fast."""

from __future__ import annotations

from pathlib import Path

from mqctl.model.gap import Part
from mqctl.model.lag import LagEvidence
from mqctl.snapshot.store.moment import store_origin
from mqctl.snapshot.store.queues import offset_states, queue_states
from mqctl.snapshot.store.reading import Reading
from mqctl.store.directory import StoreDirectory


def gather_lag(path: Path, *, at_ms: int | None = None, broker_name: str | None = None) -> LagEvidence:
    """Reads only what lag needs: offsets, the ends of the consume queues, a few records.

    Args:
        at_ms: the moment all ages refer to; None takes the store's own last instant.
        broker_name: a store does not tell it.

    Raises:
        NotFoundError: there is no such directory.
        BadInputError: it is no store.
    """
    reading = Reading(StoreDirectory.open(path))
    reading.note_unreadable_formats()
    queues = queue_states(reading, with_bytes=False)
    newest = [queue.last_store_time_ms for queue in queues if queue.last_store_time_ms is not None]
    wanted = {Part.QUEUES, Part.CONSUMER_OFFSETS}
    return LagEvidence(
        origin=store_origin(reading, at_ms, newest),
        name=broker_name,
        queues=queues,
        consumer_offsets=offset_states(reading),
        unavailable=tuple(gap for gap in reading.gaps if gap.part in wanted),
    )
