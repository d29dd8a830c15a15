"""How many messages brokers handed out in their last minute, of each group with members and each of its topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.handed_out import HandedOut
from mqctl.model.names import is_retry_topic
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.live.asking import Asking, refused_with

# A counter exists from the first message on (`AdminBrokerProcessor.viewBrokerStatsData`); before that the answer is 1.
_NO_COUNTER = frozenset({1})


def handed_out(cluster: Cluster, deadline: Deadline, first: ClusterSnapshot) -> dict[str, tuple[HandedOut, ...]]:
    """Asks masters (315, GROUP_GET_NUMS) about the groups that had members at a first look, by the brokers' addresses.

    A counter that a broker does not tell is left out.
    """
    asking = Asking(cluster, deadline)
    wanted = sorted(
        {
            (broker.address or "", entry.group, item.topic)
            for broker in first.brokers
            if broker.broker_id in (None, MASTER_ID)
            for known in [{config.name for config in broker.topics}]
            for entry in broker.memberships
            if entry.client_ids
            for item in entry.subscriptions
            if not is_retry_topic(item.topic) and item.topic in known
        }
    )
    answers = asking.put((key, key[0], ask.statistics_item("GROUP_GET_NUMS", f"{key[2]}@{key[1]}")) for key in wanted)
    counts = {key: data.stats_minute.sum for key, data in answers.values.items()}
    counts |= {key: 0 for key, error in answers.errors.items() if refused_with(error, _NO_COUNTER)}
    by_address: dict[str, list[HandedOut]] = {}
    for (address, group, topic), count in sorted(counts.items()):
        by_address.setdefault(address, []).append(HandedOut(group=group, topic=topic, minute_count=count))
    return {address: tuple(items) for address, items in by_address.items()}


def with_handed_out(snapshot: ClusterSnapshot, counts: Mapping[str, tuple[HandedOut, ...]]) -> ClusterSnapshot:
    """Returns a look with what its brokers told just before it."""
    brokers = (replace(broker, handed_out=counts.get(broker.address or "", ())) for broker in snapshot.brokers)
    return replace(snapshot, brokers=tuple(brokers))
