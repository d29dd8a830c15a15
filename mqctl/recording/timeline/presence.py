"""Who was there: members of groups and brokers that came, went, or did so again and again, and who owned queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby

import msgspec

from mqctl.model.finding import Severity
from mqctl.model.member import GroupMembership, MessageModel
from mqctl.model.route import MASTER_ID
from mqctl.model.timeline import EventKind, MemberSeries, TimelineEvent
from mqctl.recording.kinds import COLUMNS, Aspect, Cell, Key, RowKind, Values
from mqctl.recording.reader import Recording, RowChange
from mqctl.recording.timeline.question import LookSpan, TimelineQuestion

# A member that is away so often within that time flaps.
_FLAPS, _FLAPPING_MS = 2, 900_000
_BROKER = list(COLUMNS[RowKind.BROKERS].values)
# From here a broker deletes files before their time, deletes at once, and refuses messages (its own defaults).
DISK_STEPS = ((0.75, Severity.WARNING), (0.85, Severity.ERROR), (0.90, Severity.FATAL))
_DISK_FREED = 0.02


def moments_of(
    recording: Recording, kind: RowKind, stretch: LookSpan, aspects: Collection[Aspect] = ()
) -> Iterator[tuple[int, dict[Key, tuple[Values | None, Values | None]]]]:
    """Yields moment by moment what changed: values before and after by key, None where it is not there.

    The first moment shows what was there; a keyframe without a key ends it.
    """
    state: dict[Key, Values] = {}
    frames = {look.moment_ms for look in recording.looks if look.keyframe}
    until_ms = stretch.answered[-1]
    changes = recording.changes(kind, stretch.base_ms, until_ms, aspects)
    for moment_ms, group in groupby(changes, lambda row: row.moment_ms):
        rows: list[RowChange] = list(group)
        after: dict[Key, Values | None] = {row.key: row.values for row in rows}
        if moment_ms in frames and any(values is not None for values in after.values()):
            after.update(dict.fromkeys(state.keys() - after.keys()))
        changed = {key: (state.get(key), values) for key, values in after.items() if state.get(key) != values}
        for key, (_, values) in changed.items():
            if values is None:
                del state[key]
            else:
                state[key] = values
        if changed:
            yield moment_ms, changed


@dataclass(slots=True)
class MembersOverTime:
    """What happened to members, and how many there were: moments and numbers by group."""

    events: list[TimelineEvent] = field(default_factory=list)
    counts: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def series(self, group: str) -> MemberSeries:
        """Returns the numbers of one group."""
        counts = self.counts.get(group, [])
        return MemberSeries(
            group=group, moments_ms=[moment for moment, _ in counts], member_counts=[count for _, count in counts]
        )


def members_over_time(recording: Recording, question: TimelineQuestion, stretch: LookSpan) -> MembersOverTime:
    """Compares the members of all looks; a client counts once, whatever number of brokers it is connected to."""
    over = MembersOverTime()
    connections: Counter[tuple[str, str]] = Counter()
    sizes: Counter[str] = Counter()
    begin_ms = stretch.answered[0]
    for moment_ms, changed in moments_of(recording, RowKind.MEMBERS, stretch):
        moved: Counter[tuple[str, str]] = Counter()
        for (_, group, client, _), (before, after) in changed.items():
            if question.wants(group=str(group)):
                moved[str(group), str(client)] += (after is not None) - (before is not None)
        for (group, client), change in sorted(moved.items()):
            was = connections[group, client] > 0
            connections[group, client] += change
            here = connections[group, client] > 0
            if was == here:
                continue
            sizes[group] += 1 if here else -1
            if moment_ms > begin_ms:
                over.events.append(_came_or_went(stretch, moment_ms, group, client, sizes[group], came=here))
        for group in sorted({group for group, _ in moved}):
            over.counts[group].append((max(moment_ms, begin_ms), sizes[group]))
    over.events = list(_flaps_named(over.events))
    return over


def _came_or_went(
    stretch: LookSpan, moment_ms: int, group: str, client: str, size: int, *, came: bool
) -> TimelineEvent:
    return TimelineEvent(
        moment_ms=moment_ms,
        after_ms=stretch.before(moment_ms),
        kind=EventKind.MEMBER_JOINED if came else EventKind.MEMBER_LEFT,
        severity=Severity.INFO if came or size else Severity.ERROR,
        group=group,
        client=client,
        after=str(size),
    )


def _flaps_named(events: list[TimelineEvent]) -> Iterator[TimelineEvent]:
    """Yields the events with one in place of those of a member that left and came back again and again."""
    by_member: dict[tuple[str | None, str | None], list[TimelineEvent]] = defaultdict(list)
    for event in events:
        by_member[event.group, event.client].append(event)
    for own in by_member.values():
        run: list[TimelineEvent] = []
        for event in own:
            if run and event.moment_ms - run[-1].moment_ms > _FLAPPING_MS:
                yield from _run(run)
                run = []
            run.append(event)
        yield from _run(run)


def _run(run: list[TimelineEvent]) -> Iterator[TimelineEvent]:
    while run and run[0].kind is EventKind.MEMBER_JOINED:  # who comes for the first time does not flap
        yield run[0]
        run = run[1:]
    times = sum(event.kind is EventKind.MEMBER_LEFT for event in run)
    if times < _FLAPS or len(run) <= _FLAPS:
        yield from run
        return
    yield TimelineEvent(
        moment_ms=run[0].moment_ms,
        after_ms=run[0].after_ms,
        until_ms=run[-1].moment_ms,
        kind=EventKind.MEMBER_FLAPPED,
        severity=Severity.ERROR,
        group=run[0].group,
        client=run[0].client,
        times=times,
        after=run[-1].after,
    )


def owner_events(recording: Recording, question: TimelineQuestion, stretch: LookSpan) -> Iterator[TimelineEvent]:
    """Yields which queues went from which members to which; that is asked less often than the rest.

    A queue that two members of a group hold at one look was not let go yet when the new owner took it; members that
    broadcast all hold every queue.
    """
    broadcasting = _broadcasting(recording, stretch)
    owners: dict[tuple[Cell, ...], set[str]] = defaultdict(set)
    known: set[tuple[Cell, Cell]] = set()
    for moment_ms, changed in moments_of(recording, RowKind.OWNERS, stretch):
        before = {key[:-1]: sorted(owners[key[:-1]]) for key in changed}
        for key, (_, after) in changed.items():
            (owners[key[:-1]].discard if after is None else owners[key[:-1]].add)(str(key[-1]))
        moves: Counter[tuple[str, str, str, str]] = Counter()
        for queue, old in before.items():
            new = sorted(owners[queue])
            group, topic, broker, _ = map(str, queue)
            wanted = question.wants(group=group, topic=topic, broker=broker) and not topic.startswith("%RETRY%")
            if wanted and new != old and (group, topic) in known:
                moves[group, topic, ", ".join(old), ", ".join(new)] += 1
        known |= {(key[0], key[1]) for key in changed}
        if moment_ms <= stretch.answered[0]:
            continue
        for (group, topic, was, becomes), count in sorted(moves.items()):
            yield TimelineEvent(
                moment_ms=moment_ms,
                after_ms=stretch.before(moment_ms),
                kind=EventKind.QUEUES_SHARED
                if ", " in becomes and group not in broadcasting
                else EventKind.QUEUES_MOVED,
                severity=Severity.INFO if becomes else Severity.WARNING,
                group=group,
                topic=topic,
                queue_count=count,
                before=was or None,
                after=becomes or None,
            )


def _broadcasting(recording: Recording, stretch: LookSpan) -> set[str]:
    """Returns the groups of which members broadcast."""
    groups = set()
    for _, changed in moments_of(recording, RowKind.FACTS, stretch, (Aspect.MEMBERSHIP,)):
        for _, after in changed.values():
            if after is not None:
                membership = msgspec.json.decode(str(after[0]), type=GroupMembership)
                if membership.message_model is MessageModel.BROADCASTING:
                    groups.add(membership.group)
    return groups


def broker_events(recording: Recording, question: TimelineQuestion, stretch: LookSpan) -> Iterator[TimelineEvent]:
    """Yields brokers lost and back, changed roles, and disks that filled."""
    steps: Counter[Key] = Counter()
    here: dict[Key, bool] = {}
    roles: dict[str, str] = {}
    begin_ms = stretch.answered[0]
    for moment_ms, changed in moments_of(recording, RowKind.BROKERS, stretch):
        for key, (_, after) in sorted(changed.items(), key=lambda item: str(item[0])):
            broker = _process(key)
            if not question.wants(broker=str(key[0])):
                continue
            values = dict(zip(_BROKER, after, strict=True)) if after is not None else {}
            answers = bool(values.get("answered"))
            event = TimelineEvent(
                moment_ms=moment_ms,
                after_ms=stretch.before(moment_ms),
                kind=EventKind.BROKER_BACK if answers else EventKind.BROKER_LOST,
                severity=Severity.INFO if answers else Severity.FATAL if int(key[1] or 0) == 0 else Severity.ERROR,
                broker=broker,
            )
            shown = moment_ms > begin_ms
            if shown and here.get(key, False) != answers:
                yield event
            here[key] = answers
            yield from _role(event, roles, str(values.get("address") or ""), str(key[0]), int(key[1] or 0), shown=shown)
            yield from _disk(event, steps, key, values.get("disk_used_share"), shown=shown)


def _process(key: Key) -> str:
    return str(key[0]) if not key[1] else f"{key[0]} (id {key[1]})"


def _role(
    event: TimelineEvent, roles: dict[str, str], address: str, name: str, number: int, *, shown: bool
) -> Iterator[TimelineEvent]:
    role = f"{'master' if number == MASTER_ID else 'slave'} of {name}"
    before = roles.get(address)
    if address:
        roles[address] = role
    if shown and before is not None and address and before != role:
        yield _changed(event, EventKind.ROLE_CHANGED, Severity.WARNING, before, role)


def _disk(event: TimelineEvent, steps: Counter[Key], key: Key, share: Cell, *, shown: bool) -> Iterator[TimelineEvent]:
    if share is None:
        return
    used, before = float(share), steps[key]
    step = sum(used >= limit for limit, _ in DISK_STEPS)
    if step < before and used > DISK_STEPS[step][0] - _DISK_FREED:
        return
    steps[key] = step
    if shown and step > before:
        yield _changed(event, EventKind.DISK_FILLED, DISK_STEPS[step - 1][1], None, f"{used:.0%}")
    elif shown and step < before:
        yield _changed(event, EventKind.DISK_FREED, Severity.INFO, None, f"{used:.0%}")


def _changed(
    event: TimelineEvent, kind: EventKind, severity: Severity, before: str | None, after: str | None
) -> TimelineEvent:
    return TimelineEvent(
        moment_ms=event.moment_ms,
        after_ms=event.after_ms,
        kind=kind,
        severity=severity,
        broker=event.broker,
        before=before,
        after=after,
    )
