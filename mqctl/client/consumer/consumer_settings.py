"""Settings of consumers: Java's names in our spelling, Java's defaults."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import MessageModel
from mqctl.text import sentence


class ConsumeFrom(StrEnum):
    """Where a group without a committed offset begins."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class ConsumeMode(StrEnum):
    """How the messages of one queue reach the listener.

    CONCURRENT: on many threads, in no order. ORDERLY: on one thread, in order. KEY_ORDERED: on many threads, those of
    one key in order; the queue is locked on its broker as for ORDERLY.
    """

    CONCURRENT = "concurrent"
    ORDERLY = "orderly"
    KEY_ORDERED = "key-ordered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """Settings of a push consumer. Durations are milliseconds of the client's clock.

    Attributes:
        consume_time_ms: epoch milliseconds, for `ConsumeFrom.TIMESTAMP`; None is half an hour ago.
        threads: number of consume threads.
        batch_size: messages handed to the listener at once.
        pull_batch_size: messages wanted by one pull.
        pull_threshold_for_queue, pull_threshold_mib_for_queue: cached messages and MiB that pause the pulls of a queue.
        pull_threshold_for_topic, pull_threshold_mib_for_topic: the same for all queues of a topic together; -1: none.
        max_span: distance of queue offsets that pauses the pulls of a queue: of those cached (concurrent), or from the
            smallest unfinished to the last pulled (key-ordered).
        max_reconsume_times: -1 means 16, and without end when orderly or key-ordered.
        consume_timeout_ms: a message that is with the listener for so long is sent back (concurrent only).
        suspend_queue_ms: pause of a queue, or of a key, after a failure (orderly, key-ordered).
        lock_period_ms, lock_valid_ms: renewal of broker locks, and how long one counts without renewal.
        continuous_ms: how long one thread works on one queue before others get their turn (orderly).
        unlock_delay_ms: how long a queue with cached messages stays locked after it was given up (orderly).
        reset_delay_ms: pause between dropping a queue and taking the offset that a broker orders.
        await_termination_ms: how long a shutdown waits for listeners; threads that still hang are left behind.
        local_offset_dir: where broadcasting consumers keep their offsets.
    """

    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    consume_time_ms: int | None = None
    threads: int = 20
    batch_size: int = 1
    pull_batch_size: int = 32
    pull_interval_ms: int = 0
    pull_threshold_for_queue: int = 1_000
    pull_threshold_mib_for_queue: int = 100
    pull_threshold_for_topic: int = -1
    pull_threshold_mib_for_topic: int = -1
    max_span: int = 2_000
    max_reconsume_times: int = -1
    consume_timeout_ms: int = 15 * 60_000
    suspend_queue_ms: int = 1_000
    post_subscription_when_pull: bool = False
    rebalance_period_ms: int = 20_000
    lock_period_ms: int = 20_000
    lock_valid_ms: int = 30_000
    continuous_ms: int = 60_000
    unlock_delay_ms: int = 20_000
    pull_expiry_ms: int = 120_000
    flow_control_delay_ms: int = 50
    failure_delay_ms: int = 1_000
    correction_delay_ms: int = 10_000
    retry_locally_delay_ms: int = 5_000
    broker_suspend_ms: int = 15_000
    pull_timeout_ms: int = 30_000
    send_back_timeout_ms: int = 5_000
    reset_delay_ms: int = 10_000
    await_termination_ms: int = 10_000
    local_offset_dir: Path | None = None
    unit_mode: bool = False

    def check(self) -> None:
        """Checks the ranges that Java checks. Raises UsageError."""
        ranges = (
            ("threads", self.threads, 1, 1_000),
            ("batch_size", self.batch_size, 1, 1_024),
            ("pull_batch_size", self.pull_batch_size, 1, 1_024),
            ("pull_interval_ms", self.pull_interval_ms, 0, 65_535),
            ("pull_threshold_for_queue", self.pull_threshold_for_queue, 1, 65_535),
            ("pull_threshold_mib_for_queue", self.pull_threshold_mib_for_queue, 1, 1_024),
            ("max_span", self.max_span, 1, 65_535),
        )
        for name, value, least, most in ranges:
            if not least <= value <= most:
                raise UsageError(
                    sentence("client-not-possible", "{name} of {value} is not possible", name=name, value=value),
                    reason=sentence("client-must", "it must be from {least} to {most}", least=least, most=most),
                )

    @property
    def broadcasting(self) -> bool:
        return self.message_model is MessageModel.BROADCASTING
