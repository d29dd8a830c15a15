"""A recording as the past of one of its moments: hour by hour, from the looks that are whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from mqctl.model.past import GroupHours, MemberReturns, RecordedPast, RecordingGap, RecordingGapKind, TopicHours
from mqctl.model.spans import DAY_MS, HOUR_MS
from mqctl.recording.kinds import Aspect, LookOutcome, RowKind
from mqctl.recording.reader import Look, Recording
from mqctl.recording.tables import Arrow, schema_of

LONGEST_MS = 35 * DAY_MS
"""How far back rules look at most: four weeks and the days before."""
_UNUSED_MS = 30 * DAY_MS
_HOURS_AT_ONCE = 24

_Seen: TypeAlias = tuple[tuple[object, ...], bool]
"""A connection of a member, and whether it is there from now on."""

_ENDS = """
WITH ends AS (
    SELECT frames.hour, moment_ms, queues.broker, queues.topic, queues.queue_id, max_offset, answered,
        CASE WHEN abs(lead(moment_ms) OVER next - moment_ms - 3600000) < 600000
                AND answered AND lead(answered) OVER next
            THEN greatest(lead(max_offset) OVER next - max_offset, 0) END AS sent
    FROM queues JOIN frames USING (moment_ms)
        JOIN brokers ON brokers.moment_ms = queues.moment_ms AND brokers.broker = queues.broker
    WHERE NOT gone
    WINDOW next AS (PARTITION BY queues.broker, queues.topic, queues.queue_id ORDER BY frames.hour)
)"""
_TOPICS = (
    _ENDS
    + """
SELECT topic, hour, CASE WHEN bool_and(sent IS NOT NULL) THEN CAST(sum(sent) AS BIGINT) END
FROM ends GROUP BY topic, hour"""
)
_GROUPS = (
    _ENDS
    + """, steps AS (
    SELECT ends.hour, "group", offsets.topic, answered, sent, greatest(max_offset - "offset", 0) AS lag_count,
        CASE WHEN max_offset <= "offset" THEN 0 ELSE ends.moment_ms - next_store_time_s * 1000 END AS wait_ms,
        CASE WHEN lead("offset") OVER next >= "offset" THEN lead("offset") OVER next - "offset" END AS consumed
    FROM offsets JOIN ends ON offsets.moment_ms = ends.moment_ms AND offsets.broker = ends.broker
        AND offsets.topic = ends.topic AND offsets.queue_id = ends.queue_id
    WHERE NOT gone
    WINDOW next AS (PARTITION BY offsets.broker, "group", offsets.topic, offsets.queue_id ORDER BY ends.hour)
)
SELECT "group", topic, hour,
    CASE WHEN bool_and(answered) THEN CAST(sum(lag_count) AS BIGINT) END,
    CASE WHEN bool_and(answered AND wait_ms IS NOT NULL) THEN greatest(max(wait_ms), 0) END,
    CASE WHEN bool_and(consumed IS NOT NULL AND sent IS NOT NULL) THEN CAST(sum(consumed) AS BIGINT) END,
    CASE WHEN bool_and(sent IS NOT NULL) THEN CAST(sum(sent) AS BIGINT) END
FROM steps GROUP BY "group", topic, hour"""
)
_USED = """
WITH moves AS (
    SELECT "group", moment_ms, "offset" <> lag("offset") OVER before AS moved
    FROM offsets WHERE NOT gone
    WINDOW before AS (PARTITION BY broker, "group", topic, queue_id ORDER BY moment_ms)
), seen AS (
    SELECT "group", moment_ms FROM moves WHERE moved
    UNION ALL
    SELECT "group", moment_ms FROM members
)
SELECT "group", max(moment_ms) FROM seen GROUP BY "group\""""


def past_of(recording: Recording, moment_ms: int) -> RecordedPast:
    """Returns what was recorded up to a moment, of five weeks at most. Raises NotFoundError: nothing was."""
    last = recording.look_at(moment_ms)
    oldest_ms = last.moment_ms - LONGEST_MS
    looks = [look for look in recording.looks if oldest_ms <= look.moment_ms <= last.moment_ms]
    begin_ms = next(look.moment_ms for look in looks if look.has_rows)
    frames = _frames(looks)
    hours = sorted(frames)
    rows = _Hours(recording, frames, last.moment_ms)
    used_since_ms = last.moment_ms - _UNUSED_MS
    unused = next((frames[hour] for hour in reversed(hours) if last.moment_ms - frames[hour] >= _UNUSED_MS), None)
    return RecordedPast(
        recording=recording.place.text,
        begin_ms=begin_ms,
        until_ms=last.moment_ms,
        gaps=tuple(gaps_of(looks)),
        first_hour=hours[0],
        groups=tuple(rows.groups()),
        topics=tuple(rows.topics()),
        returns=tuple(_returns(recording, looks, last.moment_ms - DAY_MS)),
        used_ms={group: used_ms for group, used_ms in rows.used.items() if used_ms >= used_since_ms},
        old_groups=() if unused is None else _groups_at(recording, unused),
        unused_since_ms=used_since_ms,
    )


def gaps_of(looks: Iterable[Look]) -> Iterator[RecordingGap]:
    """Yields the stretches between looks that were answered in which a recorder should have seen more.

    A clock that leaps forwards while the recorder looks is no such stretch: nobody lost sight of anything.
    """
    before: Look | None = None
    unanswered: Look | None = None
    leapt_ms = 0
    for look in looks:
        leapt_ms += max(0, look.clock_jump_ms or 0)
        if not look.has_rows:
            unanswered = unanswered or look
            continue
        if before is not None and (unanswered or look.moment_ms - leapt_ms - before.moment_ms > before.lasting_ms):
            yield _gap(before, look, unanswered)
        before, unanswered, leapt_ms = look, None, 0


def _gap(before: Look, after: Look, unanswered: Look | None) -> RecordingGap:
    kind = RecordingGapKind.SILENT
    if unanswered is not None:
        stopped = unanswered.outcome is LookOutcome.STOPPED
        kind = RecordingGapKind.STOPPED if stopped else RecordingGapKind.UNANSWERED
    reason = None if unanswered is None else unanswered.reason
    return RecordingGap(since_ms=before.moment_ms, until_ms=after.moment_ms, kind=kind, reason=reason)


def _frames(looks: Iterable[Look]) -> dict[int, int]:
    """Returns the moment of the first whole look of each hour, by the hour's number."""
    frames: dict[int, int] = {}
    for look in looks:
        if look.keyframe:
            frames.setdefault(look.moment_ms // HOUR_MS, look.moment_ms)
    return frames


class _Hours:
    """The hours of groups and topics, read a day at a time: memory holds the rows of a day, and figures by hour."""

    def __init__(self, recording: Recording, frames: dict[int, int], until_ms: int) -> None:
        hours = sorted(frames)
        self._first, self._count = hours[0], hours[-1] - hours[0] + 1
        self.used: dict[str, int] = {}
        self._groups: dict[tuple[str, ...], list[list[int | None]]] = {}
        self._topics: dict[tuple[str, ...], list[list[int | None]]] = {}
        for begin in range(0, len(hours), _HOURS_AT_ONCE):
            # One more: what came in an hour shows at the begin of the next.
            part = hours[begin : begin + _HOURS_AT_ONCE + 1]
            whole = set(hours[begin : begin + _HOURS_AT_ONCE])
            last_ms = frames[part[-1]] if len(part) > _HOURS_AT_ONCE else until_ms
            with _database(recording, {hour: frames[hour] for hour in part}, last_ms) as database:
                self._add(self._groups, database.execute(_GROUPS).fetchall(), 2, whole)
                self._add(self._topics, database.execute(_TOPICS).fetchall(), 1, whole)
                for group, moment_ms in database.execute(_USED).fetchall():
                    self.used[group] = max(moment_ms, self.used.get(group, 0))

    def _add(
        self,
        columns: dict[tuple[str, ...], list[list[int | None]]],
        rows: list[tuple[Arrow, ...]],
        width: int,
        hours: set[int],
    ) -> None:
        """Puts rows of a key, an hour and some values where they belong."""
        for row in rows:
            if row[width] in hours:
                known = columns.get(row[:width])
                if known is None:
                    known = columns[row[:width]] = [[None] * self._count for _ in row[width + 1 :]]
                for column, value in zip(known, row[width + 1 :], strict=True):
                    column[row[width] - self._first] = value

    def groups(self) -> Iterator[GroupHours]:
        for (group, topic), columns in sorted(self._groups.items()):
            lags, waits, consumed, sent = map(tuple, columns)
            yield GroupHours(
                group=group, topic=topic, lag_counts=lags, wait_ms=waits, consumed_counts=consumed, sent_counts=sent
            )

    def topics(self) -> Iterator[TopicHours]:
        for (topic,), (sent,) in sorted(self._topics.items()):
            yield TopicHours(topic=topic, sent_counts=tuple(sent))


def _database(recording: Recording, frames: dict[int, int], until_ms: int) -> Arrow:
    """Opens what stood in some whole looks, and the members until a moment, with DuckDB: it joins millions of rows in
    this process."""
    import duckdb
    import pyarrow as pa

    moments = frozenset(frames.values())
    database = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    members = recording.table(RowKind.MEMBERS, min(moments), until_ms)
    database.register("queues", recording.rows_at(RowKind.QUEUES, moments))
    database.register("offsets", recording.rows_at(RowKind.OFFSETS, moments))
    database.register("states", recording.rows_at(RowKind.BROKERS, moments))
    database.register("frames", pa.table({"hour": list(frames), "moment_ms": list(frames.values())}))
    database.register("all_members", schema_of(RowKind.MEMBERS).empty_table() if members is None else members)
    database.execute(
        "CREATE VIEW brokers AS SELECT moment_ms, broker, bool_or(coalesce(answered, false)) AS answered "
        "FROM states WHERE NOT gone GROUP BY moment_ms, broker"
    )
    database.execute("CREATE VIEW members AS SELECT * FROM all_members WHERE NOT gone")
    return database


def _groups_at(recording: Recording, moment_ms: int) -> tuple[str, ...]:
    state = recording.state_at(moment_ms, (RowKind.FACTS, RowKind.OFFSETS))
    named = {str(name) for _, _, aspect, name in state[RowKind.FACTS] if aspect == Aspect.GROUP}
    return tuple(sorted(named | {str(group) for _, group, _, _ in state[RowKind.OFFSETS]}))


def _returns(recording: Recording, looks: list[Look], since_ms: int) -> Iterator[MemberReturns]:
    """Counts how often a machine had no member of a group any more and then had one again.

    What is there after a stretch that was not recorded has not come back: it may have been there all the time.
    """
    resting = {gap.until_ms for gap in gaps_of(looks)}
    there: dict[tuple[str, str], set[object]] = {}
    left: set[tuple[str, str]] = set()
    came: dict[tuple[str, str], list[int]] = {}
    for moment_ms, changes in _by_moment(recording, looks, since_ms):
        before = set(there)
        for (broker, group, client, address), known in changes:
            host = (str(group), str(client).partition("@")[0])
            connections = there.setdefault(host, set())
            (connections.add if known else connections.discard)((broker, client, address))
        gone = {host for host, connections in there.items() if not connections}
        for host in gone:
            del there[host]
        for host in (there.keys() - before) & left if moment_ms not in resting else ():
            came.setdefault(host, []).append(moment_ms)
        left = (left | gone) - there.keys()
    for (group, machine), moments in sorted(came.items()):
        yield MemberReturns(
            group=group, host=machine, return_count=len(moments), first_ms=moments[0], last_ms=moments[-1]
        )


def _by_moment(recording: Recording, looks: list[Look], since_ms: int) -> Iterator[tuple[int, list[_Seen]]]:
    """Yields what came and went at each look; a whole look in which a key is missing says that it went."""
    frames = {look.moment_ms for look in looks if look.keyframe}
    begin_ms = max((moment for moment in frames if moment <= since_ms), default=min(frames))
    there: set[tuple[object, ...]] = set()
    by_moment: dict[int, list[_Seen]] = {moment: [] for moment in frames if moment >= begin_ms}
    for change in recording.changes(RowKind.MEMBERS, begin_ms, looks[-1].moment_ms):
        by_moment.setdefault(change.moment_ms, []).append((change.key, change.values is not None))
    for moment_ms, changes in sorted(by_moment.items()):
        if moment_ms in frames:
            listed = {key for key, known in changes if known}
            changes.extend((key, False) for key in there - listed)
        for key, known in changes:
            (there.add if known else there.discard)(key)
        yield moment_ms, changes
