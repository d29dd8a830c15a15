"""What became of one message: the traces of clients, and the offsets of the groups of its topic.

Source of the tracks: `DefaultMQAdminExtImpl.messageTrackDetail` of 4.9.8, which compares offsets on the broker that
stored the message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError
from mqctl.filter.sql import SqlSyntaxError, compile_sql
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, MessageModel, RunningInfo, Subscription, consume_mode
from mqctl.model.message import Message
from mqctl.model.message_track import ConsumeTrace, SendTrace, Track, TrackState, TrackType
from mqctl.model.names import is_system_group
from mqctl.model.queue import MessageQueue
from mqctl.protocol.trace_records import TraceKind, TraceRecord, decode_traces
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, split_offset_key
from mqctl.snapshot.live.members import declared_modes, gather_memberships
from mqctl.snapshot.live.messages import KeyQuery, by_key
from mqctl.snapshot.live.running import gather_running
from mqctl.snapshot.live.topic_use import groups_of_topic
from mqctl.text import sentence

_ACTIVELY = "CONSUME_ACTIVELY"
_POP = "POP"


@dataclass(frozen=True, slots=True)
class Traced:
    """A record with the address that its message came from."""

    record: TraceRecord
    born_host: str


def gather_traces(asking: Asking, unique_id: str, topic: str) -> tuple[list[Traced], int, list[MqctlError]]:
    """Looks a message's records up by its unique id.

    Returns:
        records in the order of their time; how many lines were unreadable; why a broker could not be asked.

    Raises:
        NotFoundError: there is no such trace topic.
    """
    messages, errors = by_key(asking, KeyQuery(topic=topic, key=unique_id))
    traced: list[Traced] = []
    unreadable = 0
    for item in messages:
        if item.problem is not None:
            unreadable += 1
            continue
        records, bad = decode_traces(item.body)
        unreadable += bad
        traced += [Traced(record, item.message.born_host) for record in records if record.message_id == unique_id]
    traced.sort(key=lambda item: item.record.time_ms or 0)
    return traced, unreadable, errors


def traced_sends(traced: Iterable[Traced]) -> list[SendTrace]:
    """Returns what producers traced; the host is that of the trace's own message where the record names none."""
    kinds = (TraceKind.SENT, TraceKind.TRANSACTION_ENDED, TraceKind.RECALLED)
    return [
        SendTrace(
            kind=str(item.record.kind),
            time_ms=item.record.time_ms,
            group=item.record.group,
            topic=item.record.topic,
            client_host=item.record.client_host or _host(item.born_host),
            store_host=item.record.store_host,
            cost_ms=item.record.cost_ms,
            message_type=item.record.message_type,
            succeeded=item.record.succeeded,
            state=item.record.state,
        )
        for item in traced
        if item.record.kind in kinds
    ]


def consumptions(traced: Iterable[Traced]) -> list[ConsumeTrace]:
    """Joins the two records of each call of a listener by its request id."""
    before: dict[str, Traced] = {}
    after: dict[str, Traced] = {}
    for item in traced:
        if item.record.kind is TraceKind.BEFORE_CONSUMING:
            before[item.record.request_id or ""] = item
        elif item.record.kind is TraceKind.AFTER_CONSUMING:
            after[item.record.request_id or ""] = item
    return [_call(before.get(key), after.get(key)) for key in dict.fromkeys([*before, *after])]


def _call(before: Traced | None, after: Traced | None) -> ConsumeTrace:
    begun, ended = (before.record if before else None), (after.record if after else None)
    host = (before or after or _NOBODY).born_host
    return ConsumeTrace(
        group=(begun.group if begun else None) or (ended.group if ended else None),
        client_host=(begun.client_host if begun else None) or _host(host),
        began_ms=begun.time_ms if begun else None,
        ended_ms=ended.time_ms if ended else None,
        cost_ms=ended.cost_ms if ended else None,
        retries=begun.retries if begun else None,
        succeeded=ended.succeeded if ended else None,
        outcome=ended.outcome if ended else None,
    )


_NOBODY = Traced(TraceRecord(kind=TraceKind.SENT, message_id=""), "")


def _host(address: str) -> str | None:
    return address.rpartition(":")[0] or None


def gather_tracks(asking: Asking, message: Message) -> tuple[list[Track], list[Gap]]:
    """Compares the message's place with the offsets of every group of its topic, on the broker that stored it."""
    holders = [item for item in asking.cluster.brokers(asking.deadline) if item.address == message.store_host]
    if not holders:
        reason = sentence(
            "snapshot-broker-stored-cluster-any",
            "the broker that stored it, {store_host}, is not in the cluster any more",
            store_host=message.store_host,
        )
        return [], [Gap(part=Part.CONSUMER_OFFSETS, cause=Cause.SILENT, reason=reason)]
    broker = LiveBroker(address=holders[0])
    try:
        table = asking.cluster.ask(message.store_host, ask.all_consumer_offsets(), asking.deadline)
    except MqctlError as error:
        return [], [Gap.of(Part.CONSUMER_OFFSETS, error)]
    offsets = {
        group: queues[message.queue_id]
        for key, queues in table.offset_table.items()
        for topic, group in [split_offset_key(key)]
        if topic == message.topic and message.queue_id in queues
    }
    groups = groups_of_topic(asking, [broker], message.topic)
    if groups.errors:
        return [], [Gap.of(Part.CONSUMER_OFFSETS, groups.errors[0])]
    names = sorted(group for group in groups.values[0] | set(offsets) if not is_system_group(group))
    if not names:
        return [], []
    memberships = gather_memberships(asking, [broker], Scope(groups=frozenset(names)))
    members = {item.group: item for items in memberships.values() for item in items}
    modes = declared_modes(asking, [broker], message.topic)
    unknown = {gap.group for gap in broker.gaps}
    owners = _owners(asking, broker, message, members.values())
    tracks = [
        _owned(_track(message, name, offsets, members.get(name), known=name not in unknown), message, owners.get(name))
        for name in names
    ]
    return [_with_mode(track, members.get(track.group), modes.get(track.group, ())) for track in tracks], broker.gaps


def _owners(
    asking: Asking, broker: LiveBroker, message: Message, memberships: Iterable[GroupMembership]
) -> dict[str, RunningInfo]:
    """Returns the member that holds the message's queue, of each group that shares queues and of which one tells so."""
    sharing = tuple(item for item in memberships if item.message_model is not MessageModel.BROADCASTING)
    running, _ = gather_running(asking, [broker], {0: sharing})
    queue = MessageQueue(message.topic, broker.name, message.queue_id)
    return {info.group: info for info in running for held in info.queues if held.queue == queue and not held.dropped}


def _owned(track: Track, message: Message, owner: RunningInfo | None) -> Track:
    """Returns the track with the owner of the queue, who may want other messages than the broker sends.

    A broker filters by the last heartbeat of any member: what it did then is not known where its owner wants more.
    """
    if owner is None:
        return track
    own = next((item for item in owner.subscriptions if item.topic == message.topic), None)
    wanted = _wants(message, own) if own is not None else None
    state = track.state
    if state is TrackState.CONSUMED and wanted is False:
        state = TrackState.FILTERED
    elif state is TrackState.FILTERED and wanted:
        state = TrackState.PASSED
    return replace(track, state=state, owner=owner.client_id)


def _with_mode(track: Track, membership: GroupMembership | None, declared: Collection[str]) -> Track:
    """Returns the track with how its group consumes the topic: an offset that pops moved says what was handed out."""
    mode = next(iter(declared), None)
    if mode is None and membership is not None:
        mode = consume_mode([membership])
    popped = mode == _POP and track.state in (TrackState.CONSUMED, TrackState.PASSED)
    return replace(track, consume_mode=mode, state=TrackState.POPPED if popped else track.state)


def _track(
    message: Message, group: str, offsets: Mapping[str, int], membership: GroupMembership | None, *, known: bool
) -> Track:
    offset = offsets.get(group)
    past = None if offset is None else offset > message.queue_offset
    return Track(
        group=group,
        state=_state(message, membership, past=past, known=known),
        track_type=_track_type(message, membership, past=past, known=known),
        online=membership is not None if known else None,
        consumer_offset=offset,
    )


def _state(message: Message, membership: GroupMembership | None, *, past: bool | None, known: bool) -> TrackState:
    if membership is not None and membership.message_model is MessageModel.BROADCASTING:
        return TrackState.BROADCASTING
    if past is None:
        return TrackState.NEVER_COMMITTED
    if not past:
        return TrackState.NOT_YET
    wanted = _wanted(message, membership) if known and membership is not None else None
    if wanted is None:
        return TrackState.PASSED
    return TrackState.CONSUMED if wanted else TrackState.FILTERED


def _track_type(message: Message, membership: GroupMembership | None, *, past: bool | None, known: bool) -> TrackType:
    if not known:
        return TrackType.UNKNOWN
    if membership is None:
        return TrackType.NOT_ONLINE
    if membership.message_model is MessageModel.BROADCASTING:
        return TrackType.CONSUME_BROADCASTING
    if membership.consume_type == _ACTIVELY:
        return TrackType.PULL
    if not past:
        return TrackType.NOT_CONSUME_YET
    return TrackType.CONSUMED_BUT_FILTERED if _wanted(message, membership) is False else TrackType.CONSUMED


def _wanted(message: Message, membership: GroupMembership) -> bool | None:
    """Tells whether the group, as its broker filters for it, wants the message; None when that cannot be told."""
    subscription = next((item for item in membership.subscriptions if item.topic == message.topic), None)
    return _wants(message, subscription) if subscription is not None else None


def _wants(message: Message, subscription: Subscription) -> bool | None:
    if subscription.expression_type == "TAG":
        return not subscription.tags or message.tags in subscription.tags
    return _passes(subscription, message)


def _passes(subscription: Subscription, message: Message) -> bool | None:
    try:
        return compile_sql(subscription.expression).matches(message.properties)
    except SqlSyntaxError:
        return None
