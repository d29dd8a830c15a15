"""Metrics by queue and of clients, on request: as many series as agreed, and a count of those that are left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from math import isnan, nan

from mqctl.commands.export.metric_families import Family, Sample
from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import RunningInfo, TopicRates
from mqctl.model.pop_share import PopShare
from mqctl.model.snapshot import ClusterSnapshot

_MS = 1000
QUEUE_LABELS = ("cluster", "group", "topic", "broker", "queue")
_CLIENT_LABELS = ("cluster", "group", "client")
_RATE_LABELS = (*_CLIENT_LABELS, "topic")
_LAG = "mqctl_group_queue_lag_messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What is exported beside the numbers of groups.

    Attributes:
        queues, clients: whether there are metrics by queue, and of clients.
        most: queues, and clients, that have metrics.
    """

    queues: bool = False
    clients: bool = False
    most: int = 10_000


def queue_families(rows: Sequence[tuple[str, QueueLag, bool]]) -> Iterator[Family]:
    """Yields metrics by queue.

    Args:
        rows: cluster, queue, and whether its broker told offsets and bounds.
    """
    values: tuple[tuple[str, str, Callable[[QueueLag], float | None]], ...] = (
        (_LAG, "messages not consumed", lambda row: row.lag_count),
        (
            "mqctl_group_queue_lag_seconds",
            "age of the oldest message not consumed",
            lambda row: None if row.lag_ms is None else row.lag_ms / _MS,
        ),
        ("mqctl_group_queue_consumer_offset", "next message to consume", lambda row: row.consumer_offset),
        ("mqctl_group_queue_broker_offset", "one past the last message", lambda row: row.broker_offset),
    )
    for name, text, value in values:
        samples = [
            (
                (cluster, row.group, row.topic, row.broker_name or "", str(row.queue_id)),
                nan if (number := value(row)) is None or not complete else float(number),
            )
            for cluster, row, complete in rows
        ]
        yield Family(name=name, help=text, labels=QUEUE_LABELS, samples=samples)


def pop_families(clusters: Sequence[tuple[str, Sequence[PopShare], bool]]) -> Iterator[Family]:
    """Yields how groups consume topics for which that was set, or which were popped (5.x), and how far they are.

    Args:
        clusters: each with its groups and topics, and whether all brokers told what is popped.
    """
    values: tuple[tuple[str, str, Callable[[PopShare], int | None]], ...] = (
        ("pops", "1 where the group shares messages (POP), 0 where it pulls", lambda share: share.shown_mode == "POP"),
        ("ready_messages", "messages that nobody popped yet", lambda share: share.ready_count),
        ("invisible_messages", "popped, not acknowledged and not due", lambda share: share.invisible_count),
        ("due_messages", "popped, not acknowledged, and due for redelivery", lambda share: share.due_count),
        ("retry_messages", "waiting in the retry topics of pops", lambda share: share.retry_count),
    )
    for name, text, value in values:
        samples = [
            ((cluster, share.group, share.topic), float(number) if number is not None and known else nan)
            for cluster, shares, complete in clusters
            for share in shares
            for number, known in [(value(share), complete or name == "pops")]
        ]
        yield Family(name=f"mqctl_group_{name}", help=text, labels=("cluster", "group", "topic"), samples=samples)


def client_families(snapshot: ClusterSnapshot) -> Iterator[Family]:
    """Yields what consumers say of themselves; one that does not answer has `mqctl_client_answers` 0 and nothing
    else."""
    running = {(info.group, info.client_id): info for info in snapshot.running}
    clients = {
        (broker.cluster or "", entry.group, client)
        for broker in snapshot.brokers
        for entry in broker.memberships
        for client in entry.client_ids
    }
    places = [(place, running.get(place[1:])) for place in sorted(clients)]
    heard = [(place, info) for place, info in places if info is not None]
    answers = [(place, float(info is not None)) for place, info in places]
    text = "1 if the client told what it is doing, 0 if not"
    yield Family(name="mqctl_client_answers", help=text, labels=_CLIENT_LABELS, samples=answers)
    of_clients: tuple[tuple[str, str, Callable[[RunningInfo], float]], ...] = (
        ("queues", "queues that it holds", lambda info: sum(not item.dropped for item in info.queues)),
        (
            "cached_messages",
            "pulled or popped, and not consumed yet",
            lambda info: sum(item.cached_count for item in info.queues) + sum(info.held_counts.values()),
        ),
    )
    for name, text, number in of_clients:
        samples = [(place, float(number(info))) for place, info in heard]
        yield Family(name=f"mqctl_client_{name}", help=text, labels=_CLIENT_LABELS, samples=samples)
    of_topics: tuple[tuple[str, str, Callable[[TopicRates], float]], ...] = (
        ("consumed_messages_per_second", "messages consumed", lambda rates: rates.consume_ok_tps),
        ("failed_messages_per_second", "messages whose consumption failed", lambda rates: rates.consume_failed_tps),
        ("consume_seconds", "how long its listener takes, on average", lambda rates: rates.consume_rt_ms / _MS),
        ("pulled_messages_per_second", "messages pulled", lambda rates: rates.pull_tps),
    )
    for name, text, rate in of_topics:
        by_topic = [((*place, rates.topic), rate(rates)) for place, info in heard for rates in info.rates]
        yield Family(name=f"mqctl_client_{name}", help=text, labels=_RATE_LABELS, samples=by_topic)


def within_bounds(families: Collection[Family], most: int) -> Iterator[Family]:
    """Yields the metrics of at most so many queues, those furthest behind first, and of so many clients; then how many
    are left out."""
    for kind, labels in (("queue", QUEUE_LABELS), ("client", _CLIENT_LABELS)):
        some = [family for family in families if family.labels[: len(labels)] == labels]
        if not some:
            continue
        ranks: dict[tuple[str, ...], float] = {}
        for family in some:
            for values, number in family.samples:
                place = values[: len(labels)]
                behind = 0.0 if family.name != _LAG or isnan(number) else number
                ranks[place] = max(ranks.get(place, behind), behind)
        kept = set(sorted(ranks, key=lambda place: (-ranks[place], place))[:most])
        for family in some:
            yield replace(family, samples=[item for item in family.samples if item[0][: len(labels)] in kept])
        left_out: list[Sample] = [((), float(len(ranks) - len(kept)))]
        text = f"{kind}s without metrics, for there are more than {most:,}"
        yield Family(name=f"mqctl_{kind}s_left_out", help=text, labels=(), samples=left_out)
