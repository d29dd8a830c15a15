"""What the clients of one store do in rounds on a failing disk, and what they were told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_admin import DeleteTopic
from mqctl.protocol.requests_client import (
    EndTransaction,
    PullMessageReply,
    QueryConsumerOffset,
    RecallMessage,
    UpdateConsumerOffset,
)
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import AdminLedger
from tests.reliability.repeats import LATER, PAID
from tests.reliability.timer_repeats import TIMED

QUEUES = 3
COMMIT, ROLLBACK = 8, 12
PLAIN = "Plain"
GONE = "Gone"
"""A topic that is deleted again and again, with its queues."""
STORE_TOPICS = (PLAIN, LATER, PAID, TIMED, GONE)
ROLL_WINDOW_S = 8
_LONGEST_TIMER_MS = 25_000
_CHECK = RequestCode.CHECK_TRANSACTION_STATE


@dataclass
class Ledger:
    """What clients of one store were told.

    Attributes:
        acknowledged: messages by topic.
        forbidden: messages whose transactions are not to be committed.
        decided: transactions whose half message was acknowledged and that their producer will commit, when asked.
        recalled: timer messages whose recall was acknowledged.
        handles: what recalls those that nobody tried to recall.
        timers, recalls: acknowledged ones.
    """

    acknowledged: dict[str, set[str]] = field(default_factory=lambda: {topic: set() for topic in STORE_TOPICS})
    forbidden: set[str] = field(default_factory=set)
    decided: set[str] = field(default_factory=set)
    recalled: set[str] = field(default_factory=set)
    handles: dict[str, str] = field(default_factory=dict)
    timers: int = 0
    recalls: int = 0
    number: int = 0
    refused: int = 0
    admin: AdminLedger = field(default_factory=AdminLedger)

    def expire(self, names: set[str]) -> None:
        """Notes whose messages, or half messages, need not be there any more."""
        for topic in self.acknowledged:
            self.acknowledged[topic] -= names
        self.decided -= names


class DiskTraffic:
    """A producer, a consumer and an administrator on one connection; with timer messages where the broker has them."""

    def __init__(self, peer: Peer, cluster: EmbeddedCluster, random: Random, ledger: Ledger) -> None:
        self.peer = peer
        self.cluster = cluster
        self.random = random
        self.ledger = ledger
        heartbeat(peer, "producer")

    def kinds(self) -> tuple[Callable[[], None], ...]:
        """What a step may be."""
        kinds = (self.plain, self.plain, self.plain, self._later, self._later, self._transaction, self._transaction,
                 self.consume, self._to_be_gone)  # fmt: skip
        five = self.cluster.broker().on_loop(lambda broker: broker.timers is not None)
        return (*kinds, self._timed, self._timed, self._recall) if five else kinds

    def advance(self, ms: int) -> None:
        """Lets time pass; a producer that is asked about its transactions answers."""
        self.cluster.advance(ms)
        heartbeat(self.peer, "producer")
        newest = {wanted_ms.ext("msgId"): wanted_ms for wanted_ms in self.peer.unasked if wanted_ms.code == _CHECK}
        self.peer.unasked.clear()
        for key, wanted_ms in newest.items():
            number = (key or "")[1:]
            how = COMMIT if f"paid {number}" not in self.ledger.forbidden else ROLLBACK
            half_offset, place = (
                int(wanted_ms.ext("tranStateTableOffset") or -1),
                int(wanted_ms.ext("commitLogOffset") or -1),
            )
            self.peer.call(self._end(key or "", half_offset, place, how, checked=True))

    # Producing

    def _body(self, kind: str) -> str:
        self.ledger.number += 1
        return f"{kind} {self.ledger.number}"

    def _sent(self, topic: str, body: str, code: int) -> None:
        if code == 0:
            self.ledger.acknowledged[topic].add(body)
        else:
            self.ledger.refused += 1

    def plain(self) -> None:
        body = self._body("plain")
        request = send(PLAIN, queue_id=self.random.randrange(QUEUES), queues=QUEUES, properties={"KEYS": body[6:]})
        self._sent(PLAIN, body, self.peer.call(request, f"{body};".encode() * self.random.choice((1, 40))).code)

    def _to_be_gone(self) -> None:
        """Sends to a topic, or deletes it; what was sent to it before may be there again when it is made anew."""
        if self.random.random() < 0.15:
            self.ledger.acknowledged[GONE].clear()
            self.peer.call(DeleteTopic(topic=GONE))
        for _ in range(3):
            body = self._body("gone")
            request = send(GONE, queue_id=self.random.randrange(QUEUES), queues=QUEUES)
            self._sent(GONE, body, self.peer.call(request, body.encode()).code)

    def _later(self) -> None:
        body = self._body("later")
        request = send(LATER, queue_id=0, properties={"DELAY": str(self.random.choice((1, 2)))})
        self._sent(LATER, body, self.peer.call(request, body.encode()).code)

    def _timed(self) -> None:
        body = self._body("timed")
        key, delay_ms = body.replace(" ", ""), self.random.randrange(100, _LONGEST_TIMER_MS)
        request = send(TIMED, properties={"TIMER_DELAY_MS": str(delay_ms), "UNIQ_KEY": key})
        answer = self.peer.call(request, body.encode())
        self._sent(TIMED, body, answer.code)
        if answer.code == 0:
            self.ledger.timers += 1
            self.ledger.handles[body] = answer.ext("recallHandle") or ""

    def _recall(self) -> None:
        """Recalls one of the newest; whether it comes is open until the answer says that it will not."""
        waiting = list(self.ledger.handles)[-6:]
        if not waiting:
            return
        body = self.random.choice(waiting)
        recall = RecallMessage(topic=TIMED, recall_handle=self.ledger.handles.pop(body), producer_group="GP")
        code = self.peer.call(recall).code
        if code != ResponseCode.ILLEGAL_OPERATION:
            self.ledger.acknowledged[TIMED].discard(body)
        if code == 0:
            self.ledger.recalls += 1
            self.ledger.recalled.add(body)

    def _transaction(self) -> None:
        body, how = self._body("paid"), self.random.choice((COMMIT, COMMIT, COMMIT, ROLLBACK, None))
        key = f"T{self.ledger.number}"
        if how != COMMIT:
            self.ledger.forbidden.add(body)
        half = send(
            PAID, properties={"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP"}, sys_flag=4,
            born_ms=self.cluster.now_ms(),
        )  # fmt: skip
        sent = self.peer.call(half, body.encode())
        if sent.code != 0:
            return
        if how == COMMIT:
            self.ledger.decided.add(body)
        if how is not None:
            place = OffsetId.parse(sent.ext("msgId") or "").physical_offset
            ended = self.peer.call(self._end(key, int(sent.ext("queueOffset") or -1), place, how)).code
            if how == COMMIT:
                self._sent(PAID, body, ended)

    @staticmethod
    def _end(key: str, half_offset: int, physical_offset: int, how: int, *, checked: bool = False) -> EndTransaction:
        return EndTransaction(
            producer_group="GP", tran_state_table_offset=half_offset, commit_log_offset=physical_offset,
            commit_or_rollback=how, from_transaction_check=checked, msg_id=key,
        )  # fmt: skip

    # Consuming

    def consume(self) -> None:
        """Pulls from one queue and commits."""
        self.consume_once(self.random.randrange(QUEUES))

    def consume_once(self, queue_id: int) -> bool:
        """Pulls from a queue and commits; tells whether to go on, as there was something or it begins elsewhere."""
        known = self.peer.call(QueryConsumerOffset(consumer_group="G", topic=PLAIN, queue_id=queue_id)).ext("offset")
        answer = self.peer.call(pull(PLAIN, int(known or 0), queue_id=queue_id, group="G"))
        is_further = answer.code in (ResponseCode.SUCCESS, ResponseCode.PULL_OFFSET_MOVED)
        if is_further:
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
            commit = UpdateConsumerOffset(consumer_group="G", topic=PLAIN, queue_id=queue_id, commit_offset=offset)
            self.peer.call(commit)
            is_further = offset != int(known or 0)
        return is_further
