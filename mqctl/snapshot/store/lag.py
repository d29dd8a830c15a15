"""What `group lag` needs of a store, and nothing else: it must start fast."""

from __future__ import annotations

from pathlib import Path

from mqctl.model.config_file import FileSource
from mqctl.model.gap import Part
from mqctl.model.lag import LagEvidence
from mqctl.model.names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from mqctl.model.pop_share import PopShare
from mqctl.snapshot.store.moment import store_origin
from mqctl.snapshot.store.queues import offset_states, queue_states
from mqctl.snapshot.store.reading import Reading
from mqctl.store.config_files import ORDER_INFOS, REQUEST_MODES, TOPICS, queue_counts
from mqctl.store.directory import POP_DATABASE, StoreDirectory, is_rocksdb


def may_pop(reading: Reading) -> bool:
    """Tells whether anything of a store can be of POP consumption, so that most need not read for it."""
    if any(topic.startswith(REVIVE_TOPIC_PREFIX) for topic, _ in reading.bounds):
        return True
    if (TIMER_TOPIC, 0) in reading.bounds or is_rocksdb(reading.store.path / POP_DATABASE):
        return True
    return any(reading.config(name).state.source is not FileSource.NONE for name in (ORDER_INFOS, REQUEST_MODES))


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
    wanted = {Part.QUEUES, Part.CONSUMER_OFFSETS, Part.POP, Part.STORE_TIMES}
    origin = store_origin(reading, at_ms, newest)
    pop: tuple[PopShare, ...] = ()
    if may_pop(reading):
        from mqctl.snapshot.store.pop import store_pop_shares

        pop = store_pop_shares(reading, origin.observed_at_ms)
    return LagEvidence(
        origin=origin,
        name=broker_name,
        queues=queues,
        consumer_offsets=offset_states(reading),
        queue_counts=queue_counts(reading.config(TOPICS)),
        unavailable=tuple(gap for gap in reading.gaps if gap.part in wanted),
        pop=pop,
    )
