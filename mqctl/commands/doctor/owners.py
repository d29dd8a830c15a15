"""Who holds which queues of groups, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.allocation.group_view import queue_names
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.rates import QueueFlow
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Table
from mqctl.text import sentence

_OWNER_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("owner", "held by", none="nobody"),
    Column("queues", "queues"),
    Column("lag_count", "lag", CellKind.COUNT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    group: str
    topic: str
    owner: str | None
    queues: str
    lag_count: int


def owner_table(advices: Sequence[BacklogAdvice]) -> Table:
    """Returns who holds which queues of each group and topic, and how much waits there."""
    held: dict[tuple[str, str, str | None], list[QueueFlow]] = {}
    for advice in advices:
        for flow in advice.queues:
            held.setdefault((flow.group, flow.queue.topic, flow.owner), []).append(flow)
    rows = [
        _Held(
            group=group,
            topic=topic,
            owner=owner,
            queues=queue_names([flow.queue for flow in flows]),
            lag_count=sum(flow.lag_count or 0 for flow in flows),
        )
        for (group, topic, owner), flows in sorted(held.items(), key=lambda item: (*item[0][:2], item[0][2] or ""))
    ]
    return Table(_OWNER_COLUMNS, rows, title=sentence("title-queues", "Queues"))
