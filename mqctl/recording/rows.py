"""A snapshot as rows, and which of them differ from those before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from mqctl.model.gap import Gap, Part
from mqctl.model.member import GroupMembership, RunningInfo
from mqctl.model.route import MASTER_ID
from mqctl.model.runtime import read_runtime
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.recording.kinds import COLUMNS, Aspect, Cell, Key, RowKind, State, Values
from mqctl.text import encoded

Changes: TypeAlias = Mapping[RowKind, Mapping[Key, Values | None]]
_BROKER: Mapping[RowKind, int] = {
    kind: list(columns.key).index("broker") for kind, columns in COLUMNS.items() if columns.key
}
# What a gap in a part leaves unknown: rows that are missing then are not gone.
_PARTS: Mapping[RowKind, frozenset[Part]] = {
    RowKind.QUEUES: frozenset({Part.QUEUES, Part.TOPICS}),
    RowKind.OFFSETS: frozenset({Part.CONSUMER_OFFSETS}),
    RowKind.MEMBERS: frozenset({Part.MEMBERS, Part.GROUPS}),
    RowKind.FACTS: frozenset({Part.TOPICS, Part.GROUPS, Part.MEMBERS, Part.CONFIG, Part.RUNTIME, Part.PRODUCERS}),
}


def rows_of(snapshot: ClusterSnapshot, *, consumers_asked: bool) -> dict[RowKind, dict[Key, Values]]:
    """Returns what a snapshot shows as rows by key; owners only where consumers were asked."""
    rows: dict[RowKind, dict[Key, Values]] = {
        kind: {} for kind in RowKind if kind not in (RowKind.LOOKS, RowKind.OWNERS)
    }
    leading = _leading(snapshot.brokers)
    for broker in snapshot.brokers:
        name, number = broker.name or "", broker.broker_id or 0
        rows[RowKind.BROKERS][name, number] = _broker_values(broker)
        rows[RowKind.FACTS].update(_facts(broker, name, number))
        if leading[name] != number:  # a slave has the same queues and groups
            continue
        for queue in broker.queues:
            rows[RowKind.QUEUES][name, queue.topic, queue.queue_id] = (
                queue.min_offset,
                queue.max_offset,
                _seconds(queue.first_store_time_ms),
                _seconds(queue.last_store_time_ms),
            )
        for held in broker.consumer_offsets:
            rows[RowKind.OFFSETS][name, held.group, held.topic, held.queue_id] = (
                held.offset,
                _seconds(held.next_store_time_ms),
                _seconds(held.last_consumed_store_time_ms),
            )
        for membership in broker.memberships:
            for member in membership.members:
                key = (name, membership.group, member.client_id, member.address)
                rows[RowKind.MEMBERS][key] = (member.language, member.version)
    if consumers_asked:
        rows[RowKind.OWNERS] = dict.fromkeys(_owners(snapshot.running), ())
    return rows


@dataclass(frozen=True, slots=True)
class Unanswered:
    """What a look could not learn: parts by broker name, and consumers by (group, client id)."""

    parts: Mapping[str, frozenset[Part]]
    consumers: frozenset[tuple[str | None, str | None]]

    def hides(self, kind: RowKind, key: Key) -> bool:
        """Whether a row that is missing may still be there."""
        if kind is RowKind.OWNERS:
            return (key[0], key[-1]) in self.consumers
        return bool(self.parts.get(str(key[_BROKER[kind]]), frozenset()) & _PARTS.get(kind, frozenset()))


def unanswered(snapshot: ClusterSnapshot) -> Unanswered:
    """Returns what was asked for this snapshot and not answered."""
    parts: dict[str, set[Part]] = {}
    for broker in snapshot.brokers:
        parts.setdefault(broker.name or "", set()).update(gap.part for gap in broker.unavailable)
    return Unanswered(
        {name: frozenset(missing) for name, missing in parts.items()},
        frozenset((gap.group, gap.client) for gap in snapshot.unavailable if gap.client is not None),
    )


def changes(before: State, now: State, unknown: Unanswered) -> Changes:
    """Returns the rows that are new or differ; None for those that are gone."""
    changed: dict[RowKind, Mapping[Key, Values | None]] = {}
    for kind, rows in now.items():
        old = before.get(kind, {})
        differing: dict[Key, Values | None] = {key: values for key, values in rows.items() if old.get(key) != values}
        differing.update({key: None for key in old.keys() - rows.keys() if not unknown.hides(kind, key)})
        changed[kind] = differing
    return changed


def applied(before: State, changed: Changes) -> dict[RowKind, dict[Key, Values]]:
    """Returns the rows after some changed."""
    after = {kind: dict(rows) for kind, rows in before.items()}
    for kind, rows in changed.items():
        kept = after.setdefault(kind, {})
        for key, values in rows.items():
            if values is None:
                kept.pop(key, None)
            else:
                kept[key] = values
    return after


def _leading(brokers: Iterable[BrokerSnapshot]) -> dict[str, int]:
    """Returns by broker name the id of the process that speaks for it: the master, else the lowest slave."""
    numbers: dict[str, int] = {}
    for broker in brokers:
        name, number = broker.name or "", broker.broker_id or MASTER_ID
        numbers[name] = min(number, numbers.get(name, number))
    return numbers


def _broker_values(broker: BrokerSnapshot) -> Values:
    runtime = read_runtime(broker.runtime)
    return (
        broker.cluster,
        broker.address,
        broker.version,
        bool(broker.runtime),
        runtime.put_tps.newest,
        runtime.get_tps.newest,
        runtime.disk_used_share,
        runtime.commit_log_bytes,
        broker.file_reserved_ms,
    )


def _facts(broker: BrokerSnapshot, name: str, number: int) -> dict[Key, Values]:
    facts: dict[Key, Values] = {}

    def add(aspect: Aspect, subject: str, value: Cell) -> None:
        facts[name, number, aspect.value, subject] = (value,)

    for topic in broker.topics:
        add(Aspect.TOPIC, topic.name, json(topic))
    for group in broker.groups:
        add(Aspect.GROUP, group.name, json(group))
    for membership in broker.memberships:
        add(Aspect.MEMBERSHIP, membership.group, json(_without_members(membership)))
    for producers in broker.producers:
        known = tuple(replace(member, last_heartbeat_ms=None) for member in producers.members)
        add(Aspect.PRODUCERS, producers.group, json(replace(producers, members=known)))
    if broker.delay is not None:
        add(Aspect.DELAY, "", json(broker.delay))
    for setting, value in broker.config.items():
        add(Aspect.SETTING, setting, value)
    for figure, value in broker.runtime.items():
        add(Aspect.RUNTIME, figure, value)
    if broker.unavailable:
        add(Aspect.GAPS, "", gaps_json(broker.unavailable))
    return facts


def _without_members(membership: GroupMembership) -> GroupMembership:
    return replace(membership, client_ids=(), members=())


def _owners(running: Iterable[RunningInfo]) -> list[Key]:
    return [
        (info.group, held.queue.topic, held.queue.broker_name, held.queue.queue_id, info.client_id)
        for info in running
        for held in info.queues
        if not held.dropped
    ]


def json(value: object) -> str:
    """Writes a value of the model as one JSON text."""
    return msgspec.json.encode(value, enc_hook=encoded).decode()


def gaps_json(gaps: Iterable[Gap]) -> str:
    """Writes gaps as JSON; `scope` follows from the rest."""
    return json(
        [
            {key: value for key, value in msgspec.to_builtins(gap, enc_hook=encoded).items() if key != "scope"}
            for gap in gaps
        ]
    )


def _seconds(moment_ms: int | None) -> int | None:
    return None if moment_ms is None else moment_ms // 1000
