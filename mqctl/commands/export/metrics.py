"""A snapshot as metrics for monitors: what is unknown is NaN or a count of its own, never a zero.

Names follow Prometheus: base units (seconds, ratios), `mqctl_` before everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import nan

from mqctl.commands.export.metric_families import Family, Sample
from mqctl.commands.export.metrics_detail import Detail, client_families, pop_families, queue_families, within_bounds
from mqctl.model.gap import Part
from mqctl.model.lag import GroupLag, QueueLag, group_lags, queue_lags
from mqctl.model.member import broadcasting_groups
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, is_system_group
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.model.replicas import Replica, ReplicaState, replicas
from mqctl.model.runtime import read_runtime
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules.engine.gone_brokers import out_of_reach

_MS = 1000
_LAG, _MEMBERS = "mqctl_group_lag_messages", "mqctl_group_members"
_DEAD_LETTERS = "mqctl_group_dead_letter_messages"
LEFT_OUT = "mqctl_groups_left_out"
_OF_GONE = (Part.CONSUMER_OFFSETS, Part.QUEUES)


def families(snapshot: ClusterSnapshot, most_groups: int | None = None, detail: Detail | None = None) -> list[Family]:
    """Returns the metrics of a live cluster's snapshot.

    Args:
        detail: what there is beside the numbers of groups.
        most_groups: of each cluster, those with members first and then those furthest behind; None for all. How many
            are left out is a metric as well.
    """
    more = detail or Detail()
    of_groups = [*_group_families(snapshot), *_detailed(snapshot, more)]
    bounded = list(_bounded(of_groups, most_groups))
    fine = [family for family in bounded if {"queue", "client"} & set(family.labels)]
    return [
        *_broker_counts(snapshot),
        *_broker_families(snapshot),
        *(family for family in bounded if family not in fine),
        *within_bounds(fine, more.most),
        *_delay_families(snapshot),
        _unknown(snapshot),
    ]


def any_answered(snapshot: ClusterSnapshot) -> bool:
    """Tells whether any broker of the cluster answered."""
    return any(_answered(broker) for broker in snapshot.brokers)


def _broker_counts(snapshot: ClusterSnapshot) -> Iterator[Family]:
    """Counts names, not processes: a master and its slaves are one broker."""
    answer = {(broker.cluster or "", broker.name) for broker in snapshot.brokers if _answered(broker)}
    expected = {(broker.cluster or "", broker.name) for broker in snapshot.brokers}
    expected |= {(seen.cluster, seen.name) for seen in snapshot.seen_brokers}
    clusters = sorted({cluster for cluster, _ in expected})
    for name, text, count in (
        ("mqctl_brokers", "brokers that answered", answer),
        (
            "mqctl_brokers_expected",
            "brokers that are registered, were within seven days, or are part of the cluster",
            expected,
        ),
    ):
        samples = [((cluster,), float(sum(of == cluster for of, _ in count))) for cluster in clusters]
        yield Family(name=name, help=text, labels=("cluster",), samples=samples)


def _identity(broker: BrokerSnapshot) -> tuple[str, ...]:
    return broker.cluster or "", broker.name or "", str(broker.broker_id or 0)


def _answered(broker: BrokerSnapshot) -> bool:
    gap = broker.lacks(Part.RUNTIME)
    return gap is None or gap.said_no


def _broker_families(snapshot: ClusterSnapshot) -> Iterator[Family]:
    labels = ("cluster", "broker", "broker_id")
    brokers = [(_identity(broker), broker, read_runtime(broker.runtime)) for broker in snapshot.brokers]

    def family(name: str, text: str, samples: Iterable[tuple[tuple[str, ...], float | None]]) -> Family:
        known = [(where, nan if value is None else value) for where, value in samples]
        return Family(name=f"mqctl_broker_{name}", help=text, labels=labels, samples=known)

    up = [(i, float(_answered(b))) for i, b, _ in brokers]
    names = {broker.name for broker in snapshot.brokers}
    up += [((seen.cluster, seen.name, "0"), 0.0) for seen in snapshot.seen_brokers if seen.name not in names]
    yield family("up", "1 if the broker answered, 0 if not or if it is not registered any more", up)
    yield family(
        "disk_used_ratio",
        "used share of the fullest of its store's disks",
        ((i, r.disk_used_share) for i, _, r in brokers),
    )
    slaves = replicas(snapshot.brokers)
    yield family(
        "replication_lag_bytes",
        "bytes that a slave's commit log ends before its master's; below 0 when it ends after it",
        ((_slave_identity(snapshot, item), item.behind_bytes) for item in slaves),
    )
    yield family(
        "replication_healthy",
        "1 for a slave that follows its master, 0 for one that is empty, ahead, diverged, far behind or without master",
        ((_slave_identity(snapshot, item), _healthy(item)) for item in slaves),
    )
    yield family(
        "put_messages_per_second", "messages stored, last 10 s", ((i, r.put_tps.newest) for i, _, r in brokers)
    )
    yield family(
        "get_messages_per_second", "messages handed out, last 10 s", ((i, r.get_tps.newest) for i, _, r in brokers)
    )


def _slave_identity(snapshot: ClusterSnapshot, replica: Replica) -> tuple[str, ...]:
    cluster = next((broker.cluster for broker in snapshot.brokers if broker.address == replica.address), None)
    return cluster or "", replica.name, str(replica.broker_id)


def _healthy(replica: Replica) -> float | None:
    return None if replica.state is ReplicaState.UNKNOWN else float(replica.state.follows)


def _bounded(families: list[Family], most: int | None) -> Iterator[Family]:
    """Yields the metrics of so many groups of each cluster, and how many groups there are and have none.

    Groups with members or dead letters come first, then those that are behind most.
    """
    online: dict[tuple[str, ...], bool] = {}
    behind: dict[tuple[str, ...], float] = {}
    for family in families:
        for labels, value in family.samples:
            place = labels[:2]
            telling = family.name in (_MEMBERS, _DEAD_LETTERS) and value != 0
            online[place] = online.get(place, False) or telling
            lag = value if family.name == _LAG and value > 0 else 0.0
            behind[place] = max(behind.get(place, 0.0), lag)
    clusters: dict[str, list[tuple[str, ...]]] = {}
    for place in sorted(online, key=lambda place: (not online[place], -behind[place], place)):
        clusters.setdefault(place[0], []).append(place)
    kept = {place for places in clusters.values() for place in places[:most]}
    for family in families:
        yield replace(family, samples=[sample for sample in family.samples if sample[0][:2] in kept])
    for name, text, count in (
        ("mqctl_groups", "consumer groups there are, of those asked for", len),
        (
            LEFT_OUT,
            "groups without metrics, for there are more than --limit",
            lambda all_: len(all_[most:]) if most else 0,
        ),
    ):
        samples = [((cluster,), float(count(places))) for cluster, places in sorted(clusters.items())]
        yield Family(name=name, help=text, labels=("cluster",), samples=samples)


def _group_families(snapshot: ClusterSnapshot) -> Iterator[Family]:
    now_ms = snapshot.origin.observed_at_ms
    gone = _gone(snapshot)
    parts = [
        _ClusterGroups(cluster, brokers, now_ms, lacking=cluster in gone or "" in gone)
        for cluster, brokers in _clusters(snapshot)
    ]

    def family(name: str, text: str, value: Callable[[GroupLag], float | None]) -> Family:
        samples = [
            ((part.cluster, lag.group, lag.topic), nan if (number := value(lag)) is None or open_sum else number)
            for part in parts
            for lag in part.lags
            for open_sum in [not part.whole or lag.not_read_count > 0]
        ]
        return Family(name=f"mqctl_group_{name}", help=text, labels=("cluster", "group", "topic"), samples=samples)

    yield family(_LAG.removeprefix("mqctl_group_"), "messages not consumed, all queues", lambda lag: lag.lag_count)
    yield family(
        "lag_seconds",
        "age of the oldest message not consumed",
        lambda lag: None if lag.lag_ms is None else lag.lag_ms / _MS,
    )
    yield family("lost_messages", "messages that expired before they were consumed", lambda lag: lag.lost_count)
    yield family(
        "never_committed_queues", "queues without an offset of the group", lambda lag: lag.never_committed_count
    )
    yield from pop_families([(part.cluster, part.shares(), part.pops_told) for part in parts])
    labels = ("cluster", "group")
    members = [sample for part in parts for sample in part.members()]
    yield Family(name=_MEMBERS, help="instances online", labels=labels, samples=members)
    yield Family(
        name=_DEAD_LETTERS,
        help="messages in the dead-letter topic; without a sample there is no such topic",
        labels=labels,
        samples=[sample for part in parts for sample in part.dead_letters()],
    )


def _detailed(snapshot: ClusterSnapshot, detail: Detail) -> Iterator[Family]:
    if detail.queues:
        parts = [_ClusterGroups(*part, snapshot.origin.observed_at_ms) for part in _clusters(snapshot)]
        yield from queue_families([row for part in parts for row in part.queues()])
    if detail.clients:
        yield from client_families(snapshot)


def _clusters(snapshot: ClusterSnapshot) -> list[tuple[str, list[BrokerSnapshot]]]:
    """Returns the brokers of each cluster: a name server may have several."""
    clusters: dict[str, list[BrokerSnapshot]] = {}
    for broker in snapshot.brokers:
        clusters.setdefault(broker.cluster or "", []).append(broker)
    return sorted(clusters.items())


def _gone(snapshot: ClusterSnapshot) -> set[str]:
    """Returns the clusters of which a broker ought to be registered and is not; "" stands for any."""
    clusters = {seen.name: seen.cluster for seen in snapshot.seen_brokers}
    return {clusters.get(name, "") for name in out_of_reach(snapshot)}


class _ClusterGroups:
    """The groups of one cluster.

    Attributes:
        lags: by group and topic, without retry topics that were empty all the time, and without groups that broadcast:
            these keep their offsets themselves.
        whole: whether every broker told offsets and queues; a sum without one of its brokers is no sum.

    Args:
        lacking: a broker ought to be registered and is not.
    """

    def __init__(self, cluster: str, brokers: list[BrokerSnapshot], now_ms: int, *, lacking: bool = False) -> None:
        self.cluster = cluster
        self._lacking = lacking
        self._brokers = brokers
        self._now_ms = now_ms
        lags = group_lags(row for broker in brokers for row in queue_lags(broker, now_ms))
        used = {queue.topic for broker in brokers for queue in broker.queues if queue.max_offset}
        local = broadcasting_groups(entry for broker in brokers for entry in broker.memberships)
        self.lags = [
            lag
            for lag in lags
            if lag.group not in local and (lag.topic in used or not lag.topic.startswith(RETRY_PREFIX))
        ]
        self.whole = not self._lacks(Part.CONSUMER_OFFSETS, Part.QUEUES)
        self.pops_told = not (lacking or any(gap.part is Part.POP for broker in brokers for gap in broker.unavailable))

    def _lacks(self, *parts: Part) -> bool:
        return self._lacking or any(broker.lacks(part) for broker in self._brokers for part in parts)

    def shares(self) -> list[PopShare]:
        """Returns what is popped, of the topics that have other numbers as well."""
        topics = {(lag.group, lag.topic) for lag in self.lags}
        sums = summed_shares(share for broker in self._brokers for share in broker.pop)
        return [share for key, share in sorted(sums.items()) if key in topics]

    def queues(self) -> Iterator[tuple[str, QueueLag, bool]]:
        """Yields each group's queues, and whether their broker told offsets and bounds."""
        topics = {(lag.group, lag.topic) for lag in self.lags}
        for broker in self._brokers:
            complete = not broker.lacks(Part.CONSUMER_OFFSETS) and not broker.lacks(Part.QUEUES)
            for row in queue_lags(broker, self._now_ms):
                if (row.group, row.topic) in topics:
                    yield self.cluster, row, complete

    def members(self) -> list[Sample]:
        """Instances online. One that any broker knows is online; only nobody at all may be for want of an answer."""
        gaps = (gap for broker in self._brokers for gap in broker.unavailable)
        silent = self._lacking or any(gap.part is Part.MEMBERS for gap in gaps)
        clients: dict[str, set[str]] = {}
        for broker in self._brokers:
            for config in broker.groups:
                clients.setdefault(config.name, set())
            for state in broker.consumer_offsets:
                clients.setdefault(state.group, set())
            for entry in broker.memberships:
                clients.setdefault(entry.group, set()).update(entry.client_ids)
        return [
            ((self.cluster, group), float(len(ids)) if ids or not silent else nan)
            for group, ids in sorted(clients.items())
            if not is_system_group(group)
        ]

    def dead_letters(self) -> list[Sample]:
        """Messages in dead-letter topics."""
        whole = not self._lacks(Part.QUEUES)
        unread = {gap.topic for broker in self._brokers for gap in broker.unavailable if gap.part is Part.QUEUES}
        counts: Counter[str] = Counter()
        for broker in self._brokers:
            for queue in broker.queues:
                if queue.topic.startswith(DLQ_PREFIX):
                    counts[queue.topic.removeprefix(DLQ_PREFIX)] += queue.max_offset - queue.min_offset
        return [
            ((self.cluster, group), float(count) if whole and DLQ_PREFIX + group not in unread else nan)
            for group, count in sorted(counts.items())
        ]


def _delay_families(snapshot: ClusterSnapshot) -> Iterator[Family]:
    now_ms = snapshot.origin.observed_at_ms
    late: list[Sample] = []
    waiting: list[Sample] = []
    for broker in snapshot.brokers:
        where = (broker.cluster or "", broker.name or "")
        if broker.broker_id:
            continue
        if broker.delay is None:
            late.append((where, nan))
            waiting.append((where, nan))
            continue
        queues = [level.queue for level in broker.delay.levels if level.queue is not None]
        oldest = min((due for queue in queues if (due := queue.oldest_overdue_time_ms) is not None), default=now_ms)
        late.append((where, max(0, now_ms - oldest) / _MS))
        waiting.append((where, float(sum(queue.waiting_count for queue in queues))))
    labels = ("cluster", "broker")
    text = "how late the latest message of a delay level is"
    yield Family(name="mqctl_delay_late_seconds", help=text, labels=labels, samples=late)
    text = "messages that wait on delay levels"
    yield Family(name="mqctl_delay_waiting_messages", help=text, labels=labels, samples=waiting)


def _unknown(snapshot: ClusterSnapshot) -> Family:
    """What could not be asked, by part: an alert on it tells that other numbers are incomplete."""
    counts = Counter((broker.name or "", str(gap.part)) for broker in snapshot.brokers for gap in broker.unavailable)
    counts.update(("", str(gap.part)) for gap in snapshot.unavailable)
    counts.update((name, str(part)) for name in out_of_reach(snapshot) for part in _OF_GONE)
    return Family(
        name="mqctl_unknown_parts",
        help="questions that were not answered; other metrics are NaN or incomplete where they needed it",
        labels=("broker", "part"),
        samples=[(where, float(count)) for where, count in sorted(counts.items())],
    )
