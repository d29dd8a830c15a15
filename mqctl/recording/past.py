"""A recorded moment as a snapshot again, so that everything that judges one judges the past as well."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import msgspec

from mqctl.errors import BadInputError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.delay_state import DelayState
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import GroupMembership, Member, ProducerMembership
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.remark import of_decoder
from mqctl.model.route import NameServerView
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.recording.kinds import COLUMNS, Aspect, Cell, Key, RowKind, Values
from mqctl.recording.reader import Look, Recording
from mqctl.text import sentence

T = TypeVar("T")
# What looks of a recorder do not ask: rules that need it cannot judge.
_NOT_RECORDED = (Part.ROUTES, Part.RUNNING_INFO, Part.TAGS, Part.CONSUMPTION, Part.STACKS, Part.NEWEST)
_NOT_RECORDED_OF_BROKERS = (Part.TRANSACTIONS, Part.POP, Part.ACCESS, Part.MESSAGES, Part.REPLICATION, Part.CONTROLLERS)
# What the rows of a kind tell of.
_PARTS = {
    RowKind.QUEUES: (Part.QUEUES,),
    RowKind.OFFSETS: (Part.CONSUMER_OFFSETS,),
    RowKind.MEMBERS: (Part.MEMBERS,),
    RowKind.BROKERS: (Part.TOPICS, Part.QUEUES, Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.RUNTIME, Part.CONFIG),
    RowKind.FACTS: (Part.TOPICS, Part.GROUPS, Part.MEMBERS, Part.PRODUCERS, Part.DELAY, Part.RUNTIME, Part.CONFIG),
}
# Looks between two that are compared: members share queues out anew every 20 s.
_MOST_BETWEEN = 30
_WHY = sentence("recorder-does-not-ask", "a recorder does not ask for it")


def snapshot_at(recording: Recording, moment_ms: int) -> ClusterSnapshot:
    """Returns the cluster as the last answered look at or before a moment showed it.

    Raises:
        NotFoundError: nothing was recorded before it.
        BadInputError: a value cannot be understood.
    """
    return _decoded_snapshot(recording, recording.look_at(moment_ms))


def _decoded_snapshot(recording: Recording, look: Look, kinds: Collection[RowKind] | None = None) -> ClusterSnapshot:
    try:
        snapshot = _snapshot(recording, look, recording.state_at(look.moment_ms, kinds))
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInputError(
            sentence("could-not-read-recording", "could not read the recording {place}", place=recording.place.text),
            reason=of_decoder(error),
            remedy=sentence("recording-use-wrote", "use the mqctl that wrote it"),
        ) from error
    return replace(snapshot, unavailable=(*snapshot.unavailable, *_unread(recording, look)))


def _unread(recording: Recording, look: Look) -> Iterator[Gap]:
    """Yields what is not known of a look, since files that tell of it cannot be read."""
    since_ms = recording.keyframe_before(look.moment_ms)
    for piece, error in recording.unread(since_ms, look.moment_ms):
        for part in _PARTS.get(piece.kind, ()):
            yield Gap(part=part, cause=Cause.DAMAGED, reason=str(error))


def with_looks_before(recording: Recording, moment_ms: int, *, window_ms: int) -> ClusterSnapshot:
    """Returns a recorded moment with the look that long before it, and members at the looks in between.

    Where nobody recorded at that time, there is none: rules that compare two looks are then not judged.

    Raises:
        NotFoundError: nothing was recorded before the moment.
        BadInputError: a value cannot be understood.
    """
    now = snapshot_at(recording, moment_ms)
    look = recording.look_at(moment_ms)
    answered = [item for item in recording.looks if item.has_rows and item.moment_ms < look.moment_ms]
    before = [item for item in answered if look.moment_ms - item.moment_ms >= window_ms]
    if not before or look.moment_ms - before[-1].moment_ms > window_ms + look.lasting_ms:
        return now
    first = before[-1]
    between = [item for item in answered if item.moment_ms > first.moment_ms]
    return replace(
        now,
        earlier=snapshot_at(recording, first.moment_ms),
        between=tuple(_members_at(recording, item) for item in between[-_MOST_BETWEEN:]),
    )


def _members_at(recording: Recording, look: Look) -> ClusterSnapshot:
    return _decoded_snapshot(recording, look, (RowKind.BROKERS, RowKind.MEMBERS, RowKind.FACTS))


def _snapshot(recording: Recording, look: Look, state: Mapping[RowKind, Mapping[Key, Values]]) -> ClusterSnapshot:
    views = _decoded(look.name_servers or "[]", tuple[NameServerView, ...])
    queues, offsets, members = _queues(state), _offsets(state), _members(state)
    facts = _facts(state)
    brokers = []
    speaking: set[str] = set()
    for key, values in sorted(
        state.get(RowKind.BROKERS, {}).items(), key=lambda item: (str(item[0][0]), item[0][1] or 0)
    ):
        name, number = str(key[0]), int(key[1] or 0)
        broker = _broker(name, number, values, facts.get((name, number), {}), members)
        if name not in speaking:
            speaking.add(name)
            broker = replace(broker, queues=tuple(queues.get(name, ())), consumer_offsets=tuple(offsets.get(name, ())))
        brokers.append(broker)
    return ClusterSnapshot(
        origin=Origin(
            kind=OriginKind.LIVE,
            location=recording.cluster,
            observed_at_ms=look.moment_ms,
            observed_from=ObservedFrom.CLOCK,
            archive=recording.place.text,
        ),
        brokers=tuple(brokers),
        name_servers=views,
        unavailable=(*_decoded(look.unavailable or "[]", tuple[Gap, ...]), *map(_left_out, _NOT_RECORDED)),
    )


def _broker(
    name: str,
    number: int,
    values: Values,
    facts: Mapping[Aspect, Mapping[str, str]],
    members: Mapping[tuple[str, str], list[Member]],
) -> BrokerSnapshot:
    recorded = dict(zip(COLUMNS[RowKind.BROKERS].values, values, strict=True))
    delay = facts.get(Aspect.DELAY, {}).get("")
    gaps = _decoded(facts.get(Aspect.GAPS, {}).get("", "[]"), tuple[Gap, ...])
    reserved = recorded["file_reserved_ms"]
    return BrokerSnapshot(
        name=name,
        broker_id=number,
        cluster=_text(recorded["cluster"]),
        address=_text(recorded["address"]),
        version=_text(recorded["version"]),
        file_reserved_ms=None if reserved is None else int(reserved),
        topics=tuple(_all(facts, Aspect.TOPIC, TopicConfig)),
        groups=tuple(_all(facts, Aspect.GROUP, SubscriptionGroupConfig)),
        memberships=tuple(
            replace(item, members=tuple(known), client_ids=tuple(member.client_id for member in known))
            for item in _all(facts, Aspect.MEMBERSHIP, GroupMembership)
            for known in [members.get((name, item.group), [])]
        ),
        producers=tuple(_all(facts, Aspect.PRODUCERS, ProducerMembership)),
        delay=None if delay is None else _decoded(delay, DelayState),
        config=facts.get(Aspect.SETTING, {}),
        runtime=facts.get(Aspect.RUNTIME, {}),
        unavailable=(*gaps, *map(_left_out, _NOT_RECORDED_OF_BROKERS)),
    )


def _left_out(part: Part) -> Gap:
    return Gap(part=part, cause=Cause.LEFT_OUT, reason=_WHY)


def _all(facts: Mapping[Aspect, Mapping[str, str]], aspect: Aspect, kind: type[T]) -> list[T]:
    return [_decoded(text, kind) for _, text in sorted(facts.get(aspect, {}).items())]


def _decoded(text: str, kind: type[T]) -> T:
    return msgspec.json.decode(text, type=kind)


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _ms(seconds: Cell) -> int | None:
    return None if seconds is None else int(seconds) * 1000


def _facts(state: Mapping[RowKind, Mapping[Key, Values]]) -> dict[tuple[str, int], dict[Aspect, dict[str, str]]]:
    facts: dict[tuple[str, int], dict[Aspect, dict[str, str]]] = {}
    for (broker, number, aspect, name), (value,) in state.get(RowKind.FACTS, {}).items():
        known = facts.setdefault((str(broker), int(number or 0)), {})
        known.setdefault(Aspect(str(aspect)), {})[str(name)] = str(value)
    return facts


def _queues(state: Mapping[RowKind, Mapping[Key, Values]]) -> dict[str, list[QueueState]]:
    queues: dict[str, list[QueueState]] = {}
    for (broker, topic, queue_id), (least, most, first_s, last_s) in state.get(RowKind.QUEUES, {}).items():
        queues.setdefault(str(broker), []).append(
            QueueState(
                topic=str(topic),
                queue_id=int(queue_id or 0),
                min_offset=int(least or 0),
                max_offset=int(most or 0),
                first_store_time_ms=_ms(first_s),
                last_store_time_ms=_ms(last_s),
            )
        )
    return queues


def _offsets(state: Mapping[RowKind, Mapping[Key, Values]]) -> dict[str, list[ConsumerOffsetState]]:
    offsets: dict[str, list[ConsumerOffsetState]] = {}
    for (broker, group, topic, queue_id), (offset, next_s, consumed_s) in state.get(RowKind.OFFSETS, {}).items():
        offsets.setdefault(str(broker), []).append(
            ConsumerOffsetState(
                group=str(group),
                topic=str(topic),
                queue_id=int(queue_id or 0),
                offset=int(offset or 0),
                next_store_time_ms=_ms(next_s),
                last_consumed_store_time_ms=_ms(consumed_s),
            )
        )
    return offsets


def _members(state: Mapping[RowKind, Mapping[Key, Values]]) -> dict[tuple[str, str], list[Member]]:
    members: dict[tuple[str, str], list[Member]] = {}
    for (broker, group, client, address), (language, version) in state.get(RowKind.MEMBERS, {}).items():
        members.setdefault((str(broker), str(group)), []).append(
            Member(
                client_id=str(client),
                address=str(address),
                language=_text(language),
                version=None if version is None else int(version),
            )
        )
    return members
