"""Reading a recording: its looks, what changed between two moments, and how everything stood at one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mqctl.errors import BadInputError, NotFoundError
from mqctl.recording.kinds import COLUMNS, Aspect, Cell, Key, LookOutcome, RecordedPiece, RowKind, Values
from mqctl.recording.place import RecordingPlace, open_place, pieces_in
from mqctl.recording.tables import Arrow, coded_table_in, schema_of, table_in
from mqctl.text import sentence

# Of looks that take long some are left out.
_LOOKS_MISSED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look, as its row has it."""

    moment_ms: int
    outcome: LookOutcome
    keyframe: bool
    every_ms: int
    took_ms: int
    clock_jump_ms: int | None = None
    cause: str | None = None
    reason: str | None = None
    name_servers: str | None = None
    unavailable: str | None = None

    @property
    def has_rows(self) -> bool:
        return self.outcome in (LookOutcome.WHOLE, LookOutcome.PARTIAL)

    @property
    def lasting_ms(self) -> int:
        """How long after it the next look may come until nobody recorded in between."""
        return _LOOKS_MISSED * self.every_ms + self.took_ms


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row: from `moment_ms` on, `key` has these values, or is gone (None)."""

    moment_ms: int
    key: Key
    values: Values | None


CodedTable: TypeAlias = tuple[str, Arrow]
"""Name of a file, and its rows; None where they are known, or cannot be read."""


@dataclass(slots=True)
class Recording:
    """An opened recording.

    Attributes:
        cluster: name server addresses of what was recorded.
        looks: all looks whose files can be read, in order.
        problems: files that cannot be read, and why; each is told once.
    """

    place: RecordingPlace
    cluster: str
    looks: list[Look]
    _pieces: list[RecordedPiece]
    problems: dict[str, BadInputError] = field(default_factory=dict)

    def changes(
        self, kind: RowKind, since_ms: int, until_ms: int, aspects: Collection[Aspect] = ()
    ) -> Iterator[RowChange]:
        """Yields the rows of a kind between two moments, both included, in order of time; of facts only some aspects,
        where these are named."""
        table = self.table(kind, since_ms, until_ms)
        if table is None:
            return
        if aspects:
            import pyarrow as pa
            import pyarrow.compute as pc

            table = table.filter(pc.is_in(table["aspect"], pa.array([aspect.value for aspect in aspects])))
        width = len(COLUMNS[kind].key)
        columns = [column.to_pylist() for column in table.columns]
        for row in zip(*columns, strict=True):
            values: Values | None = None if row[-1] else row[1 + width : -1]
            yield RowChange(row[0], row[1 : 1 + width], values)

    def table(self, kind: RowKind, since_ms: int, until_ms: int) -> Arrow:
        """Returns the rows of a kind between two moments as an Arrow table by time; None without any."""
        import pyarrow as pa
        import pyarrow.compute as pc

        moments = pa.array(
            [look.moment_ms for look in self.looks if since_ms <= look.moment_ms <= until_ms], pa.int64()
        )
        tables = []
        for piece in self._pieces:
            if piece.kind is kind and piece.first_ms <= until_ms and piece.last_ms >= since_ms:
                table = _read(self.place, piece, self.problems)
                if table is not None:
                    tables.append(table.filter(pc.is_in(table["moment_ms"], moments)))
        return pa.concat_tables(tables).sort_by("moment_ms") if tables else None

    def rows_at(self, kind: RowKind, moments: frozenset[int]) -> Arrow:
        """Returns the rows of a kind at these moments, of looks that were keyframes all there were, as an Arrow table.

        Of files that keep keyframes apart, only those are read.
        """
        import pyarrow as pa

        tables = [schema_of(kind).empty_table()]
        ordered = sorted(moments)
        for piece in self._pieces:
            if piece.kind is kind and bisect_left(ordered, piece.first_ms) < bisect_right(ordered, piece.last_ms):
                table = _read(self.place, piece, self.problems, moments=moments)
                if table is not None:
                    tables.append(table)
        return pa.concat_tables(tables)

    def coded_tables(self, kind: RowKind, since_ms: int, until_ms: int, known: Collection[str]) -> Iterator[CodedTable]:
        """Yields the files with rows of a kind between two moments, the oldest first, whole; those that are known
        without their rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        moments = None
        for piece in sorted(self._pieces, key=lambda piece: piece.first_ms):
            if piece.kind is not kind or piece.first_ms > until_ms or piece.last_ms < since_ms:
                continue
            table = None
            if piece.name not in known:
                moments = moments or pa.array([look.moment_ms for look in self.looks], pa.int64())
                table = _read(self.place, piece, self.problems, coded=True)
                table = None if table is None else table.filter(pc.is_in(table["moment_ms"], moments))
            yield piece.name, table

    def look_at(self, moment_ms: int) -> Look:
        """Returns the last look at or before a moment that was answered. Raises NotFoundError."""
        answered = [look for look in self.looks if look.moment_ms <= moment_ms and look.has_rows]
        if not answered:
            raise NotFoundError(
                sentence(
                    "recording-no-look-before",
                    "the recording {place} has no look at or before that moment",
                    place=self.place.text,
                ),
                remedy=sentence("recording-name-later-moment", "name a later moment"),
            )
        return answered[-1]

    def keyframe_before(self, moment_ms: int) -> int:
        """Returns the moment of the last keyframe at or before a moment; 0 without one."""
        return max((look.moment_ms for look in self.looks if look.keyframe and look.moment_ms <= moment_ms), default=0)

    def unread(self, since_ms: int, until_ms: int) -> Iterator[tuple[RecordedPiece, BadInputError]]:
        """Yields the files with rows between two moments that could not be read when they were asked for."""
        for piece in self._pieces:
            if piece.name in self.problems and piece.first_ms <= until_ms and piece.last_ms >= since_ms:
                yield piece, self.problems[piece.name]

    def state_at(self, moment_ms: int, kinds: Collection[RowKind] | None = None) -> dict[RowKind, dict[Key, Values]]:
        """Returns the rows as they stood at a moment: those of the keyframe before, and what changed since.

        Raises:
            NotFoundError: nothing was recorded before it.
        """
        self.look_at(moment_ms)
        since_ms = self.keyframe_before(moment_ms)
        state: dict[RowKind, dict[Key, Values]] = {}
        for kind in kinds or [kind for kind in RowKind if kind is not RowKind.LOOKS]:
            rows = state.setdefault(kind, {})
            for change in self.changes(kind, since_ms, moment_ms):
                if change.values is None:
                    rows.pop(change.key, None)
                else:
                    rows[change.key] = change.values
        return state


def open_recording(text: str) -> Recording:
    """Opens the recording in a directory or at a URL.

    Raises:
        NotFoundError: there is none.
        BadInputError: it has looks, and none can be read, or they are of several clusters.
    """
    place = open_place(text)
    pieces = pieces_in(place)
    if not pieces:
        raise NotFoundError(
            sentence("no-recording", "there is no recording in {location}", location=text),
            remedy=sentence("record-dir-makes", "mqctl record DIR makes one"),
        )
    problems: dict[str, BadInputError] = {}
    clusters: set[str] = set()
    looks = [
        _look(row)
        for piece in pieces
        if piece.kind is RowKind.LOOKS and (table := _read(place, piece, problems, clusters)) is not None
        for row in table.to_pylist()
    ]
    if not looks:
        raise next(
            iter(problems.values()),
            BadInputError(
                sentence("recording-no-look", "there is no sample of {text}", text=text),
                remedy=sentence("recording-record-again", "record again"),
            ),
        )
    if len(clusters) > 1:
        raise BadInputError(
            sentence("could-not-read-recording", "could not read the recording {place}", place=text),
            reason=sentence(
                "recording-mixes-files-several-clusters",
                "it mixes files of several clusters: {clusters}",
                clusters=sorted(clusters),
            ),
            remedy=sentence("keep-each-cluster-recording", "keep each cluster's recording in its own directory"),
        )
    looks = _from_the_first_whole(sorted(looks, key=lambda look: look.moment_ms))
    if not looks:
        problem = BadInputError(
            sentence("recording-no-look-whole", "no sample of {text} is complete", text=text),
            remedy=sentence("recording-record-again", "record again"),
        )
        raise next(iter(problems.values()), problem)
    return Recording(place, next(iter(clusters)), looks, pieces, problems)


def _from_the_first_whole(looks: list[Look]) -> list[Look]:
    """Leaves out looks that only say what changed since a whole one which is not there: its files were removed."""
    first_ms = next((look.moment_ms for look in looks if look.keyframe), None)
    return [look for look in looks if not look.has_rows or (first_ms is not None and look.moment_ms >= first_ms)]


def _look(row: Mapping[str, Cell]) -> Look:
    names = ("cause", "reason", "name_servers", "unavailable")
    texts = {name: None if row[name] is None else str(row[name]) for name in names}
    return Look(
        moment_ms=int(row["moment_ms"] or 0),
        outcome=LookOutcome(str(row["outcome"])),
        keyframe=bool(row["keyframe"]),
        every_ms=int(row["every_ms"] or 0),
        took_ms=int(row["took_ms"] or 0),
        clock_jump_ms=None if row["clock_jump_ms"] is None else int(row["clock_jump_ms"]),
        **texts,
    )


def _read(
    place: RecordingPlace,
    piece: RecordedPiece,
    problems: dict[str, BadInputError],
    clusters: set[str] | None = None,
    *,
    moments: frozenset[int] | None = None,
    coded: bool = False,
) -> Arrow:
    """Returns a file's table, or its rows of these moments, or all with texts as codes; None for one that cannot be
    read, which is noted."""
    where = f"{place.text}/{piece.name}"
    try:
        if coded:
            return coded_table_in(piece.kind, place.read(piece.name), where)
        table, cluster = table_in(piece.kind, place.read(piece.name), where, moments=moments)
    except BadInputError as error:
        problems[piece.name] = error
        return None
    except OSError as error:
        problems[piece.name] = BadInputError(
            sentence("could-not-read", "could not read {file}", file=where),
            reason=error.strerror or str(error),
            remedy=sentence("recording-intact-part-used", "the intact part is used"),
        )
        return None
    if clusters is not None:
        clusters.add(cluster)
    return table
