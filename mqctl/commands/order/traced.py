"""Who was given which message of a topic, from the traces of its consumers: live, or from a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mqctl.allocation.handovers import Delivery
from mqctl.allocation.key_order import KeyedMessage
from mqctl.cli.sources.brokers import queue_gaps
from mqctl.cli.sources.key_samples import KeySample
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.protocol.trace_records import TraceKind, TraceRecord, decode_traces
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import ask_bounds, peek, queue_addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderQuestion:
    """What an order check is about.

    Attributes:
        key: property that holds the key; None chooses it.
        count: messages of each queue, and traces of each queue of their topic, to read at most: the newest.
        group: whose traces are to be read; None for nobody's.
    """

    topic: str
    key: str | None
    count: int
    group: str | None
    trace_topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Deliveries to a group that its consumers traced, of the messages of a sample.

    Attributes:
        gaps: queues of the trace topic that could not be read.
    """

    deliveries: tuple[Delivery, ...] = ()
    gaps: tuple[Gap, ...] = ()


def live_traces(asking: Asking, wanted: OrderQuestion, sample: KeySample) -> Traces:
    """Reads the newest traces, and joins those of the group with the messages that they name."""
    if wanted.group is None:
        return Traces()
    try:
        readable = queue_addresses(asking, wanted.trace_topic)
    except NotFoundError:
        return Traces()
    ends, errors = ask_bounds(asking, readable)
    starts = {queue: max(low, high - wanted.count) for queue, (low, high) in ends.items()}
    stored, unread = peek(asking, {queue: readable[queue] for queue in starts}, starts, wanted.count)
    traces = [(item.message, item.body) for item in stored if item.problem is None]
    deliveries = deliveries_of(traces, wanted.group, sample.messages)
    return Traces(deliveries=deliveries, gaps=(*queue_gaps(errors), *queue_gaps(unread)))


def store_traces(path: Path, wanted: OrderQuestion, sample: KeySample) -> Traces:
    """Does the same from a store directory."""
    if wanted.group is None:
        return Traces()
    from mqctl.snapshot.store.reading import Reading
    from mqctl.store.directory import StoreDirectory

    reading = Reading(StoreDirectory.open(path))
    unpacker = Unpacker()
    gaps = []
    traces = []
    for (name, queue_id), bounds in reading.bounds.items():
        if name != wanted.trace_topic:
            continue
        _, entries = reading.entries(bounds, bounds.max_offset - wanted.count)
        for place in entries["physical_offset"].tolist():
            try:
                item = unpacker.stored(reading.store.commit_log.record_at(place))
            except MqctlError as error:
                gaps.append(Gap.of(Part.MESSAGES, error, GapSubject(topic=name, queue_id=queue_id)))
            else:
                traces.append((item.message, item.body))
    deliveries = deliveries_of(traces, wanted.group, sample.messages)
    return Traces(deliveries=deliveries, gaps=tuple(dict.fromkeys(gaps)))


def deliveries_of(
    traces: Iterable[tuple[Message, bytes]], group: str, messages: Iterable[KeyedMessage]
) -> tuple[Delivery, ...]:
    """Joins traces with messages by their unique id; retries are left out, as they come from another topic."""
    places = {item.unique_id: item for item in messages if item.unique_id is not None}
    begun: dict[tuple[str, str], tuple[TraceRecord, str]] = {}
    ended_ms: dict[tuple[str, str], int | None] = {}
    for message, body in traces:
        for record in decode_traces(body)[0]:
            call = (record.message_id, record.request_id or "")
            if record.message_id not in places:
                continue
            if record.kind is TraceKind.BEFORE_CONSUMING and record.group == group and not record.retries:
                begun[call] = (record, message.born_host)
            elif record.kind is TraceKind.AFTER_CONSUMING:
                ended_ms[call] = record.time_ms
    return tuple(
        Delivery(
            queue=places[call[0]].queue,
            queue_offset=places[call[0]].queue_offset,
            client=client,
            began_ms=record.time_ms,
            ended_ms=ended_ms.get(call),
        )
        for call, (record, client) in begun.items()
        if record.time_ms is not None
    )
