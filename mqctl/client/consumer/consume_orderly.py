"""Orderly consumption: one thread per queue, in order (`ConsumeMessageOrderlyService` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.client.consumer.consuming import ENDLESS_RECONSUME_TIMES, Consuming, Heard
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.workers import Workers
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage

RELOCKED_DELAY_MS = 10
NOT_LOCKED_DELAY_MS = 3_000
LOCK_LOST_DELAY_MS = 10
NOT_LOCKED_AT_ENTRY_DELAY_MS = 100
SHORTEST_SUSPENSION_MS = 10
LONGEST_SUSPENSION_MS = 30_000


def suspension_ms(consuming: Consuming, context: ConsumeContext) -> int:
    """Returns how long to pause after a failure, within RocketMQ's bounds."""
    wanted = consuming.settings.suspend_queue_ms if context.suspend_ms is None else context.suspend_ms
    return min(max(wanted, SHORTEST_SUSPENSION_MS), LONGEST_SUSPENSION_MS)


def fail(consuming: Consuming, messages: Sequence[ReceivedMessage]) -> bool:
    """Counts a failure; True when the messages have to be tried again, False when all became retries on the broker."""
    most = consuming.max_reconsume_times(ENDLESS_RECONSUME_TIMES)
    again = False
    for message in messages:
        if message.reconsume_times < most or not consuming.send_copy(message, times=message.reconsume_times, most=most):
            message.reconsume_times += 1
            again = True
    return again


class OrderlyService:
    """Consumes each queue on one thread at a time, while its lock holds."""

    def __init__(self, consuming: Consuming) -> None:
        self._consuming = consuming
        self._workers: Workers[ProcessQueue] = Workers(consuming.group, consuming.settings.threads, self._run)

    def start(self) -> None:
        self._workers.start()

    def close(self, wait_s: float) -> bool:
        return self._workers.close(wait_s)

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        if process_queue.claim():
            self._workers.submit(process_queue)

    def _run_later(self, process_queue: ProcessQueue, delay_ms: float) -> None:
        self._consuming.later(delay_ms, "go on consuming", lambda: self._workers.submit(process_queue))

    def _lock_later(self, process_queue: ProcessQueue, delay_ms: float) -> None:
        def then(locked: bool) -> None:  # noqa: FBT001 - a callback's only argument
            self._run_later(process_queue, RELOCKED_DELAY_MS if locked else NOT_LOCKED_DELAY_MS)

        self._consuming.lock_later(delay_ms, process_queue, then)

    def _run(self, process_queue: ProcessQueue) -> None:
        consuming = self._consuming
        if process_queue.dropped:
            return
        if not consuming.lock_holds(process_queue):
            self._lock_later(process_queue, NOT_LOCKED_AT_ENTRY_DELAY_MS)
            return
        began_ms = consuming.clock.now_ms()
        while not process_queue.dropped:
            if not consuming.lock_holds(process_queue):
                self._lock_later(process_queue, LOCK_LOST_DELAY_MS)
                return
            if consuming.clock.now_ms() - began_ms > consuming.settings.continuous_ms:
                self._run_later(process_queue, RELOCKED_DELAY_MS)
                return
            messages = process_queue.take(consuming.settings.batch_size)
            process_queue.last_consume_ms = consuming.clock.now_ms()  # as Java's takeMessages: not after the listener
            if not messages or not self._consume(process_queue, messages):
                return

    def _consume(self, process_queue: ProcessQueue, messages: list[ReceivedMessage]) -> bool:
        """Calls the listener; False when this thread is to leave the queue."""
        consuming = self._consuming
        context = ConsumeContext(process_queue.queue)
        if process_queue.dropped or not process_queue.gate.enter():
            return False
        try:
            heard = consuming.call(messages, context)
        finally:
            process_queue.gate.leave()
        return self._finish(process_queue, messages, context, heard)

    def _finish(
        self,
        process_queue: ProcessQueue,
        messages: list[ReceivedMessage],
        context: ConsumeContext,
        heard: Heard,
    ) -> bool:
        consuming = self._consuming
        result = heard.result
        commits = {Consumed.COMMIT} | ({Consumed.SUCCESS, Consumed.ROLLBACK} if context.auto_commit else set())
        succeeded = result in commits or result is Consumed.SUCCESS
        consuming.rates.consumed(
            messages[0].topic,
            succeeded=len(messages) if succeeded else 0,
            failed=0 if succeeded else len(messages),
            took_ms=heard.took_ms,
        )
        offset: int | None = None
        go_on = True
        if result in commits:
            offset = process_queue.commit()
        elif result is Consumed.ROLLBACK:
            process_queue.put_all_back()
            go_on = False
        elif result is not Consumed.SUCCESS:
            if fail(consuming, messages):
                process_queue.put_back(messages)
                go_on = False
            else:
                offset = process_queue.commit()
        if not go_on:
            self._run_later(process_queue, suspension_ms(consuming, context))
        if offset is not None and not process_queue.dropped:
            consuming.offsets.update(process_queue.queue, offset, increase_only=False)
        return go_on
