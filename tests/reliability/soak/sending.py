"""The producers of a soak: plain, delayed, timed, transactional, batched and compressed messages, and sockets."""

from __future__ import annotations

from itertools import count
from time import perf_counter, time

from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.producer.packing import ProducerSettings
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from mqctl.errors import MqctlError
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.reliability.soak import mix
from tests.reliability.soak.ledger import Ledger

# One attempt each: a second one of a send that timed out would be a repeat that no broker made.
_SETTINGS = ProducerSettings(send_timeout_ms=20_000, retries=0)
_STATES = {
    mix.COMMITTED: LocalTransactionState.COMMIT,
    mix.ROLLED_BACK: LocalTransactionState.ROLLBACK,
    mix.ASKED: LocalTransactionState.UNKNOWN,
}


class Senders:
    """All producers of one cluster; `turn` sends what is next.

    Args:
        address: of the broker, for messages that no client of ours sends.
        is_v5: the broker takes messages with a time of their own; otherwise these have a delay level.
    """

    def __init__(self, client: ClientSettings, address: str, ledger: Ledger, *, is_v5: bool) -> None:
        self._client = client
        self._ledger = ledger
        self._is_v5 = is_v5
        self._numbers, self._turns, self._visits = count(), count(), count()
        self._producer = Producer("PSoak", client, _SETTINGS)
        self._paying = TransactionProducer("PSoakPay", client, self._asked, _SETTINGS)
        self._peer = Peer(address)

    def start(self) -> None:
        """Starts the producers."""
        self._producer.start()
        self._paying.start()

    def close(self) -> None:
        """Ends them."""
        self._producer.shutdown()
        self._paying.shutdown()
        self._peer.socket.close()

    def turn(self) -> None:
        """Sends one message, or one batch. What fails is noted."""
        kind = mix.TURNS[next(self._turns) % len(mix.TURNS)]
        numbers = [next(self._numbers) for _ in range(mix.BATCH_COUNT if kind == mix.BATCHED else 1)]
        for number in numbers:
            self._ledger.sending(mix.readers_of(kind, number), kind, number)
        began = perf_counter()
        try:
            self._send(kind, numbers)
        except (MqctlError, OSError) as error:
            for number in numbers:
                self._ledger.not_sent(mix.readers_of(kind, number), kind, number)
            self._ledger.failed(f"send {kind}", repr(error))
            return
        self._ledger.sent(kind, began, count=len(numbers))

    def _send(self, kind: str, numbers: list[int]) -> None:
        messages = [self._message(kind, number) for number in numbers]
        if kind == mix.BATCHED:
            self._producer.send_batch(messages)
        elif kind in _STATES:
            self._paying.send(messages[0], lambda _message, _id: _STATES[kind])
        elif kind == mix.RAW:
            properties = {"TAGS": messages[0].tags or "", "KEYS": f"k{numbers[0] % 1_000}"}
            answer = self._peer.call(send(messages[0].topic, properties=properties), messages[0].body)
            if answer.code != 0:
                raise OSError(f"the broker answered {answer.code} {answer.remark}")
        else:
            self._producer.send(messages[0])

    def _message(self, kind: str, number: int) -> OutgoingMessage:
        properties = mix.properties_of(number)
        level = 1 if kind == mix.LATER or (kind == mix.TIMED and not self._is_v5) else 0
        if kind == mix.TIMED and self._is_v5:
            properties["TIMER_DELIVER_MS"] = str(round(time() * 1_000) + 1_500)
        return OutgoingMessage(
            topic=mix.TOPICS[kind],
            body=mix.body_of(kind, number),
            tags=mix.tag_of(number),
            keys=f"k{number % 1_000}",
            delay_level=level,
            properties=properties,
        )

    def _asked(self, message: ReceivedMessage) -> LocalTransactionState:
        kind, _ = mix.read_body(message.body)
        return LocalTransactionState.COMMIT if kind == mix.ASKED else LocalTransactionState.ROLLBACK

    def visit(self) -> None:
        """A producer that comes, sends in each way that the others do not, and goes."""
        number = next(self._visits)
        with Producer(f"PVisit{number % 3}", self._client, _SETTINGS) as producer:
            message = OutgoingMessage(topic=mix.IDLE_TOPIC, body=b"visit", tags="visit")
            producer.send_oneway(message)
            producer.send_async(message, self._sent)
            producer.send(message)

    def _sent(self, _result: object, error: MqctlError | None) -> None:
        if error is not None:
            self._ledger.failed("asynchronous send", error)
