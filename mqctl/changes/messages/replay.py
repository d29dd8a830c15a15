"""Publishes messages again: at a bounded rate, at least once, and each one counted once.

Before messages are sent their keys are in the journal; whoever comes after a crash asks the target for these keys, and
sends only what is not there. A message whose answer was lost is looked up at once. What cannot be looked up is sent
again and named: it may be there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field

from mqctl.changes.engine.records import CONFIRMED, Doubt, ReplayRecord, StretchPart
from mqctl.changes.messages.read_back import Found, ReadBack, read_back
from mqctl.changes.plan.replay import provenance_key, republished, target_queue, wanted
from mqctl.client.admin.broker_messages import Pulled, PullStatus, messages_by_key, pull
from mqctl.client.admin.cluster import Cluster
from mqctl.client.message.outgoing import OutgoingMessage, SendResult
from mqctl.client.producer.packing import Packer, send_result
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.question import Question
from mqctl.errors import BadInputError, DeadlineError, MqctlError, StorageError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.model.spans import FAR, HOUR_MS
from mqctl.model.stretch import Republished
from mqctl.protocol.codes import SEND_RESULTS
from mqctl.protocol.compression import decompress
from mqctl.text import sentence

# Group of mqadmin's own reads: every broker has it, and nobody consumes by it.
_READER = "TOOLS_CONSUMER"
_BATCH = 32
_ATTEMPTS = 3
_ASK_MS = 3_000
_BACK_OFF_MS = 500


class Pace:
    """Spaces messages out evenly; time that was lost is not caught up with.

    Args:
        clock: seconds, monotonic.
        pause: waits so many milliseconds.
    """

    def __init__(self, per_s: float, clock: Callable[[], float], pause: Callable[[int], None]) -> None:
        self._every_s = 1 / per_s
        self._clock = clock
        self.pause = pause
        self._next_s = 0.0

    def wait(self) -> None:
        """Returns when the next message may go."""
        now_s = self._clock()
        if (ahead_s := self._next_s - now_s) >= 0.001:
            self.pause(int(ahead_s * 1000))
        self._next_s = max(self._next_s, now_s) + self._every_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """A replay under way.

    Attributes:
        addresses: master address by broker name.
        targets: queues of the target topic that can be written.
        save: writes the record, before each batch is sent.
        report: told how many messages of how many are done.
        stored: returns the next messages of a stretch and the offset behind them; None to pull them from brokers.
        known: keys of messages that are in the target already.
    """

    cluster: Cluster
    record: ReplayRecord
    addresses: Mapping[str, str]
    targets: tuple[MessageQueue, ...]
    packer: Packer
    pace: Pace
    save: Callable[[], None]
    report: Callable[[int, int], None]
    stored: Callable[[StretchPart], tuple[list[Message], int]] | None = None
    known: set[str] = field(default_factory=set)


def publish(work: Publishing) -> None:
    """Publishes what is still to be published.

    Raises:
        StorageError: the journal cannot be written; nothing is sent any more.
        MqctlError: a broker does not serve; the replay can be taken up again.
    """
    record = work.record
    try:
        _look_up_in_flight(work)
        _publish_ranges(work)
        record.in_flight = []
        _settle_doubts(work)
    except BaseException:
        with suppress(StorageError):  # what is on the disk is enough to go on from
            work.save()
        raise
    for part in record.parts:
        part.state = CONFIRMED


def _publish_ranges(work: Publishing) -> None:
    record = work.record
    test = wanted(record.filter)
    total = sum(item.end - item.begin for item in record.parts)
    for item in record.parts:
        while item.next < item.end:
            messages, following = _read(work, item) if work.stored is None else work.stored(item)
            chosen = [message for message in messages if test(message)]
            record.in_flight = [provenance_key(record.id, item.queue, message.queue_offset) for message in chosen]
            work.save()
            for message in chosen:
                _publish_one(work, item.queue, message)
            item.published += len(chosen)
            item.filtered += len(messages) - len(chosen)
            item.gone += following - item.next - len(messages)
            item.next = following
            work.report(sum(known.next - known.begin for known in record.parts), total)


def _look_up_in_flight(work: Publishing) -> None:
    for key in work.record.in_flight:
        count = _count(work, key)
        if count:
            work.known.add(key)
        elif count is None:
            reason = sentence(
                "being-sent-when-replay",
                "it was being sent when the replay stopped, and could not be looked up: sent again",
            )
            work.record.in_doubt.append(Doubt(key=key, reason=reason))


def _settle_doubts(work: Publishing) -> None:
    """What is in doubt is looked up once more: there once, it is so no longer; else it is named, with how often."""
    left: dict[str, Doubt] = {}
    for doubt in work.record.in_doubt:
        count = _count(work, doubt.key)
        if count is None:
            left[doubt.key] = doubt
        elif count != 1:
            left[doubt.key] = Doubt(
                key=doubt.key, reason=sentence("replay-count", "it is there {count:time}", count=count)
            )
    work.record.in_doubt = list(left.values())


def _read(work: Publishing, item: StretchPart) -> tuple[list[Message], int]:
    """Returns the next messages of a stretch, and the offset behind them."""
    count = min(_BATCH, item.end - item.next)
    question = pull(_READER, item.topic, item.queue_id, item.next, max_count=count)
    pulled: Pulled = work.cluster.ask(work.addresses[item.broker_name], question, Deadline(_ASK_MS))
    if pulled.status is PullStatus.FOUND:
        messages = [message for message in pulled.messages if item.next <= message.queue_offset < item.end]
        return messages, min(item.end, pulled.next_offset)
    if pulled.next_offset > item.next:
        return [], min(item.end, pulled.next_offset)
    raise BadInputError(
        sentence(
            "replay-queue-no-offset",
            "queue {queue_id} of {topic} on {broker_name} has no offset {next}",
            queue_id=item.queue_id,
            topic=item.topic,
            broker_name=item.broker_name,
            next=item.next,
        ),
        reason=sentence(
            "holds-replay-end",
            "it holds {min_offset} to {max_offset}, and the replay was to end at {end}",
            min_offset=pulled.min_offset,
            max_offset=pulled.max_offset,
            end=item.end,
        ),
        remedy=sentence(
            "replay-queue-cut-since-plan",
            "the queue was cut since the plan was made; look with mqctl topic describe, and plan anew",
        ),
    )


def _publish_one(work: Publishing, queue: MessageQueue, message: Message) -> None:
    copy = republished(message, queue, decompress(message.body, message.sys_flag), work.record.id)
    if copy.key in work.known:
        work.record.found += 1
        return
    target = target_queue(queue, work.targets)
    for attempt in range(1, _ATTEMPTS + 1):
        work.pace.wait()
        try:
            back = _read_back(work, _send(work, target, copy))
        except (UnreachableError, DeadlineError) as error:
            # It may be stored all the same.
            count = _count(work, copy.key)
            if count:
                work.record.found += 1
                return
            if attempt == _ATTEMPTS:
                raise
            looked = (
                sentence("replay-could-not-looked-up", "could not be looked up")
                if count is None
                else sentence("replay-not-found-key", "was not found by its key")
            )
            work.record.in_doubt.append(
                Doubt(
                    key=copy.key,
                    reason=sentence(
                        "replay-sent-again", "{error}; it {looked}: sent again", error=error, looked=looked
                    ),
                )
            )
            work.pace.pause(_BACK_OFF_MS)
        else:
            if back.found is Found.NOT_READ_BACK:
                work.record.in_doubt.append(Doubt(key=copy.key, reason=back.reason or ""))
            elif back.found is Found.GONE:
                raise StorageError(
                    sentence("published-message-gone", "could not publish a message to {target}", target=target.topic),
                    reason=back.reason or "",
                    remedy=sentence(
                        "look-broker-log-then-resume",
                        "look at the broker's log and disk, then take the replay up again",
                    ),
                )
            return


def _read_back(work: Publishing, result: SendResult) -> ReadBack:
    def put(address: str, question: Question[Message]) -> Message:
        return work.cluster.ask(address, question, Deadline(_ASK_MS))

    return read_back(result, put, work.pace.pause)


def _send(work: Publishing, target: MessageQueue, copy: Republished) -> SendResult:
    message = OutgoingMessage(topic=str(work.record.target), body=copy.body, flag=copy.flag, properties=copy.properties)
    packed = work.packer.pack(message)
    address = work.addresses[target.broker_name]
    question = Question(
        work.packer.request(packed, target),
        lambda answer: send_result(answer, packed, target, address=address, attempt=1),
        body=packed.body,
        accepts=SEND_RESULTS,
    )
    return work.cluster.ask(address, question, Deadline(_ASK_MS))


def _count(work: Publishing, key: str) -> int | None:
    """Returns how often the target has a message with a provenance key; None when a broker does not answer."""
    topic = str(work.record.target)
    question = messages_by_key(topic, key, begin_ms=work.record.made_at_ms - HOUR_MS, end_ms=FAR)
    addresses = sorted({work.addresses[queue.broker_name] for queue in work.targets})
    try:
        answers = [work.cluster.ask(address, question, Deadline(_ASK_MS)) for address in addresses]
    except MqctlError:
        return None
    return sum(key in message.keys for answer in answers for message in answer)
