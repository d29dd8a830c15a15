"""Messages of thousands of keys: others have their turn while those are indexed, and no key is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.clock import VirtualClock
from embedded_broker.log import index_backlog
from embedded_broker.log.store import Storage
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.requests_admin import QueryMessage
from mqctl.store.directory import StoreDirectory
from mqctl.store.disk import DiskFullError
from mqctl.store.verify import verify
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_storage import NOW_MS, found_by_key, opened, put
from tests.embedded_broker.wire import Peer

COUNT = 2_000
FAR_MS = 1 << 62


def keys(number: int) -> str:
    return " ".join(f"{number}-{key}" for key in range(COUNT))


def indexed(storage: Storage) -> int:
    return sum(header.count - 1 for header in storage.index.files.values())


def found(storage: Storage, key: str) -> int:
    return len(found_by_key(storage, "TopicTest", key, 0, FAR_MS, 64))


def test_keys_are_written_in_portions(tmp_path: Path) -> None:
    clock = VirtualClock(NOW_MS)
    storage = opened(tmp_path, clock)
    written = [0]
    for number in range(8):
        put(storage, key=keys(number))
        written.append(indexed(storage))
    while written[-1] < 8 * COUNT:
        clock.advance(1)
        written.append(indexed(storage))
    steps = [after - before for before, after in pairwise(written)]
    assert max(steps) <= index_backlog.PORTION
    storage.close()


def test_whoever_looks_for_a_key_finds_those_that_wait(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(3):
        put(storage, key=keys(number))
    assert indexed(storage) < 3 * COUNT
    assert [found(storage, f"{number}-{COUNT - 1}") for number in range(3)] == [1, 1, 1]
    storage.close()
    damages = verify(StoreDirectory.open(tmp_path)).damages
    assert [damage for damage in damages if damage.file.startswith("index")] == []


def test_a_kill_among_the_keys_of_a_message_loses_none(tmp_path: Path) -> None:
    clock = VirtualClock(NOW_MS)
    storage = opened(tmp_path, clock)
    for number in range(6):
        put(storage, key=keys(number))
    clock.advance(1)
    assert 0 < indexed(storage) < COUNT
    storage.abandon()
    again = opened(tmp_path)
    assert [found(again, f"{number}-{key}") for number in range(6) for key in (0, COUNT - 1)] == [1] * 12
    again.close()


def test_a_full_disk_keeps_what_waits(tmp_path: Path) -> None:
    clock = VirtualClock(NOW_MS)
    storage = opened(tmp_path, clock)
    for number in range(6):
        put(storage, key=keys(number))
    storage.disk.free_bytes = 0
    clock.advance(5)
    with pytest.raises(DiskFullError):
        put(storage, body=b"x" * 100)
    storage.disk.free_bytes = None
    clock.advance(1_000)
    assert indexed(storage) > 0
    assert [found(storage, f"{number}-0") for number in range(6)] == [1] * 6
    storage.close()


def test_those_who_bring_more_than_may_wait_are_answered_later_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_backlog, "MOST_CHARACTERS", 30_000)
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer, Peer(cluster.broker().address) as other:
        requests = [send("Keyed", properties={"KEYS": keys(number)}) for number in range(8)]
        opaques = [peer.next_opaque() for _ in requests]
        frames = [
            encode(request.command(opaque=opaque, body=b"x")) for request, opaque in zip(requests, opaques, strict=True)
        ]
        peer.socket.sendall(b"".join(frames))
        assert other.call(send("Healthy", properties={"KEYS": "a"}), b"x").code == ResponseCode.SUCCESS
        answers = [peer.answer_to(opaque) for opaque in opaques]
        assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * 8
        assert [(answer.ext_fields or {})["queueOffset"] for answer in answers] == [str(number) for number in range(8)]
        for number in range(8):
            query = QueryMessage(
                topic="Keyed", key=f"{number}-{COUNT - 1}", max_num=32, begin_timestamp=0, end_timestamp=FAR_MS
            )
            assert other.call(query).code == ResponseCode.SUCCESS


def test_an_answer_that_no_frame_holds_says_so() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(5):
            assert peer.call(send("Large", properties={"KEYS": "k"}), bytes(4_000_000)).code == ResponseCode.SUCCESS
        answer = peer.call(QueryMessage(topic="Large", key="k", max_num=32, begin_timestamp=0, end_timestamp=FAR_MS))
        assert (answer.code, "the answer is too large" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
