"""What must not upset a broker: files that are broken, ends that come twice, locks of strangers, clocks that jump."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockedQueues, LockRequest
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import EndTransaction, LockBatchMq, UnlockBatchMq
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

MINUTE = 60_000


@pytest.fixture(params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(virtual_time=True, version=request.param, data_dir=tmp_path) as running:
        yield running


def delivered(peer: Peer, topic: str = "T") -> list[bytes]:
    answer = peer.call(pull(topic, 0))
    return [message.body for message in decode_messages(answer.body)] if answer.code == 0 else []


def later(peer: Peer, level: object, body: bytes) -> RemotingCommand:
    return peer.call(send("T", properties={"DELAY": str(level)}), body)


@pytest.mark.parametrize("level", ["99", "2147483648", "18"])
def test_levels_beyond_the_table_are_the_last_one(cluster: EmbeddedCluster, level: str) -> None:
    with Peer(cluster.broker().address) as peer:
        assert later(peer, level, b"x").code == 0
        assert cluster.broker().on_loop(lambda broker: broker.storage.max_offset(SCHEDULE_TOPIC, 17)) == 1
    cluster.advance(121 * MINUTE)
    with Peer(cluster.broker().address) as peer:
        assert delivered(peer) == [b"x"]


@pytest.mark.parametrize("level", ["-1", "0", "x", "1.5", ""])
def test_levels_that_are_none_deliver_at_once(cluster: EmbeddedCluster, level: str) -> None:
    with Peer(cluster.broker().address) as peer:
        assert later(peer, level, b"x").code == 0
        assert delivered(peer) == [b"x"]


@pytest.mark.parametrize(
    "text", ["", "\0\0\0", '{"offsetTable":{1:', "[]", '{"offsetTable":7}', '{"offsetTable":{"a":"b"}}']
)
def test_a_broken_delay_offset_file_repeats_and_never_loses(cluster: EmbeddedCluster, text: str) -> None:
    with Peer(cluster.broker().address) as peer:
        assert later(peer, 1, b"before").code == 0
        assert later(peer, 14, b"waits").code == 0
        cluster.advance(5_000)
        assert delivered(peer) == [b"before"]
    cluster.broker().stop()
    for name in ("delayOffset.json", "delayOffset.json.bak"):
        (cluster.broker().store / "config" / name).write_text(text)
    cluster.broker().start()
    cluster.advance(11 * MINUTE)
    with Peer(cluster.broker().address) as peer:
        assert sorted(delivered(peer)) == [b"before", b"before", b"waits"]


@pytest.mark.parametrize("jump_ms", [-60 * MINUTE, 60 * MINUTE])
def test_clocks_that_jump_deliver_early_or_late_and_all(cluster: EmbeddedCluster, jump_ms: int) -> None:
    """Set back, what is due too far ahead comes at once; set forward, what is past its time does. Neither is lost."""
    with Peer(cluster.broker().address) as peer:
        assert later(peer, 9, b"x").code == 0  # five minutes
        cluster.on_loop(lambda running: setattr(running.clock, "_now_ms", running.clock.now_ms() + jump_ms))
        cluster.broker().restart()
        cluster.advance(2_000)
    with Peer(cluster.broker().address) as peer:
        assert delivered(peer) == [b"x"]
        assert later(peer, 1, b"y").code == 0
        cluster.advance(2_000)
        assert delivered(peer) == [b"x", b"y"]


def half(peer: Peer, key: str) -> RemotingCommand:
    properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP"}
    return peer.call(send("T", properties=properties, sys_flag=4), key.encode())


def end(sent: RemotingCommand, how: int, *, group: str = "GP", queue_offset: int | None = None) -> EndTransaction:
    offset = int(sent.ext("queueOffset") or -1)
    return EndTransaction(
        producer_group=group,
        tran_state_table_offset=offset if queue_offset is None else queue_offset,
        commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
        commit_or_rollback=how,
        msg_id="K",
    )


def test_a_transaction_ended_twice_or_by_a_stranger(cluster: EmbeddedCluster) -> None:
    """As in the original a second commit stores a second message; a commit after a rollback is one as well."""
    with Peer(cluster.broker().address) as peer:
        sent = half(peer, "K1")
        assert peer.call(end(sent, 8, group="GP_other")).code == ResponseCode.SYSTEM_ERROR
        assert peer.call(end(sent, 8, queue_offset=7)).code == ResponseCode.SYSTEM_ERROR
        assert delivered(peer) == []
        assert [peer.call(end(sent, 8)).code for _ in range(2)] == [0, 0]
        assert delivered(peer) == [b"K1", b"K1"]
        rolled_back = half(peer, "K2")
        assert [peer.call(end(rolled_back, 12)).code for _ in range(2)] == [0, 0]
        assert delivered(peer) == [b"K1", b"K1"]


def test_locks_of_groups_and_queues_that_nobody_knows(cluster: EmbeddedCluster) -> None:
    """The lock table asks for neither: as in the original, whoever comes first has the lock."""
    queues = (MessageQueue("nowhere", "broker-a", 77), MessageQueue("T", "elsewhere", 0))
    with Peer(cluster.broker().address) as peer:

        def lock(client: str) -> set[MessageQueue]:
            body = LockRequest(client_id=client, consumer_group="unknown", mq_set=queues).to_bytes()
            return set(LockedQueues.from_bytes(peer.call(LockBatchMq(), body).body).lock_ok_mq_set)

        assert lock("one") == set(queues)
        assert lock("two") == set()
        stranger = LockRequest(client_id="three", consumer_group="another", mq_set=queues).to_bytes()
        assert peer.call(UnlockBatchMq(), stranger).code == 0
        assert lock("two") == set()
        cluster.on_loop(lambda running: setattr(running.clock, "_now_ms", running.clock.now_ms() - 60 * MINUTE))
        assert lock("two") == set(), "a clock that is set back ends no lock"
        cluster.on_loop(lambda running: setattr(running.clock, "_now_ms", running.clock.now_ms() + 62 * MINUTE))
        assert lock("two") == set(queues)
        for broken in (b"", b"{", b'{"clientId":"x"}', b'{"consumerGroup":1,"clientId":[],"mqSet":7}'):
            peer.call(LockBatchMq(), broken)
        assert lock("two") == set(queues)
