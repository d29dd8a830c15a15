"""Members of a group for tests of changes: consumers that keep what they hear, with rests short enough for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.model.member import MessageModel
from mqctl.model.queue import MessageQueue
from tests.client.consuming import Heard, quick, quick_client, wait_for_topic

REST_MS = 100
_LONG_S = 60


@contextmanager
def member(
    cluster: EmbeddedCluster,
    *,
    mode: ConsumeMode = ConsumeMode.CONCURRENT,
    name: str = "member",
    topic: str = "Pay",
    group: str = "G",
    busy: bool = False,
    gate: Event | None = None,
    model: MessageModel = MessageModel.CLUSTERING,
    kind: type[PushConsumer] = PushConsumer,
    directory: Path | None = None,
    rest_ms: int = REST_MS,
    persist_ms: int = 50,
    result: Callable[[ReceivedMessage], Consumed] | None = None,
) -> Iterator[Heard]:
    """Runs one member of a group, the only one, and yields once it holds every queue of the topic.

    Args:
        busy: it is at its first messages as long as it runs, so that it commits nothing by itself.
        gate: what it is at goes on when this is set.
        directory: where a broadcasting one keeps its offsets.
        persist_ms: time between its commits.
        result: its listener, instead of one that succeeds.
        rest_ms: its pause between the word of a broker and the offsets that it was told.
    """
    over = Event()

    def usual(message: ReceivedMessage) -> Consumed:
        if busy:
            over.wait(_LONG_S)
        if gate is not None:
            gate.wait(_LONG_S)
        return Consumed.SUCCESS

    heard = Heard(result or usual)
    settings = quick(
        reset_delay_ms=rest_ms,
        correction_delay_ms=rest_ms,
        message_model=model,
        await_termination_ms=200,
        local_offset_dir=directory,
    )
    consumer = kind(
        group, quick_client(cluster, instance_name=name, persist_period_ms=persist_ms), heard, settings, mode=mode
    )
    consumer.subscribe(topic, "*")
    with consumer:
        wait_for_topic(consumer, topic)
        try:
            yield heard
        finally:
            if busy:
                consumer.rebalancing.drop_all()  # what it was at is not its any more
            over.set()


def until(condition: Callable[[], bool], what: str) -> None:
    """Asks until something holds; each question is a command of its own."""
    end = monotonic() + _LONG_S
    while not condition():
        assert monotonic() < end, f"never: {what}"


class DeafConsumer(PushConsumer):
    """A client that does not know resets, as those of other languages."""

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Does nothing."""


class LateConsumer(PushConsumer):
    """A client that obeys, and still remembers where it was: its next commit brings the queues back there.

    Attributes:
        late_times: after how many words of a broker it does so; a reset is one of each broker.
    """

    late_times = 2

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """As others do; what it remembers is known again once it has committed the new offsets."""
        remembered = {queue: self.offsets.stored(queue) for queue in offsets}
        super().take_offsets(offsets)
        if self.late_times == 0:
            return
        self.late_times -= 1

        def remember() -> None:
            for queue, offset in remembered.items():
                if offset is not None:
                    self.offsets.update(queue, offset, increase_only=False)
                    self.offsets.persist_one(queue)

        after_ms = self.settings.reset_delay_ms + self.instance.settings.persist_period_ms
        self.instance.timers.after(after_ms, "commit what it remembers", remember)


class JavaConsumer(PushConsumer):
    """One that takes what pulls say that waited while their queues were dropped, as `correctTagsOffset` of 4.9.8 does.

    A pull waits 15 s at the end of a queue, and up to 5 s more until the broker looks; a rest is 10 s. So it is
    answered up to twice a rest after the word: what the member remembers by then goes on to the end, and is committed.

    Attributes:
        answered_after: when the pulls are answered, in rests after the word of a broker.
    """

    answered_after = 1.3

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """As others do; the pulls that wait are answered later."""
        table = self.rebalancing.process_queues
        waiting = {queue: (table[queue], self.offsets.stored(queue)) for queue in offsets if queue in table}
        super().take_offsets(offsets)

        def answer() -> None:
            for queue, (dropped, end) in waiting.items():
                if not dropped.count and end is not None:
                    self.offsets.update(queue, end, increase_only=True)

        delay_ms = self.answered_after * self.settings.reset_delay_ms
        self.instance.timers.after(delay_ms, "answers of waiting pulls", answer)


class EarlyJavaConsumer(JavaConsumer):
    """One whose pulls are answered while it rests: what they say is overwritten."""

    answered_after = 0.5


class LatestJavaConsumer(JavaConsumer):
    """One whose pulls wait as long as they can."""

    answered_after = 1.95


class AlwaysLateConsumer(LateConsumer):
    """One that never forgets."""

    late_times = 9


class StubbornConsumer(PushConsumer):
    """A client that answers a reset with offsets of its own."""

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        for queue in offsets:
            self.offsets.update(queue, 4, increase_only=False)
        self.offsets.persist(set(offsets))
