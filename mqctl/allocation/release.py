"""A grey release before it happens: what is skipped while some members of a group want other tags than the rest.

Brokers hold one subscription for a group, the newest heartbeat's, so that either side's may be the one that counts:
both are computed. Source: docs/models.md, `ConsumerManager` and `RebalanceImpl` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from mqctl.allocation.tag_loss import TagLoss, Tags, tag_losses, wants
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

Counts = Mapping[MessageQueue, Mapping[str, int]]
Owners = Mapping[MessageQueue, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagForecast:
    """One tag that members want before or after.

    Attributes:
        message_count: messages with this tag among those that were counted.
        lost_if_old, lost_if_new: how many of them nobody gets while brokers filter by the old, or the new, tags.
        kept: whether both sides want it: its loss is a loss to everybody.
        queues: where something is lost under either, with the owner.
    """

    tag: str
    message_count: int
    lost_if_old: int
    lost_if_new: int
    kept: bool
    queues: tuple[tuple[MessageQueue, str], ...]

    @property
    def worst(self) -> int:
        return max(self.lost_if_old, self.lost_if_new)


def forecast_losses(
    counts: Counts, owners: Owners, clients: Sequence[str], changed: frozenset[str], tags: tuple[Tags, Tags]
) -> list[TagForecast]:
    """Returns the loss of each tag while the members in `changed` have the new tags and the others the old ones.

    Args:
        counts: messages by queue and tag.
        owners: who consumes each queue; None for nobody.
        tags: the old and the new ones.
    """
    old, new = tags
    wanted: dict[str, Tags] = {client: new if client in changed else old for client in clients}
    under = [{loss.tag: loss for loss in tag_losses(counts, owners, wanted, effective)} for effective in tags]
    totals: dict[str, int] = {}
    for table in counts.values():
        for tag, number in table.items():
            totals[tag] = totals.get(tag, 0) + number
    wanted_tags = [tag for tag in totals if wants(old, tag) or wants(new, tag)]
    return [
        TagForecast(
            tag=tag,
            message_count=totals[tag],
            lost_if_old=_lost(under[0].get(tag)),
            lost_if_new=_lost(under[1].get(tag)),
            kept=wants(old, tag) and wants(new, tag),
            queues=_places(under, tag),
        )
        for tag in sorted(wanted_tags, key=lambda tag: (-max(_lost(table.get(tag)) for table in under), tag))
    ]


def _lost(loss: TagLoss | None) -> int:
    return loss.lost_count if loss else 0


def _places(under: Sequence[Mapping[str, TagLoss]], tag: str) -> tuple[tuple[MessageQueue, str], ...]:
    return tuple(sorted({place for table in under if tag in table for place in table[tag].queues}))


def union(old: Tags, new: Tags) -> Tags:
    """Returns what a subscription to both lets through."""
    return None if old is None or new is None else old | new


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStep:
    """One deployment of a safe way: every member goes from one set of tags to another.

    Attributes:
        lost_count: the most that is lost, on the way, of what both ends of the step want.
    """

    before: Tags
    after: Tags
    lost_count: int


def safe_steps(counts: Counts, owners: Owners, clients: Sequence[str], tags: tuple[Tags, Tags]) -> list[ReleaseStep]:
    """Returns deployments that lose nothing which both their ends want, whichever members have it: by way of both.

    The loss of each is computed over every number of members that may already have it, not believed.
    """
    old, new = tags
    both = union(old, new)
    path = [old, both, new] if both not in (old, new) else [old, new]
    steps = []
    for before, after in pairwise(path):
        worst = 0
        for count in range(1, len(clients)):
            rows = forecast_losses(counts, owners, clients, frozenset(clients[:count]), (before, after))
            worst = max(worst, sum(row.worst for row in rows if row.kept))
        steps.append(ReleaseStep(before=before, after=after, lost_count=worst))
    return steps
