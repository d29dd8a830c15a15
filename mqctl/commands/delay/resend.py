"""What `delay repair --resend` does: messages that no level will ever deliver, sent again from a store or a broker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, UNKNOWN, StepPart, StepRecord
from mqctl.changes.engine.run import Consent, now_ms
from mqctl.changes.plan.delay_resend import Resend, StrandedMessage, plan_resend
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.cli.sources.brokers import asking_of
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.commands.delay.stranded import StrandedRange, check_count, from_broker, from_store
from mqctl.errors import DeadlineError, MqctlError, UnreachableError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.delay_level import DEFAULT_LEVELS, DelayLevelTable
from mqctl.model.delay_state import DelayState
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.model.step_plan import Step, StepPlan
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.delay import gather_live_delay, has_timers
from mqctl.snapshot.live.messages import KeyQuery, by_unique_key
from mqctl.text import composed, joined, sentence

KIND = "delay-resend"
SCHEMA = "delay.repair/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedRequest:
    """What is to be sent again.

    Attributes:
        store: the store directory to read from; None reads from the broker that sends.
        broker: name of the broker that sends; needed when there are several.
        levels: which levels; those that nothing delivers when empty.
        first, end: queue offsets [first, end) of each level; None for those that wait.
    """

    store: Path | None
    broker: str | None
    levels: tuple[int, ...]
    first: int | None
    end: int | None
    execute: bool
    confirmed: str | None


def resend(request: StrandedRequest, target: ClusterTarget) -> tuple[Document, int]:
    """Plans, and sends when asked to. Messages of which a delivered copy is found are left out.

    Raises:
        MqctlError: the source cannot be read, or the cluster cannot be asked.
    """
    going: list[Resend] = []

    with target.open() as cluster:

        def make() -> StepPlan:
            going[:], plan = _planned(asking_of(cluster, target), request)
            return plan

        def perform(record: StepRecord, save: Save) -> None:
            with Producer("MQCTL_PRODUCER", target.sender()) as producer:
                for item, part in zip(going, record.parts, strict=True):
                    _send(producer, item, record.subject, part)
                    save()

        def rests_on() -> Touched:
            return Touched(topics={item.topic for item in going}, store=request.store)

        change = StepChange(
            kind=KIND,
            schema=SCHEMA,
            make=make,
            perform=perform,
            ask=lambda: asking_of(cluster, target),
            rests_on=rests_on,
        )
        return run_steps(change, Consent(execute=request.execute, confirmed=request.confirmed))


def _planned(asking: Asking, request: StrandedRequest) -> tuple[list[Resend], StepPlan]:
    """Returns the messages that go, and the plan of all."""
    broker, delay = _broker(asking, request)
    text = broker.config.get("messageDelayLevel") or DEFAULT_LEVELS
    table = DelayLevelTable.parse(text)
    messages, unread = _stranded(asking, request, broker, _state(request, delay, text), table)
    for place in unread:
        tell(
            sentence(
                "delay-no-readable-message-not",
                "mqctl: {place} has no readable message; it is not sent again",
                place=place,
            )
        )
    made_at_ms = now_ms()
    timers = has_timers(broker)
    resends = [plan_resend(item, table, timers=timers, now_ms=made_at_ms) for item in messages]
    steps = _steps(asking, resends)
    going = [item for item, step in zip(resends, steps, strict=True) if step.moves]
    name = broker.name or ""
    return going, StepPlan(kind=KIND, target=name, confirm=name, made_at_ms=made_at_ms, steps=tuple(steps))


def _broker(asking: Asking, request: StrandedRequest) -> tuple[BrokerSnapshot, DelayState]:
    scope = Scope(brokers=frozenset({request.broker} if request.broker else ()))
    brokers = gather_live_delay(asking, scope, now_ms=now_ms()).brokers
    if len(brokers) != 1:
        known = ", ".join(item.name or "" for item in brokers) or sentence("none-name", "none of that name")
        raise UsageError(
            sentence("delay-no-broker-given-send", "no broker given to send them again"),
            reason=sentence("common-there", "there are {there}", there=known),
            remedy=sentence("delay-add-broker-name", "add --broker NAME"),
        )
    (broker,) = brokers
    if broker.delay is None or any(gap.part == "config" for gap in broker.unavailable):
        reason = broker.unavailable[0].reason if broker.unavailable else ""
        raise UnreachableError(
            sentence(
                "broker-not-report-delay",
                "broker {broker} does not report its delay levels",
                broker=broker.name,
            ),
            reason=reason,
        )
    return broker, broker.delay


def _state(request: StrandedRequest, live: DelayState, levels: str) -> DelayState:
    """The levels of the source, by the table of the broker that sends."""
    if request.store is None:
        return live
    from mqctl.snapshot.store.gatherer import gather_store

    return gather_store(request.store, levels=levels, deep=False, parts=(Part.DELAY,)).brokers[0].delay or live


def _stranded(
    asking: Asking, request: StrandedRequest, broker: BrokerSnapshot, state: DelayState, table: DelayLevelTable
) -> tuple[list[StrandedMessage], list[str]]:
    ranges = []
    for level in state.levels:
        queue = level.queue
        if queue is None or (level.level not in request.levels if request.levels else level.delay_ms is not None):
            continue
        recorded = queue.min_offset if level.recorded_offset is None else level.recorded_offset
        first = max(recorded if request.first is None else request.first, queue.min_offset)
        end = min(queue.max_offset, queue.max_offset if request.end is None else request.end)
        ranges.append(StrandedRange(level=level.level, first=first, end=end))
    if unknown := sorted(set(request.levels) - {level.level for level in state.levels}):
        raise UsageError(
            sentence("no-delay-level", "there is no delay level {unknown}", unknown=unknown[0]),
            remedy=command_line("mqctl delay levels"),
        )
    check_count(ranges)
    if request.store is not None:
        return from_store(request.store, ranges, table)
    return from_broker(asking, broker.address or "", ranges, table)


def _steps(asking: Asking, resends: Iterable[Resend]) -> list[Step]:
    """Describes each; one that consumers can have already, or whose topic is gone, is not sent."""
    steps = []
    for item in resends:
        record = item.message.stored.message
        problem = item.problem
        if problem is None and record.unique_key is not None:
            problem = _why_not(asking, item, record.unique_key)
        due_ms = item.message.due_time_ms
        place = sentence(
            "level-offset", "level {level} offset {offset}", level=item.message.level, offset=item.message.queue_offset
        )
        # How late it would be grows while one looks at the plan: no part of what must still hold.
        effects = (
            [sentence("delay-late", "{late_ms} late", late_ms=item.late_ms)]
            if item.late_ms and item.delay_level
            else []
        )
        effects += (
            [sentence("delay-delivered-again-if", "delivered again if it was delivered before")]
            if record.unique_key is None
            else []
        )
        how = (
            sentence("common-level", "level {level}", level=item.delay_level)
            if item.delay_level
            else "timer"
            if _timed(item)
            else sentence("delay-once", "at once")
        )
        steps.append(
            Step(
                subject=composed(
                    "{place}: {unique_key}",
                    place=place,
                    unique_key=record.unique_key or sentence("delay-no-id", "no id"),
                ),
                old=sentence("delay-due", "due {due_time_ms}", due_time_ms=due_ms)
                if due_ms is not None
                else sentence("delay-due-unknown-time", "due at an unknown time"),
                new=sentence("delay-sent", "sent to {topic}, {how}", topic=item.topic, how=how),
                effect=joined("; ", effects),
                problem=problem,
            )
        )
    return steps


def _timed(item: Resend) -> bool:
    return "TIMER_DELIVER_MS" in item.properties


def _why_not(asking: Asking, item: Resend, unique_key: str) -> str | None:
    try:
        copies, errors = by_unique_key(asking, KeyQuery(topic=item.topic, key=unique_key))
    except MqctlError as error:
        return str(error)
    own = item.message.stored.message
    if any((copy.message.store_host, copy.message.physical_offset) > (own.store_host, own.physical_offset)
           or copy.message.store_host != own.store_host for copy in copies):  # fmt: skip
        return sentence("delay-delivered-copy-exists", "a delivered copy exists")
    return str(errors[0]) if errors else None


def _send(producer: Producer, item: Resend, broker: str, step: StepPart) -> None:
    """Sends one message to its own queue while that is there, else to any of its topic."""
    record = item.message.stored
    message = OutgoingMessage(
        topic=item.topic,
        body=record.body,
        flag=record.message.flag,
        delay_level=item.delay_level,
        properties=item.properties,
    )
    try:
        queue = MessageQueue(item.topic, broker, item.queue_id or 0)
        known = queue in producer.queues(item.topic)
        result = producer.send(message, queue=queue if known else None)
    except (UnreachableError, DeadlineError) as error:
        step.fail(UNKNOWN, error)
    except MqctlError as error:
        step.fail(NOT_MOVED, error)
    else:
        step.state, step.found = CONFIRMED, f"{result.status.name} {result.offset_id}"
