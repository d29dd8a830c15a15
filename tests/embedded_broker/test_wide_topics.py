"""Requests about 65,536 queues hold nobody up: what they cost grows by the queues, and is done in slices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.config import MOST_QUEUES
from mqctl.protocol.bodies_client import LockedQueues
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.header import Request
from mqctl.protocol.requests_admin import (
    CloneGroupOffset,
    CreateTopic,
    DeleteSubscriptionGroup,
    InvokeBrokerToResetOffset,
)
from mqctl.protocol.requests_client import GetMaxOffset, LockBatchMq, UnlockBatchMq, UpdateConsumerOffset
from mqctl.protocol.requests_pop import Notification, PeekMessage, PopMessage, QueryAssignment
from tests.each import each
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

LONGEST_S, SHARE = 0.1, 2
"""How long nobody else waits, but for a machine on which all of it takes much longer: then for that share of it."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3") as cluster:
        with Peer(cluster.broker().address) as peer:
            for topic in ("Wide", "Wider"):
                wide = CreateTopic(
                    topic=topic,
                    default_topic="TBW102",
                    read_queue_nums=MOST_QUEUES,
                    write_queue_nums=MOST_QUEUES,
                    perm=6,
                    topic_filter_type="SINGLE_TAG",
                )
                assert peer.call(wide).code == 0
            assert peer.call(send("Wide", queue_id=MOST_QUEUES - 7), b"needle").code == 0
        yield cluster


def pop(topic: str, group: str, poll_ms: int = 0) -> PopMessage:
    return PopMessage(
        consumer_group=group, topic=topic, queue_id=-1, max_msg_nums=32, invisible_time=60_000, poll_time=poll_ms,
        born_time=0, init_mode=0,
    )  # fmt: skip


def lock_body(count: int, group: str = "locking") -> bytes:
    queues = [{"topic": "Wide", "brokerName": "b", "queueId": number} for number in range(count)]
    return dump_bytes({"clientId": "c", "consumerGroup": group, "mqSet": queues})


WIDE: dict[str, tuple[Callable[[], Request], bytes, int, str]] = {
    "pop": (lambda: pop("Wide", "popping"), b"", 0, "needle"),
    "pop of nothing": (lambda: pop("Wider", "popping"), b"", ResponseCode.POLLING_TIMEOUT, ""),
    "peek": (
        lambda: PeekMessage(consumer_group="peeking", topic="Wide", queue_id=-1, max_msg_nums=32), b"", 0, "needle",
    ),
    "assignment": (
        QueryAssignment, dump_bytes({"topic": "Wide", "consumerGroup": "G", "clientId": "c", "strategyName": "AVG",
                                     "messageModel": "BROADCASTING"}), 0, '"queueId":65535',
    ),
    "reset": (
        lambda: InvokeBrokerToResetOffset(topic="Wide", group="popping", timestamp=0, is_force=True), b"", 0, "65535",
    ),
    "lock": (LockBatchMq, lock_body(8_000), 0, '"queueId":7999'),
    "notification": (
        lambda: Notification(consumer_group="told", topic="Wider", queue_id=-1, poll_time=0, born_time=0), b"", 0, "",
    ),
}  # fmt: skip
"""What asks about all queues: the request, its body, the code and a part of the body that it is answered."""


_TRIES = 3
"""A busy machine, and the collector of a large process, add pauses of their own, and never take one away."""


@each("name", WIDE)
def test_others_are_served_while_it_is_worked_at(cluster: EmbeddedCluster, name: str) -> None:
    shares: list[float] = []
    while len(shares) < _TRIES and not any(share < 1 for share in shares):
        shares.append(longest_pause(cluster, name))
    assert min(shares) < 1, shares


def longest_pause(cluster: EmbeddedCluster, name: str) -> float:
    """Returns how long somebody else waited at most while the request was worked at, as a share of what may be."""
    make, body, code, holds = WIDE[name]
    address = cluster.broker().address
    answers = []
    with Peer(address) as wide, Peer(address) as healthy:
        worker = threading.Thread(target=lambda: answers.append(wide.call(make(), body)))
        worker.start()
        moments = [monotonic()]
        while worker.is_alive():
            assert healthy.call(GetMaxOffset(topic="Wide", queue_id=0)).code == 0
            moments.append(monotonic())
        worker.join()
    assert (answers[0].code, holds.encode() in answers[0].body) == (code, True)
    longest_s = max((after - before for before, after in pairwise(moments)), default=0.0)
    return longest_s / max(LONGEST_S, (moments[-1] - moments[0]) / SHARE)


def test_a_message_that_comes_while_a_pop_looks_is_not_missed(cluster: EmbeddedCluster) -> None:
    """It may come to a queue that the pop has passed: nobody waits for it yet."""
    address = cluster.broker().address
    answers = []
    with Peer(address) as wide, Peer(address) as sender:
        assert wide.call(pop("Wider", "late")).code == ResponseCode.POLLING_TIMEOUT
        worker = threading.Thread(target=lambda: answers.append(wide.call(pop("Wider", "late", 15_000))))
        began = monotonic()
        worker.start()
        for queue in range(0, MOST_QUEUES, MOST_QUEUES // 8):
            assert sender.call(send("Wider", queue_id=queue), b"x").code == 0
        worker.join()
        assert answers[0].code == 0
        assert monotonic() - began < 14


@pytest.mark.parametrize("request_", [LockBatchMq(), UnlockBatchMq()], ids=["lock", "unlock"])
def test_a_body_of_more_queues_than_any_client_locks_is_refused(cluster: EmbeddedCluster, request_: Request) -> None:
    with Peer(cluster.broker().address) as peer:
        answer = peer.call(request_, lock_body(20_000))
    assert (answer.code, "at most 524288" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)


def test_locks_are_bounded_and_those_that_are_over_make_room(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embedded_broker.consumers.locks.MOST_LOCKS", 100)
    with EmbeddedCluster(virtual_time=True) as small, Peer(small.broker().address) as peer:

        def granted(count: int, group: str) -> int:
            return len(LockedQueues.from_bytes(peer.call(LockBatchMq(), lock_body(count, group)).body).lock_ok_mq_set)

        assert [granted(70, "a"), granted(70, "b"), granted(70, "a")] == [70, 30, 70]
        small.advance(61_000)
        assert granted(70, "c") == 70
        peer.call(UnlockBatchMq(), lock_body(50, "c"))
        assert granted(100, "d") == 80


def test_offsets_of_queues_that_clients_invent_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("embedded_broker.consumers.offsets.MOST_QUEUES", 50)
    monkeypatch.setattr("embedded_broker.consumers.offsets.MOST_OFFSETS", 80)
    with EmbeddedCluster(version="4.9.8") as small, Peer(small.broker().address) as peer:

        def commit(group: str, queue: int) -> int:
            request = UpdateConsumerOffset(consumer_group=group, topic="T", queue_id=queue, commit_offset=1)
            return peer.call(request).code

        assert peer.call(send("T"), b"x").code == 0
        first = [commit("a", queue) for queue in range(60)]
        second = [commit("b", queue) for queue in range(60)]
        assert (first.count(0), second.count(0)) == (50, 30)
        assert commit("a", 49) == 0  # what is known moves on
        assert peer.call(CloneGroupOffset(src_group="a", dest_group="c", topic="T", offline=True)).code != 0
        assert peer.call(DeleteSubscriptionGroup(group_name="a", remove_offset=True)).code == 0
        assert commit("c", 0) == 0


def test_a_commit_costs_no_more_beside_many_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """It copied the group's offsets each time: a hundred thousand invented queue ids took a minute."""
    copied: list[int] = []

    class Noted(dict[int, int]):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            copied.append(len(self))

    monkeypatch.setattr("embedded_broker.consumers.offsets.dict", Noted, raising=False)
    with EmbeddedCluster(version="4.9.8") as small, Peer(small.broker().address) as peer:
        for queue in range(100):
            request = UpdateConsumerOffset(consumer_group="a", topic="T", queue_id=queue, commit_offset=1)
            assert peer.call(request).code == 0
    assert copied == []
