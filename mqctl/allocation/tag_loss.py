"""What members of one group that want different tags lose: by queue, owner and tag.

A message is delivered only if its tag is among what the broker filters by and among what its queue's owner wants; the
rest is skipped for good. Source: docs/models.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

Tags = frozenset[str] | None
"""Tags that somebody wants; None for everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagLoss:
    """One tag of a topic that some member wants.

    Attributes:
        message_count: messages with this tag in the queues that were looked at.
        lost_count: those that nobody of the group gets.
        unowned_count: of these, those that brokers would hand out, in queues that nobody is known to own.
        queues: where they are lost, with the owners whose tags keep them out.
    """

    tag: str
    message_count: int
    lost_count: int
    queues: tuple[tuple[MessageQueue, str], ...]
    unowned_count: int = 0

    @property
    def lost_share(self) -> float:
        return self.lost_count / self.message_count if self.message_count else 0.0


def wants(tags: Tags, tag: str) -> bool:
    """Tells whether a set of tags lets a tag through."""
    return tags is None or tag in tags


def tag_losses(
    counts: Mapping[MessageQueue, Mapping[str, int]],
    owners: Mapping[MessageQueue, str | None],
    wanted: Mapping[str, Tags],
    effective: Tags,
) -> list[TagLoss]:
    """Returns the loss of each tag that any member wants, the largest first.

    Args:
        counts: messages by queue and tag.
        owners: who consumes each queue; None for nobody.
        wanted: tags by client id.
        effective: what the broker filters by now.
    """
    tags = {tag for table in counts.values() for tag in table}
    wanted_tags = {tag for tag in tags if any(wants(mine, tag) for mine in wanted.values())}
    losses = []
    for tag in sorted(wanted_tags):
        total = lost = unowned = 0
        places: list[tuple[MessageQueue, str]] = []
        for queue, table in sorted(counts.items()):
            number = table.get(tag, 0)
            owner = owners.get(queue)
            total += number
            delivered = owner is not None and wants(effective, tag) and wants(wanted.get(owner), tag)
            if number and not delivered:
                lost += number
                unowned += number if owner is None and wants(effective, tag) else 0
                places.append((queue, owner or "nobody"))
        if lost:
            loss = TagLoss(tag=tag, message_count=total, lost_count=lost, queues=tuple(places), unowned_count=unowned)
            losses.append(loss)
    return sorted(losses, key=lambda item: -item.lost_count)
