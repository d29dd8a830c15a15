"""A second look at the queues of a store that is being written: what follows by itself, and what stands still."""

from __future__ import annotations

import time
from collections.abc import Set

from mqctl.model.damage import DamageCode
from mqctl.store.directory import StoreDirectory
from mqctl.store.log_window import LogFindings
from mqctl.store.verify_plan import QueueFindings

_LOOKS, _BETWEEN_LOOKS_S = 40, 0.05
_OF_QUEUES_ALONE = (DamageCode.QUEUE_BEHIND_LOG, DamageCode.QUEUE_GONE)


def look_again(store: StoreDirectory, log: LogFindings, queues: QueueFindings, before: Set[tuple[str, int]]) -> None:
    """Takes back what a broker has done since the first look: its queues follow the log by milliseconds.

    What still lacks entries that it lacked then stands still, unless the broker has the newest in memory.

    Args:
        before: the queues that had a directory at the first look.
    """
    if store.in_memory:
        queues.damages = [damage for damage in queues.damages if damage.code not in _OF_QUEUES_ALONE]
        queues.behind, queues.dispatched_offset = (), None
        return
    lacking = queues.behind
    for number in range(_LOOKS):
        now = StoreDirectory.open(store.path, commit_log_paths=store.commit_log_paths)
        lacking = tuple(
            item for item in lacking if now.consume_queue(item.topic, item.queue_id).max_offset < item.log_max_offset
        )
        if not lacking:
            break
        if number + 1 < _LOOKS:
            time.sleep(_BETWEEN_LOOKS_S)
    names = {(item.topic, item.queue_id) for item in lacking}
    taken_back = {(item.topic, item.queue_id) for item in queues.behind} - names
    made = set(StoreDirectory.open(store.path, commit_log_paths=store.commit_log_paths).queue_ids()) - before
    past = {DamageCode.QUEUE_BEHIND_LOG: taken_back, DamageCode.QUEUE_GONE: made}
    queues.damages = [
        damage for damage in queues.damages if (damage.topic, damage.queue_id) not in past.get(damage.code, ())
    ]
    queues.behind = lacking
    # Queues are written after the log: one that has caught up vouches for what stood at its end.
    queues.confirms_last = queues.confirms_last or (log.last is not None and not lacking)
