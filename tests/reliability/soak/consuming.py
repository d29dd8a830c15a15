"""The consumers of a soak: groups of push consumers that stay, come and go, lite pull, and a bare socket."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.consumer.subscription import SQL92, TAG
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import PullMessageReply
from tests.embedded_broker.messages import heartbeat, pull
from tests.embedded_broker.wire import Peer
from tests.reliability.soak import mix
from tests.reliability.soak.ledger import Ledger

_SETTINGS = ConsumerSettings(
    consume_from=ConsumeFrom.FIRST_OFFSET, threads=3, rebalance_period_ms=2_000, reset_delay_ms=200,
    correction_delay_ms=200, lock_period_ms=2_000, broker_suspend_ms=3_000, max_reconsume_times=5,
)  # fmt: skip
_LITE = LitePullSettings(
    consume_from=ConsumeFrom.FIRST_OFFSET, auto_commit_period_ms=500, broker_suspend_ms=3_000,
    rebalance_period_ms=2_000,
)  # fmt: skip
_STEADY = (mix.CHANGING, mix.FILTERED, mix.STEADY, mix.ORDERED, mix.RETRYING, mix.RESET)
_PULL_WAIT_MS = 1_000


class Consumers:
    """All consumers of one cluster.

    Attributes:
        changes: how often a member joined and another left.
        between_changes: held while members change, and by who looks.
    """

    def __init__(self, client: ClientSettings, address: str, ledger: Ledger) -> None:
        self._client = client
        self._ledger = ledger
        self._steady = [self._push(group) for group in _STEADY]
        self._visitors: list[PushConsumer] = []
        self.changes = 0
        self.between_changes = Lock()
        self._lite = LitePullConsumer(mix.LITE, client, _LITE)
        for topic in mix.topics_of(mix.LITE):
            self._lite.subscribe(topic)
        self._peer, self._idle = Peer(address), Peer(address)
        self._offset = 0

    def start(self) -> None:
        """Starts those that stay."""
        for consumer in self._steady:
            consumer.start()
        self._lite.start()

    def close(self) -> None:
        """Ends all of them."""
        leaving: list[PushConsumer | LitePullConsumer] = [*self._visitors, *self._steady, self._lite]
        with ThreadPoolExecutor(len(leaving)) as together:
            for done in [together.submit(consumer.shutdown) for consumer in leaving]:
                done.result(60)
        self._peer.socket.close()
        self._idle.socket.close()

    def client_id(self, group: str) -> str:
        """Returns the client id of the member of a group that stays."""
        return next(consumer.client_id for consumer in self._steady if consumer.group == group)

    def _push(self, group: str) -> PushConsumer:
        def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
            return self._heard(group, messages, context)

        mode = ConsumeMode.ORDERLY if group == mix.ORDERED else ConsumeMode.CONCURRENT
        consumer = PushConsumer(group, self._client, listen, _SETTINGS, mode=mode)
        subscription = mix.SUBSCRIPTIONS[group]
        for topic in mix.topics_of(group):
            consumer.subscribe(topic, subscription.expression, kind=SQL92 if subscription.sql else TAG)
        return consumer

    def _heard(self, group: str, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        for message in messages:
            kind, number = mix.read_body(message.body)
            if kind == mix.DEAD:
                context.delay_level = -1
                return Consumed.RECONSUME_LATER
            if kind == mix.RETRIED and message.reconsume_times == 0:
                return Consumed.RECONSUME_LATER
            self._note(group, kind, number)
        return Consumed.SUCCESS

    def _note(self, group: str, kind: str, number: int) -> None:
        wanted = mix.wants(group, kind, number)
        self._ledger.deliver(
            group, kind, number, wanted=wanted, at_once=kind in mix.AT_ONCE and group not in mix.MAY_REPEAT
        )

    # At their moments

    def change(self) -> None:
        """A member joins the changing group, and the one that joined before it leaves: there are one or two of them.

        Nobody looks meanwhile (`between_changes`), so that every look finds the same number of them.
        """
        with self.between_changes:
            visitor = self._push(mix.CHANGING)
            visitor.start()
            self._visitors.append(visitor)
            if len(self._visitors) > 1:
                self._visitors.pop(0).shutdown()
            self.changes += 1

    def poll(self) -> None:
        """Polls the lite pull consumer."""
        for message in self._lite.poll(200):
            self._note(mix.LITE, *mix.read_body(message.body))

    def pull_by_hand(self) -> None:
        """A long poll that a message wakes, committing what the last one brought."""
        topic = mix.TOPICS[mix.RAW]
        request = pull(topic, self._offset, group=mix.SOCKET, wait_ms=_PULL_WAIT_MS, commit=self._offset)
        answer = self._peer.call(request)
        assert answer.code in {0, 19}, (answer.code, answer.remark)
        if answer.code == 0:
            for message in decode_messages(answer.body):
                self._note(mix.SOCKET, *mix.read_body(message.body))
        self._offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset

    def pull_in_vain(self) -> None:
        """A long poll that nothing wakes, and a heartbeat of its connection."""
        heartbeat(self._idle, "idle@soak", group="GIdle", subscriptions={mix.IDLE_TOPIC: "nothing"})
        answer = self._idle.call(
            pull(mix.IDLE_TOPIC, 0, queue_id=mix.IDLE_QUEUE, group="GIdle", subscription="nothing", wait_ms=300)
        )
        assert answer.code in {19, 20, 21}, (answer.code, answer.remark)
