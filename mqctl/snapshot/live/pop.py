"""POP consumption of live brokers: request modes, and what the newest records of pops say.

No request tells what is invisible. The records do, unless the broker keeps pops elsewhere: of the timer topic the
newest are read, of the revive topic all that is not done with, both up to a limit. A limit that was reached is named,
unless brokers count no more records in their timers than were read. Batches of ordered pops are in no record: they
count as ready.

Offsets are asked for last, after the ends of queues: what moves in between makes less ready, and never more than is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError, UnsupportedError
from mqctl.model.config import TopicConfig
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.names import REVIVE_GROUP, TIMER_TOPIC, dlq_topic, pop_retry_topic, popped_topic, revive_topic
from mqctl.model.pop_share import PopShare
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable, TimerCount
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import PULLING, LiveBroker, ask_request_modes, split_offset_key
from mqctl.snapshot.live.messages import READER_GROUP, sure_bounds
from mqctl.snapshot.pop_records import Place, PopLedger, PopNotes, pop_shares, unknown_modes
from mqctl.text import sentence

MOST_RECORDS = 20_000
"""Records of the timer topic that are read, the newest ones; and of each revive queue at most."""
_PULLED, _MOST_BACK = 32, 2_048


def gather_pop(
    asking: Asking, brokers: list[LiveBroker], groups: Collection[str], now_ms: int
) -> Mapping[int, tuple[PopShare, ...]]:
    """Asks every broker of 5.x how far groups are with what they pop; what it does not tell becomes a gap of it.

    Args:
        groups: those that are asked for; none for all.
    """
    ask_request_modes(asking, brokers)
    engines = _engines(asking, brokers)
    shares_by_broker = {}
    for number, broker in enumerate(brokers):
        if isinstance(broker.request_modes, MqctlError):
            broker.gaps.append(Gap.of(Part.POP, broker.request_modes))
            continue
        elsewhere = engines.get(number)
        if elsewhere is not None:
            broker.gaps.append(elsewhere)
        modes = {(mode.consumer_group, mode.topic): mode.mode for mode in broker.request_modes or ()}
        broker.gaps += unknown_modes({key: mode for key, mode in modes.items() if not groups or key[0] in groups})
        try:
            shares = _shares(asking, broker, modes, now_ms, in_records=elsewhere is None)
        except MqctlError as failure:
            broker.gaps.append(Gap.of(Part.POP, failure))
            continue
        shares_by_broker[number] = tuple(share for share in shares if not groups or share.group in groups)
    return shares_by_broker


def _engines(asking: Asking, brokers: list[LiveBroker]) -> dict[int, Gap]:
    """Returns why records do not tell what is invisible, of brokers of which that is so or not known, by number."""
    wanted = [(number, item) for number, item in enumerate(brokers) if not isinstance(item.request_modes, MqctlError)]
    unasked = [
        (number, item.address.address, ask.broker_settings())
        for number, item in wanted
        if not item.config and item.request_modes is not PULLING
    ]
    answers = asking.put(unasked)
    for number, settings in answers.values.items():
        brokers[number].config = settings
    engines = {number: Gap.of(Part.POP, error) for number, error in answers.errors.items()}
    for number, item in wanted:
        setting = next((name for name in _ELSEWHERE if item.config.get(name) == "true"), None)
        if setting is not None:
            engines[number] = Gap.of(Part.POP, UnsupportedError(_ELSEWHERE[setting]))
    return engines


_ELSEWHERE = {
    "popConsumerKVServiceEnable": sentence(
        "pops-in-database",
        "the broker keeps what is popped in a RocksDB database (popConsumerKVServiceEnable), and no request tells what "
        "is invisible",
    ),
    "enablePopBufferMerge": sentence(
        "pops-in-buffer",
        "the broker keeps what is popped in its memory first (enablePopBufferMerge), and no request tells what is "
        "invisible",
    ),
}
"""Settings with which a broker does not write every pop into records at once."""


def _shares(
    asking: Asking, broker: LiveBroker, modes: Mapping[tuple[str, str], str], now_ms: int, *, in_records: bool
) -> tuple[PopShare, ...]:
    """Raises MqctlError: the broker does not tell."""
    bounds = _bounds(asking, broker, [(TIMER_TOPIC, 0)])
    if not modes and not bounds[TIMER_TOPIC, 0][1]:
        return ()  # nothing was ever popped
    address = broker.address.address
    offsets = _offsets(asking.cluster.ask(address, ask.all_consumer_offsets(), asking.deadline))
    config = asking.cluster.ask(address, ask.topic_configs(), asking.deadline)
    revive = revive_topic(broker.address.cluster)
    bounds |= _bounds(asking, broker, _queues(config, {revive}))
    revived = {queue: at for (group, topic, queue), at in offsets.items() if (group, topic) == (REVIVE_GROUP, revive)}
    ledger = PopLedger(is_whole=False)
    for place, (low, end) in bounds.items():
        in_timer = place[0] == TIMER_TOPIC
        first = low if in_timer else max(low, revived.get(place[1], 0))
        waiting = _in_wheel(asking, broker, revive) if in_timer and end - first > MOST_RECORDS else None
        _read(asking, broker, place, (max(first, end - MOST_RECORDS), end), ledger)
        if end - first > MOST_RECORDS and (waiting is None or ledger.waiting_count(waiting.time_stamp) < waiting.count):
            reason = sentence(
                "snapshot-newest-records-read",
                "only the newest {most_records:,} of {count:record was/were} read, pops before count as none",
                most_records=MOST_RECORDS,
                count=end - first,
            )
            broker.gaps.append(_limit(place, reason))
    for place, (low, _) in bounds.items():
        if place[0] == revive:
            _read_back(asking, broker, place, (low, max(low, revived.get(place[1], 0))), (ledger, now_ms))
    popped = ledger.last_pops().keys() | modes.keys()
    names = {name for group, topic in popped for name in (topic, dlq_topic(group), *_retries(group, topic))}
    for group, name, _ in offsets:
        original = popped_topic(name, group)
        names |= {name, original} if original != name else set()
    bounds |= _bounds(asking, broker, _queues(config, names))
    offsets = _offsets(asking.cluster.ask(address, ask.all_consumer_offsets(), asking.deadline))
    notes = PopNotes(bounds=bounds, offsets=offsets, revived=revived, modes=modes, in_records=in_records)
    return pop_shares(ledger, notes, now_ms)


def _in_wheel(asking: Asking, broker: LiveBroker, revive: str) -> TimerCount | None:
    """Returns how many records of pops a broker has in its timers, and when it counted them; None where it keeps them
    in a database, or does not tell."""
    address = broker.address.address
    try:
        config = broker.config or asking.cluster.ask(address, ask.broker_settings(), asking.deadline)
        if config.get("timerRocksDBEnable") == "true":
            return None
        return asking.cluster.ask(address, ask.timer_metrics(), asking.deadline).timing_count.get(revive)
    except MqctlError:
        return None


def _limit(place: Place, reason: str) -> Gap:
    subject = GapSubject(topic=place[0], queue_id=place[1])
    return Gap(part=Part.POP, cause=Cause.LEFT_OUT, reason=reason, subject=subject)


def _offsets(table: ConsumerOffsetTable) -> dict[tuple[str, str, int], int]:
    return {
        (group, topic, queue_id): offset
        for key, queues in table.offset_table.items()
        for topic, group in [split_offset_key(key)]
        for queue_id, offset in queues.items()
    }


def _queues(config: Mapping[str, TopicConfig], names: Collection[str]) -> list[Place]:
    return [(name, n) for name in sorted(names) if name in config for n in range(config[name].read_queue_count)]


def _retries(group: str, topic: str) -> tuple[str, str]:
    return pop_retry_topic(group, topic), pop_retry_topic(group, topic, v2=True)


def _bounds(asking: Asking, broker: LiveBroker, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
    queues = {MessageQueue(topic, broker.name, queue_id): broker.address.address for topic, queue_id in places}
    return {(queue.topic, queue.queue_id): ends for queue, ends in sure_bounds(asking, queues).items()}


def _read_back(
    asking: Asking, broker: LiveBroker, place: Place, span: tuple[int, int], to: tuple[PopLedger, int]
) -> None:
    """Takes what the timer wheel gave out last from before the end of a span, though it is done with.

    The timer topic still has it, and only its place in the revive topic says that it did not come just now.
    Raises MqctlError.
    """
    ledger, now_ms = to
    low, start = span
    low = max(low, start - _MOST_BACK)
    address = broker.address.address
    while start > low:
        first = max(low, start - _PULLED)
        question = messages.pull(READER_GROUP, *place, first, max_count=start - first)
        taken = asking.cluster.ask(address, question, asking.deadline).messages
        for message in taken:
            ledger.take(message)
        if ledger.tells_the_wheel(taken, now_ms):
            return
        start = first


def _read(asking: Asking, broker: LiveBroker, place: Place, span: tuple[int, int], ledger: PopLedger) -> None:
    """Takes the records of a span of queue offsets. Raises MqctlError."""
    topic, queue_id = place
    answers = asking.put(
        (start, broker.address.address, messages.pull(READER_GROUP, topic, queue_id, start, max_count=_PULLED))
        for start in range(*span, _PULLED)
    )
    for error in answers.errors.values():
        raise error
    for start in sorted(answers.values):
        for message in answers.values[start].messages:
            if message.queue_offset < span[1]:
                ledger.take(message)
