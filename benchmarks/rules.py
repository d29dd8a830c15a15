"""Times all rules over one large live snapshot: 2,000 groups with 3 members each, 5,000 topics, 40,000 queues.

`python -m benchmarks.rules` prints seconds of CPU, the share of each family of rules, and all of them over two looks.
"""

from __future__ import annotations

import time
from dataclasses import replace

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.member import GroupMembership, HeldQueue, Member, MessageModel, RunningInfo, Subscription
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView, RouteQueues, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import diagnose

BROKERS, GROUPS, TOPICS, QUEUES, MEMBERS = 2, 2_000, 5_000, 4, 3
NOW = 1_795_218_000_000
FAMILIES = ("MQ*", "MQ1*", "MQ2*", "MQ3*", "MQ4*", "MQ5*", "MQ6*")


def main() -> None:
    snapshot = cluster()
    for family in FAMILIES:
        run(family, snapshot, family)
    before = replace(snapshot, origin=replace(snapshot.origin, observed_at_ms=NOW - 60_000))
    run("twice", replace(snapshot, earlier=before), "MQ*")


def run(name: str, snapshot: ClusterSnapshot, family: str) -> None:
    """Judges once and prints what it took."""
    start = time.process_time()
    diagnosis = diagnose(snapshot, only=(family,))
    taken = time.process_time() - start
    print(f"{name:<6}{taken:7.2f} s  {len(diagnosis.rules_run):3} rules  {len(diagnosis.findings)} findings")


def cluster(group_count: int = GROUPS, topic_count: int = TOPICS) -> ClusterSnapshot:
    """Returns a healthy cluster in which each group consumes two topics."""
    topics = [f"topic-{number}" for number in range(topic_count)]
    names = [f"broker-{number}" for number in range(BROKERS)]
    endpoints = tuple(BrokerEndpoint(cluster="C", name=name, addresses={0: f"{name}:10911"}) for name in names)
    routes = tuple(
        TopicRoute(
            topic=topic,
            queues=tuple(
                RouteQueues(broker_name=name, read_queue_count=QUEUES, write_queue_count=QUEUES, perm=6)
                for name in names
            ),
            endpoints=endpoints,
        )
        for topic in topics
    )
    wants = {f"group-{number}": (topics[number], topics[number + group_count]) for number in range(group_count)}
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=NOW, observed_from=ObservedFrom.CLOCK),
        brokers=tuple(_broker(name, topics, wants) for name in names),
        name_servers=(NameServerView(address="x", endpoints=endpoints, routes=routes),),
        running=tuple(info for group, pair in wants.items() for info in _running(group, pair, names)),
    )


def _clients(group: str) -> list[str]:
    return [f"10.0.0.{number}@{group}#{number}" for number in range(MEMBERS)]


def _broker(name: str, topics: list[str], wants: dict[str, tuple[str, str]]) -> BrokerSnapshot:
    return BrokerSnapshot(
        name=name,
        broker_id=0,
        topics=tuple(TopicConfig(name=topic, read_queue_count=QUEUES, write_queue_count=QUEUES) for topic in topics),
        groups=tuple(SubscriptionGroupConfig(name=group) for group in wants),
        queues=tuple(
            QueueState(topic=topic, queue_id=number, min_offset=0, max_offset=100, last_store_time_ms=NOW - 1_000)
            for topic in topics
            for number in range(QUEUES)
        ),
        consumer_offsets=tuple(
            ConsumerOffsetState(group=group, topic=topic, queue_id=number, offset=100)
            for group, pair in wants.items()
            for topic in pair
            for number in range(QUEUES)
        ),
        memberships=tuple(
            GroupMembership(
                group=group,
                client_ids=tuple(_clients(group)),
                members=tuple(
                    Member(client_id=client, address=f"{client}:1", language="JAVA") for client in _clients(group)
                ),
                message_model=MessageModel.CLUSTERING,
                subscriptions=tuple(Subscription(topic=topic) for topic in pair),
            )
            for group, pair in wants.items()
        ),
    )


def _running(group: str, pair: tuple[str, str], names: list[str]) -> list[RunningInfo]:
    every = [MessageQueue(topic, name, number) for topic in pair for name in names for number in range(QUEUES)]
    return [
        RunningInfo(
            group=group,
            client_id=client,
            subscriptions=tuple(Subscription(topic=topic) for topic in pair),
            queues=tuple(
                HeldQueue(queue=queue, commit_offset=100, last_pull_time_ms=NOW, last_consume_time_ms=NOW)
                for queue in every[index::MEMBERS]
            ),
            properties={"PROP_CONSUMEORDERLY": "false", "PROP_CONSUMER_START_TIMESTAMP": str(NOW - 3_600_000)},
        )
        for index, client in enumerate(_clients(group))
    ]


if __name__ == "__main__":
    main()
