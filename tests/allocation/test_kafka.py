"""Kafka's assignors over message queues: Kafka's own documented examples, and what must hold for any group."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.kafka import KafkaAssignor, kafka_owners
from mqctl.model.queue import MessageQueue

TOPICS = ("t0", "t1", "t2")


def queues(**counts: int) -> list[MessageQueue]:
    return [MessageQueue(topic, "broker-a", number) for topic, count in counts.items() for number in range(count)]


def owned(owners: dict[MessageQueue, str]) -> dict[str, set[str]]:
    topics_of: dict[str, set[str]] = {}
    for queue, client in owners.items():
        topics_of.setdefault(client, set()).add(f"{queue.topic}p{queue.queue_id}")
    return topics_of


def everything(*clients: str) -> dict[str, frozenset[str]]:
    return dict.fromkeys(clients, frozenset(TOPICS))


def test_range_as_kafka_documents_it() -> None:
    # RangeAssignor: two consumers, two topics of three partitions.
    owners = kafka_owners(KafkaAssignor.RANGE, queues(t0=3, t1=3), everything("C0", "C1"))
    assert owned(owners) == {"C0": {"t0p0", "t0p1", "t1p0", "t1p1"}, "C1": {"t0p2", "t1p2"}}


def test_roundrobin_as_kafka_documents_it() -> None:
    # RoundRobinAssignor: the same, and three consumers that subscribe to one, two and three topics.
    owners = kafka_owners(KafkaAssignor.ROUNDROBIN, queues(t0=3, t1=3), everything("C0", "C1"))
    assert owned(owners) == {"C0": {"t0p0", "t0p2", "t1p1"}, "C1": {"t0p1", "t1p0", "t1p2"}}
    wants = {"C0": frozenset({"t0"}), "C1": frozenset({"t0", "t1"}), "C2": frozenset(TOPICS)}
    owners = kafka_owners(KafkaAssignor.ROUNDROBIN, queues(t0=1, t1=2, t2=3), wants)
    assert owned(owners) == {"C0": {"t0p0"}, "C1": {"t1p0"}, "C2": {"t1p1", "t2p0", "t2p1", "t2p2"}}


def test_sticky_as_kafka_documents_it() -> None:
    # StickyAssignor: four topics of two partitions; when C1 leaves, the others keep all that they have.
    topics = frozenset({"t0", "t1", "t2", "t3"})
    listed = queues(t0=2, t1=2, t2=2, t3=2)
    before = kafka_owners(KafkaAssignor.STICKY, listed, dict.fromkeys(("C0", "C1", "C2"), topics))
    assert owned(before) == {"C0": {"t0p0", "t1p1", "t3p0"}, "C1": {"t0p1", "t2p0", "t3p1"}, "C2": {"t1p0", "t2p1"}}
    after = kafka_owners(KafkaAssignor.STICKY, listed, dict.fromkeys(("C0", "C2"), topics), before)
    assert owned(after) == {"C0": {"t0p0", "t1p1", "t3p0", "t2p0"}, "C2": {"t1p0", "t2p1", "t0p1", "t3p1"}}
    # Example 2 there: subscriptions of one, two and three topics.
    wants = {"C0": frozenset({"t0"}), "C1": frozenset({"t0", "t1"}), "C2": frozenset(TOPICS)}
    owners = kafka_owners(KafkaAssignor.STICKY, queues(t0=1, t1=2, t2=3), wants)
    assert owned(owners) == {"C0": {"t0p0"}, "C1": {"t1p0", "t1p1"}, "C2": {"t2p0", "t2p1", "t2p2"}}
    # C0 leaves: five of six stay (round robin keeps three of them).
    del wants["C0"]
    after = kafka_owners(KafkaAssignor.STICKY, queues(t0=1, t1=2, t2=3), wants, owners)
    assert owned(after) == {"C1": {"t1p0", "t1p1", "t0p0"}, "C2": {"t2p0", "t2p1", "t2p2"}}
    dealt = kafka_owners(KafkaAssignor.ROUNDROBIN, queues(t0=1, t1=2, t2=3), wants)
    assert owned(dealt) == {"C1": {"t0p0", "t1p1"}, "C2": {"t1p0", "t2p0", "t2p1", "t2p2"}}


WANTS = st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from(TOPICS)), min_size=1)
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 9) for topic in TOPICS})


@given(wants=WANTS, later=WANTS, counts=COUNTS)
def test_every_wanted_queue_has_one_owner_that_wants_it(
    wants: dict[str, frozenset[str]], later: dict[str, frozenset[str]], counts: dict[str, int]
) -> None:
    listed = queues(**counts)
    for assignor in KafkaAssignor:
        before = kafka_owners(assignor, listed, wants)
        for subscriptions, owners in ((wants, before), (later, kafka_owners(assignor, listed, later, before))):
            wanted = {topic for topics in subscriptions.values() for topic in topics}
            assert set(owners) == {queue for queue in listed if queue.topic in wanted}
            assert all(queue.topic in subscriptions[client] for queue, client in owners.items())


@given(count=st.integers(1, 60), clients=st.integers(1, 12), more=st.integers(-3, 3))
def test_sticky_is_even_and_moves_no_more_than_it_must(count: int, clients: int, more: int) -> None:
    listed = queues(t0=count)
    names = [f"c{number:02d}" for number in range(15)]
    before = kafka_owners(KafkaAssignor.STICKY, listed, everything(*names[:clients]))
    members = names[: max(1, clients + more)]
    after = kafka_owners(KafkaAssignor.STICKY, listed, everything(*members), before)
    loads = [Counter(after.values())[name] for name in members]
    assert max(loads) - min(loads) <= 1
    homeless = sum(owner not in members for owner in before.values())
    joined = sum(Counter(after.values())[name] for name in members[clients:])
    assert sum(before[queue] != owner for queue, owner in after.items()) <= homeless + joined
