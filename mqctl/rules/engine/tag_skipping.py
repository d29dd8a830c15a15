"""Who skips what of a topic on which members of a group want different tags (MQ203).

Source: docs/models.md. Brokers filter by the subscription of the last heartbeat; what passes, the owner of its queue
filters by its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.allocation.group_view import GroupView, losses_of, queue_names, tags_of
from mqctl.allocation.tag_loss import wants
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue_state import TagSample


@dataclass(frozen=True, slots=True)
class Skipped:
    """What a group does not get of a topic: what brokers filter out for all, and what owners drop after."""

    filtered_count: int
    dropped_count: int
    names: Mapping[str, str | None]

    @property
    def variant(self) -> str:
        if self.filtered_count and self.dropped_count:
            return "both"
        return "filtered" if self.filtered_count else "dropped" if self.dropped_count else "spared"


def skipped_by_tags(view: GroupView, topic: str, samples: Sequence[TagSample]) -> Skipped:
    """Tells who skips what. A filter of brokers that lets a tag pass skips none of it: then the queue's owner does."""
    effective = view.effective(topic)
    passing = tags_of(effective) if effective is not None else None
    losses = [loss for loss in losses_of(view, topic, samples) if loss.lost_count > loss.unowned_count]
    filtered = [loss for loss in losses if not wants(passing, loss.tag)]
    dropped = [loss for loss in losses if wants(passing, loss.tag)]
    owners: dict[str, list[str]] = {}
    for loss in dropped:
        for owner in sorted({owner for _, owner in loss.queues} & set(view.client_ids)):
            owners.setdefault(owner, []).append(loss.tag or "-")
    return Skipped(
        sum(loss.lost_count for loss in filtered),
        sum(loss.lost_count - loss.unowned_count for loss in dropped),
        {
            "queues": queue_names(sorted({queue for loss in losses for queue, _ in loss.queues})) or None,
            "filtered": ", ".join(loss.tag or "-" for loss in filtered) or None,
            "dropped": "; ".join(f"{owner}: {', '.join(tags)}" for owner, tags in owners.items()) or None,
        },
    )
