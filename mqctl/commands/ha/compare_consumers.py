"""What consumers read again, and what they miss, when one of two stores serves them instead of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.commands.ha.compare_rows import ConsumerEffect
from mqctl.store import config_files as configs
from mqctl.store.compare_logs import LogRegion
from mqctl.store.log_holdings import LogHolding

Shares = Mapping[LogRegion, list[LogHolding]]
_ByQueue = dict[tuple[str, int], list[LogHolding]]


def consumer_effects(
    serving: str, offsets: configs.OffsetTable, others: configs.OffsetTable, only_other: Shares
) -> list[ConsumerEffect]:
    """Returns, by group and topic, what changes for consumers that went on by the offsets of the other store.

    Args:
        serving: name of the store that serves them now, with its own `offsets`.
        only_other: what only the other store has.
    """
    held = _by_queue(share for shares in only_other.values() for share in shares)
    ends = _by_queue(only_other[LogRegion.END])
    effects = []
    for topic, group in sorted(offsets.offsets.keys() | others.offsets.keys()):
        own, before = offsets.offsets.get((topic, group), {}), others.offsets.get((topic, group), {})
        again, missed, without = [], [], 0
        for queue_id in sorted(own.keys() | before.keys()):
            stood = before.get(queue_id, own.get(queue_id, 0))
            missed.append(sum(_not_before(share, stood) for share in held.get((topic, queue_id), ())))
            if queue_id not in own:
                without += 1
            elif queue_id in before:
                end = min((share.first_offset for share in ends.get((topic, queue_id), ())), default=stood)
                again.append(max(0, min(stood, end) - own[queue_id]))
        if any(again) or any(missed) or without:
            effects.append(
                ConsumerEffect(
                    serving=serving,
                    group=group,
                    topic=topic,
                    read_again_count=sum(again),
                    missed_count=sum(missed),
                    without_offset_count=without,
                )
            )
    return effects


def _not_before(share: LogHolding, offset: int) -> int:
    """Returns how many messages of a share come at an offset or later."""
    return min(share.count, max(0, share.last_offset + 1 - max(share.first_offset, offset)))


def _by_queue(shares: Iterable[LogHolding]) -> _ByQueue:
    table: _ByQueue = {}
    for share in shares:
        table.setdefault((share.topic, share.queue_id), []).append(share)
    return table
