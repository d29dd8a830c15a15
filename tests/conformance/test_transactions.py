from __future__ import annotations

from time import time_ns

from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import EndTransaction
from tests.conformance.conftest import Site, eventually
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer

COMMIT, ROLLBACK = 8, 12


def half(peer: Peer, topic: str, key: str) -> RemotingCommand:
    properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP", "TAGS": "TagT"}
    now_ms = time_ns() // 1_000_000
    answer = peer.call(send(topic, properties=properties, sys_flag=4, born_ms=now_ms), key.encode())
    assert answer.code == 0, answer.remark
    return answer


def end(sent: RemotingCommand, key: str, how: int, *, group: str = "GP") -> EndTransaction:
    return EndTransaction(
        producer_group=group,
        tran_state_table_offset=int(sent.ext("queueOffset") or -1),
        commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
        commit_or_rollback=how,
        msg_id=key,
    )


def test_a_transaction_is_seen_when_it_is_committed(broker: Peer, topic: str, group: str) -> None:
    heartbeat(broker, "conformance")
    rolled_back, committed = half(broker, topic, "K1"), half(broker, topic, "K2")
    nothing = broker.call(pull(topic, 0, group=group))
    assert nothing.code in (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_OFFSET_MOVED)
    assert broker.call(end(rolled_back, "K1", ROLLBACK)).code == 0
    assert broker.call(end(committed, "K2", COMMIT)).code == 0
    eventually(lambda: broker.call(pull(topic, 0, group=group)).code == 0)
    (message,) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    assert (message.body, message.sys_flag & 0xC) == (b"K2", 8)
    assert message.prepared_transaction_offset == OffsetId.parse(committed.ext("msgId") or "").physical_offset
    assert {"TRAN_MSG", "REAL_TOPIC", "REAL_QID", "PGROUP"} <= message.properties.keys()


def test_a_foreign_group_ends_no_transaction(broker: Peer, topic: str) -> None:
    heartbeat(broker, "conformance")
    sent = half(broker, topic, "K1")
    assert broker.call(end(sent, "K1", COMMIT, group="GP_other")).code == ResponseCode.SYSTEM_ERROR
    assert broker.call(end(sent, "K1", ROLLBACK)).code == 0


def test_timers_come_at_their_second(site: Site, broker: Peer, topic: str, group: str) -> None:
    due_ms = time_ns() // 1_000_000 + 1_500
    sent = broker.call(send(topic, properties={"TIMER_DELIVER_MS": str(due_ms), "UNIQ_KEY": "K1"}), b"timed")
    assert (sent.code, sent.ext("queueId")) == (0, "0")
    eventually(lambda: broker.call(pull(topic, 0, group=group)).code == 0)
    (message,) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    assert (message.store_time_ms >= due_ms) == site.is_v5, "4.9 knows no timers"
    if site.is_v5:
        assert {"TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS"} <= message.properties.keys()
