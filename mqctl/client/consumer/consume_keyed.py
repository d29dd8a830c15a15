"""Key-ordered consumption: many threads per queue, the messages of one key one after the other.

RocketMQ has no such mode. Like an orderly consumer it locks its queues on their brokers, so that no two members work on
one key; unlike one it goes on with other keys while a key fails or is slow. The offset committed is the smallest
unfinished one, so whoever takes over repeats messages beyond it, but never skips one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock

from mqctl.client.consumer.consume_orderly import (
    LOCK_LOST_DELAY_MS,
    NOT_LOCKED_DELAY_MS,
    RELOCKED_DELAY_MS,
    fail,
    suspension_ms,
)
from mqctl.client.consumer.consuming import Consuming
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.workers import Workers
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.remoting.timers import listener_error
from mqctl.model.message import SHARDING_KEY

KeyOf = Callable[[ReceivedMessage], str | None]
_UNKNOWN_KEY = ""
_Chain = tuple[ProcessQueue, str]
_Piece = tuple[ProcessQueue, list[ReceivedMessage], _Chain | None]


def sharding_key(message: ReceivedMessage) -> str | None:
    """Returns the sharding key of a message, or else its KEYS; None leaves it without an order."""
    return message.properties.get(SHARDING_KEY) or message.properties.get("KEYS")


class KeyOrderedService:
    """Consumes chains of messages, one chain for each key of each queue.

    Args:
        key_of: the key that decides about order; messages for which it is None have none.
    """

    def __init__(self, consuming: Consuming, key_of: KeyOf = sharding_key) -> None:
        self._consuming = consuming
        self._key_of = key_of
        self._lock = Lock()
        self._waiting: dict[_Chain, deque[ReceivedMessage]] = {}
        self._unlocked: dict[ProcessQueue, list[_Piece]] = {}
        self._workers: Workers[_Piece] = Workers(consuming.group, consuming.settings.threads, self._consume)

    def start(self) -> None:
        self._workers.start()

    def close(self, wait_s: float) -> bool:
        return self._workers.close(wait_s)

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        submit = self._workers.submit
        with self._lock:
            for message in messages:
                key = self._key(message)
                if key is None:
                    submit((process_queue, [message], None))
                    continue
                chain = (process_queue, key)
                waiting = self._waiting.get(chain)
                if waiting is None:
                    self._waiting[chain] = deque()
                    submit((process_queue, [message], chain))
                else:
                    waiting.append(message)

    def _key(self, message: ReceivedMessage) -> str | None:
        try:
            return self._key_of(message)
        except Exception as error:  # noqa: BLE001 - messages whose key cannot be told keep the order of their queue
            self._consuming.instance.troubles.add(f"find the key of {message.message_id}", listener_error(error))
            return _UNKNOWN_KEY

    def _consume(self, piece: _Piece) -> None:
        process_queue, messages, chain = piece
        consuming = self._consuming
        if process_queue.dropped:
            self._drop(chain)
            return
        if not consuming.lock_holds(process_queue):
            self._lock_later(piece)
            return
        if chain is not None:
            self._fill(chain, messages)
        context = ConsumeContext(process_queue.queue)
        if not process_queue.gate.enter():
            self._drop(chain)
            return
        try:
            heard = consuming.call(messages, context)
        finally:
            process_queue.gate.leave()
        process_queue.last_consume_ms = consuming.clock.now_ms()
        succeeded = heard.result is Consumed.SUCCESS
        consuming.rates.consumed(
            messages[0].topic,
            succeeded=len(messages) if succeeded else 0,
            failed=0 if succeeded else len(messages),
            took_ms=heard.took_ms,
        )
        if not succeeded and fail(consuming, messages):
            delay_ms = suspension_ms(consuming, context)
            consuming.later(delay_ms, "try a key again", lambda: self._workers.submit(piece))
            return
        offset = process_queue.remove(messages)
        if offset is not None and not process_queue.dropped:
            consuming.offsets.update(process_queue.queue, offset, increase_only=True)
        self._next(process_queue, chain)

    def _fill(self, chain: _Chain, messages: list[ReceivedMessage]) -> None:
        """Adds the next messages of the key, up to the batch size."""
        with self._lock:
            waiting = self._waiting[chain]
            while waiting and len(messages) < self._consuming.settings.batch_size:
                messages.append(waiting.popleft())

    def _next(self, process_queue: ProcessQueue, chain: _Chain | None) -> None:
        if chain is None:
            return
        with self._lock:
            waiting = self._waiting[chain]
            if not waiting:
                del self._waiting[chain]
                return
            message = waiting.popleft()
        self._workers.submit((process_queue, [message], chain))

    def _drop(self, chain: _Chain | None) -> None:
        if chain is not None:
            with self._lock:
                self._waiting.pop(chain, None)

    def _lock_later(self, piece: _Piece) -> None:
        """Has the queue locked once for all the keys that wait for it."""
        process_queue = piece[0]
        with self._lock:
            waiting = self._unlocked.get(process_queue)
            if waiting is not None:
                waiting.append(piece)
                return
            self._unlocked[process_queue] = [piece]

        def then(locked: bool) -> None:  # noqa: FBT001 - a callback's only argument
            delay_ms = RELOCKED_DELAY_MS if locked else NOT_LOCKED_DELAY_MS
            self._consuming.later(delay_ms, "go on consuming", lambda: self._resubmit(process_queue))

        self._consuming.lock_later(LOCK_LOST_DELAY_MS, process_queue, then)

    def _resubmit(self, process_queue: ProcessQueue) -> None:
        with self._lock:
            pieces = self._unlocked.pop(process_queue, [])
        for piece in pieces:
            self._workers.submit(piece)
