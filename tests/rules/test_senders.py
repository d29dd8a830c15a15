"""Who sent half messages, and whom a check may reach: groups of any number of clients and topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.message import PRODUCER_GROUP, REAL_TOPIC, UNIQ_KEY, Message
from mqctl.model.transaction_state import TransactionState
from mqctl.rules import diagnose
from mqctl.snapshot.half_messages import half_of, senders_of
from tests.rules.live_faults import each_broker
from tests.rules.live_snapshots import BROKERS, NOW

_STATE = TransactionState(half_min_offset=0, half_max_offset=9, op_min_offset=0, op_max_offset=9, half_progress=9)
_TOPICS = ("Pay", "Refund", "Ship")


def _half(number: int, key: str, group: str, topic: str, born_host: str) -> Message:
    return Message(
        topic="RMQ_SYS_TRANS_HALF_TOPIC",
        queue_id=0,
        queue_offset=number,
        physical_offset=number * 300,
        size_bytes=300,
        sys_flag=0,
        flag=0,
        born_time_ms=NOW,
        born_host=born_host,
        store_time_ms=NOW,
        store_host="192.0.2.8:10911",
        body=b"",
        body_crc=0,
        properties={UNIQ_KEY: key, PRODUCER_GROUP: group, REAL_TOPIC: topic},
        prepared_transaction_offset=0,
        reconsume_times=0,
    )


@given(
    group=st.text("abc-", min_size=1, max_size=6),
    sent=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(_TOPICS), st.integers(1, 3)), max_size=25),
    by_vip=st.booleans(),
    one_host=st.booleans(),
)
def test_clients_of_one_group_that_share_no_topic_are_named(
    group: str, sent: list[tuple[int, str, int]], by_vip: bool, one_host: bool
) -> None:
    """`by_vip`: messages come by another connection of the same host, which names a client only where it is alone."""
    hosts = [f"192.0.2.{1 if one_host else number + 1}" for number in range(4)]
    clients = {f"{host}:{5_000 + number}": f"{host}@{number}" for number, host in enumerate(hosts)}
    halves, number = [], 0
    for turn, (client, topic, copies) in enumerate(sent):
        address = f"{hosts[client]}:{9_000 if by_vip else 5_000 + client}"
        for _ in range(copies):  # each round of checks stores a copy of the same transaction
            halves.append(half_of(number, _half(number, f"K{turn}", group, topic, address)))
            number += 1
    counts: dict[str, Counter[str]] = {}
    if not (by_vip and one_host):
        for client, topic, _ in sent:
            counts.setdefault(f"{hosts[client]}@{client}", Counter())[topic] += 1
    senders = senders_of(halves, {group: clients})
    assert {(item.client_id, item.topic): item.half_count for item in senders} == {
        (client, topic): count for client, topics in counts.items() for topic, count in topics.items()
    }
    many = [set(topics) for topics in counts.values() if topics.total() >= 3]
    apart = any(one.isdisjoint(other) for one, other in combinations(many, 2))
    world = each_broker(lambda broker: replace(broker, transactions=replace(_STATE, senders=senders)), BROKERS[0])
    assert bool(diagnose(world, only=("MQ729",)).findings) == apart
