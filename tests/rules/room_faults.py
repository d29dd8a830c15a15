"""Faults of machine rooms (MQ611 to MQ613): the live cluster, judged by a rule that reads rooms from its names."""

from __future__ import annotations

from dataclasses import replace

from mqctl.allocation.rooms import room_rule
from mqctl.model.finding import Value
from mqctl.model.member import RunningInfo
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings
from tests.rules.live_snapshots import BROKERS, LIVE, held, member, membership, running

BY_PREFIX = Settings(room_rule=room_rule("regex:([ab])(?:$|-client)"))


def by_rooms(info: RunningInfo) -> RunningInfo:
    """A member that tells of a strategy by rooms."""
    strategy = "org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby@405209d4"
    return replace(info, properties={**info.properties, "allocateMessageQueueStrategy": strategy})


def rooms(*clients: str) -> ClusterSnapshot:
    """The live cluster with these members; broker-a lies in room a, broker-b in room b."""
    shares = {
        client: [held(broker, number) for broker in BROKERS for number in (0, 1)][index :: len(clients)]
        for index, client in enumerate(clients)
    }
    members = membership(
        client_ids=clients, members=tuple(member(client, 7_000 + n) for n, client in enumerate(clients))
    )
    return replace(
        LIVE,
        brokers=tuple(replace(broker, memberships=(members,)) for broker in LIVE.brokers),
        running=tuple(by_rooms(running(client, BROKERS[0], queues=tuple(shares[client]))) for client in clients),
    )


Scene = tuple[str, ClusterSnapshot, dict[str, Value]]
SCENES: list[Scene] = [
    ("MQ611", rooms("a-client@1", "b-client@2", "nowhere@3", "a-client@4"), {"name_count": 1}),
    ("MQ612", rooms("a-client@1", "a-client@2"), {"queue_count": 2, "member_count": 2}),
    (
        "MQ613",
        rooms("a-client@1", "b-client@2", "b-client@3", "b-client@4"),
        {"queues_per_client": 2.0, "other_queues_per_client": 0.7},
    ),
]
