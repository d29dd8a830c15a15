"""What `group lag` needs of a store, and nothing else: it must start fast."""

from __future__ import annotations

from pathlib import Path

from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.unavailable import Part
from mqctl.snapshot.reading import Reading
from mqctl.snapshot.store_moment import checkpoint_state, config_states, last_moment, store_cluster
from mqctl.snapshot.store_queues import offset_states, queue_states
from mqctl.store.directory import StoreDirectory


def gather_lag(path: Path, *, at_ms: int | None = None) -> ClusterSnapshot:
    """Reads only what lag needs: configuration, the ends of the consume queues, a few records; raises likewise."""
    reading = Reading(StoreDirectory.open(path))
    reading.note_unreadable_formats()
    queues = queue_states(reading, with_bytes=False)
    offsets = offset_states(reading)
    newest = [queue.last_store_time_ms for queue in queues if queue.last_store_time_ms is not None]
    moment = last_moment(at_ms, newest, checkpoint_state(reading), config_states(reading))
    wanted = {Part.QUEUES, Part.CONSUMER_OFFSETS}
    broker = BrokerSnapshot(
        queues=queues,
        consumer_offsets=offsets,
        unavailable=tuple(gap for gap in reading.gaps if gap.part in wanted),
    )
    return store_cluster(path, moment, broker)
