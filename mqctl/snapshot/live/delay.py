"""The delay levels of live brokers: what they delivered (request 45), their level table, their schedule queues."""

from __future__ import annotations

from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError, UnsupportedError
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource, TimerTopicState
from mqctl.model.gap import Gap, Part
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.spans import HOUR_MS
from mqctl.protocol.bodies_cluster import DelayOffsetTable
from mqctl.protocol.codes import NO_TOPIC
from mqctl.snapshot.live.asking import Asking, Scope, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_runtime, ask_settings, list_brokers, masters_of, release_heard
from mqctl.snapshot.live.delay_queue import LevelQuestion, queue_state
from mqctl.snapshot.live.messages import sure_bounds
from mqctl.text import sentence

MANY_RECORDS, FEW_RECORDS = 256, 16
_LEVELS_SETTING = "messageDelayLevel"


def gather_live_delay(asking: Asking, scope: Scope, *, now_ms: int) -> ClusterSnapshot:
    """Gathers the delay levels of every master in question, and no more than rules about them need.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
        NotFoundError: a broker of the scope is none of the cluster's.
    """
    addresses = asking.cluster.brokers(asking.deadline)
    brokers = masters_of(list_brokers(asking, addresses, scope))
    ask_settings(asking, brokers)
    ask_runtime(asking, brokers)
    states = delay_states(asking, brokers, now_ms=now_ms, records=MANY_RECORDS)
    location = ";".join(asking.cluster.name_servers.addresses())
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location=location, observed_at_ms=now_ms, observed_from=ObservedFrom.CLOCK),
        brokers=tuple(_snapshot(broker, states.get(number)) for number, broker in enumerate(brokers)),
    )


def _snapshot(broker: LiveBroker, state: DelayState | None) -> BrokerSnapshot:
    hours = decimal(broker.config.get("fileReservedTime"))
    return BrokerSnapshot(
        name=broker.name,
        cluster=broker.address.cluster,
        address=broker.address.address,
        broker_id=broker.address.broker_id,
        version=broker.runtime.get("brokerVersionDesc"),
        delay=state,
        file_reserved_ms=hours * HOUR_MS if hours is not None else None,
        runtime=broker.runtime,
        config=broker.config,
        unavailable=tuple(broker.gaps),
    )


def has_timers(broker: BrokerSnapshot) -> bool:
    """Tells whether a broker delivers at any moment: 5.x with its timer wheel."""
    return (broker.version or "").startswith("V5") and broker.config.get("timerWheelEnable") == "true"


def delay_states(asking: Asking, brokers: list[LiveBroker], *, now_ms: int, records: int) -> dict[int, DelayState]:
    """Looks at the delay levels of masters whose settings were asked, by their number in `brokers`.

    A broker that does not tell gets a gap. Offsets come from a master's memory: its delayOffset.json may be 10 s older.

    Args:
        records: of how many entries of each level the record is read at most.
    """
    reachable = {number: broker for number, broker in enumerate(brokers) if not broker.lost}
    for broker in brokers:
        if broker.lost:
            broker.gaps += [replace(broker.gaps[0], part=part) for part in _PARTS]
    answers = asking.put((number, item.address.address, ask.delay_offsets()) for number, item in reachable.items())
    states: dict[int, DelayState] = {}
    for number, broker in reachable.items():
        error = answers.errors.get(number)
        if error is not None:
            broker.gaps += [Gap.of(part, error) for part in _PARTS]
        else:
            states[number] = _state(asking, broker, answers.values[number], now_ms=now_ms, records=records)
    _add_timers(asking, {number: reachable[number] for number in states}, states)
    return states


_PARTS = (Part.DELAY, Part.DELAY_QUEUES)
_IN_DATABASE = sentence(
    "timers-in-database",
    "the broker keeps timers in a RocksDB database (timerRocksDBEnable), and no request shows them",
)


def _add_timers(asking: Asking, brokers: dict[int, LiveBroker], states: dict[int, DelayState]) -> None:
    """Adds what waits in the timers of 5.x brokers: their counts (request 61), and what they have not taken yet."""
    timed = {}
    for number, broker in brokers.items():
        if _in_database(broker):
            broker.miss(Part.DELAY_TIMERS, UnsupportedError(_IN_DATABASE))
        elif unknown := [gap for gap in broker.gaps if gap.part is Part.CONFIG]:
            if (release_heard(asking, broker) or "V5").startswith("V5"):
                broker.gaps.append(replace(unknown[0], part=Part.DELAY_TIMERS))
        elif _turns_wheel(broker):
            timed[number] = broker
    answers = asking.put((number, item.address.address, ask.timer_metrics()) for number, item in timed.items())
    for number, broker in timed.items():
        if (error := answers.errors.get(number)) is not None:
            broker.miss(Part.DELAY_TIMERS, error)
            continue
        counts = sorted(answers.values[number].timing_count.items())
        behind = decimal(broker.runtime.get("timerOffsetBehind"))
        rows = [TimerTopicState(topic=topic, waiting_count=item.count) for topic, item in counts if item.count > 0]
        if behind:
            rows.append(TimerTopicState(topic=None, waiting_count=behind))
        states[number] = replace(states[number], timers=tuple(rows))


def _in_database(broker: LiveBroker) -> bool:
    """Tells whether a broker of 5.4.0 or newer keeps timers in RocksDB: what it counts is the wheel then."""
    return broker.config.get("timerRocksDBEnable") == "true" and broker.config.get("timerRocksDBStopScan") != "true"


def _turns_wheel(broker: LiveBroker) -> bool:
    is_v5 = broker.runtime.get("brokerVersionDesc", "").startswith("V5")
    return is_v5 and broker.config.get("timerWheelEnable") == "true"


def _state(asking: Asking, broker: LiveBroker, offsets: DelayOffsetTable, *, now_ms: int, records: int) -> DelayState:
    text = broker.config.get(_LEVELS_SETTING)
    table = DelayLevelTable.parse(text) if text else DelayLevelTable.parse()
    recorded = dict(offsets.offset_table)
    queues: dict[int, DelayQueueState] = {}
    try:
        for level, (low, high) in sorted(_bounds(asking, broker, {*range(1, table.max_level + 1), *recorded}).items()):
            wanted = LevelQuestion(
                address=broker.address.address,
                level=level,
                delay_ms=table.delay_ms(level),
                recorded=recorded.get(level),
                min_offset=low,
                max_offset=high,
                now_ms=now_ms,
                records=records,
            )
            queues[level] = queue_state(asking, wanted)
    except MqctlError as error:
        broker.miss(Part.DELAY_QUEUES, error)
    return DelayState(
        levels=tuple(
            DelayLevelState(
                level=level,
                delay_ms=table.delay_ms(level),
                recorded_offset=recorded.get(level),
                queue=queues.get(level),
            )
            for level in sorted({*range(1, table.max_level + 1), *recorded, *queues})
            if level >= 1 and (level <= table.max_level or level in recorded or queues[level].max_offset)
        ),
        table_source=LevelTableSource.BROKER_CONFIG if text else LevelTableSource.DEFAULT,
        rejected_keys=tuple(str(level) for level in sorted(recorded) if level < 1),
    )


def _bounds(asking: Asking, broker: LiveBroker, levels: set[int]) -> dict[int, tuple[int, int]]:
    """Returns the bounds of the schedule queues. Those beyond what the topic's settings say are asked one by one.

    Raises:
        MqctlError: the broker does not tell.
    """
    address = broker.address.address
    bounds: dict[int, tuple[int, int]] = {}
    try:
        stats = asking.cluster.ask(address, ask.topic_stats(SCHEDULE_TOPIC), asking.deadline)
        bounds = {queue.queue_id + 1: (item.min_offset, item.max_offset) for queue, item in stats.offset_table.items()}
    except MqctlError as error:
        if not refused_with(error, NO_TOPIC):
            raise
    rest = sorted(level for level in levels if level not in bounds and level >= 1)
    queues = {MessageQueue(SCHEDULE_TOPIC, broker.name, level - 1): address for level in rest}
    return bounds | {queue.queue_id + 1: ends for queue, ends in sure_bounds(asking, queues).items()}
