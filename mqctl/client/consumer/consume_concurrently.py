"""Concurrent consumption: many threads per queue, in no order (`ConsumeMessageConcurrentlyService` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.client.consumer.consuming import Consuming
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.workers import Workers
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage

_EXPIRED_LEVEL = 3
_EXPIRED_AT_ONCE = 16
_Batch = tuple[ProcessQueue, Sequence[ReceivedMessage]]


class ConcurrentService:
    """Hands batches to the listener on the consume threads."""

    def __init__(self, consuming: Consuming) -> None:
        self._consuming = consuming
        self._workers: Workers[_Batch] = Workers(consuming.group, consuming.settings.threads, self._consume)

    def start(self) -> None:
        self._workers.start()

    def close(self, wait_s: float) -> bool:
        return self._workers.close(wait_s)

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        size = self._consuming.settings.batch_size
        submit = self._workers.submit
        for start in range(0, len(messages), size):
            submit((process_queue, messages[start : start + size]))

    def _consume(self, batch: _Batch) -> None:
        process_queue, messages = batch
        if process_queue.dropped:
            return
        consuming = self._consuming
        context = ConsumeContext(process_queue.queue)
        heard = consuming.call(messages, context)
        process_queue.last_consume_ms = consuming.clock.now_ms()
        acked = 0
        if heard.result is Consumed.SUCCESS:
            last = len(messages) - 1 if context.ack_index is None else context.ack_index
            acked = max(0, min(last + 1, len(messages)))
        topic = messages[0].topic
        consuming.rates.consumed(topic, succeeded=acked, failed=len(messages) - acked, took_ms=heard.took_ms)
        if not process_queue.dropped:
            self._finish(process_queue, messages, acked, context)

    def _finish(
        self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage], acked: int, context: ConsumeContext
    ) -> None:
        consuming = self._consuming
        done = list(messages[:acked])
        again: list[ReceivedMessage] = []
        for message in messages[acked:]:
            if not consuming.shares or consuming.send_back(message, context.delay_level):
                done.append(message)
            else:
                message.reconsume_times += 1
                again.append(message)
        if again:
            delay_ms = consuming.settings.retry_locally_delay_ms
            consuming.later(delay_ms, "consume again", lambda: self.submit(process_queue, again))
        offset = process_queue.remove(done)
        if offset is not None and not process_queue.dropped:
            consuming.offsets.update(process_queue.queue, offset, increase_only=True)

    def give_back_expired(self, process_queues: Sequence[ProcessQueue]) -> None:
        """Sends back messages that the listener has had for longer than the consume timeout."""
        consuming = self._consuming
        for process_queue in process_queues:
            for _ in range(_EXPIRED_AT_ONCE):
                head = process_queue.head()
                if head is None or not head.began_ms or process_queue.dropped:
                    break
                if consuming.clock.now_ms() - head.began_ms <= consuming.settings.consume_timeout_ms:
                    break
                if not consuming.send_back(head, _EXPIRED_LEVEL):
                    break
                offset = process_queue.remove((head,))
                if offset is not None:
                    consuming.offsets.update(process_queue.queue, offset, increase_only=True)
