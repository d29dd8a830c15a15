"""Writing a recording: what changed since the last look, keyframes now and then, small files made into large ones.

A look is written file by file, the row of the look itself last: rows of a look that has none do not count. Whoever is
killed in between loses that look; the next run begins with a keyframe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from mqctl.errors import BadInputError, MqctlError, RefusedError, StorageError
from mqctl.model.gap import cause_of
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.spans import HOUR_MS
from mqctl.recording.kinds import Key, LookOutcome, RecordedPiece, RowKind, Values, day_of
from mqctl.recording.merging import joined
from mqctl.recording.place import RecordingPlace, pieces_in, storage_error
from mqctl.recording.rows import Changes, applied, changes, gaps_json, json, rows_of, unanswered
from mqctl.recording.tables import Arrow, file_of, table_in, table_of
from mqctl.text import sentence

_CLOCK_JUMP_MS = 5_000
QUARTER_MS = 6 * HOUR_MS
"""Hours are joined to quarters of a day: rows of one key then stand together for long, and take half the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookTime:
    """When a look was taken.

    Attributes:
        wall_ms: epoch milliseconds by this machine's clock.
        steady_ms: by a clock that never jumps, from any beginning.
        took_ms: how long asking took.
    """

    wall_ms: int
    steady_ms: int
    took_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one look cost."""

    moment_ms: int
    row_count: int
    byte_count: int
    keyframe: bool


class RecordingWriter:
    """Writes looks into a place.

    Args:
        cluster: name server addresses; a place holds one cluster.
        keep_ms: what is older is removed, by whole days.

    Raises:
        RefusedError: the place holds the recording of another cluster.
        StorageError: it cannot be read.
    """

    def __init__(self, place: RecordingPlace, cluster: str, *, every_ms: int, keep_ms: int) -> None:
        self._place = place
        self._cluster = cluster
        self._every_ms = every_ms
        self._keep_ms = keep_ms
        self._state: dict[RowKind, dict[Key, Values]] = {}
        self._keyframe_at_ms: int | None = None
        self._last: LookTime | None = None
        pieces = pieces_in(place)
        self._last_moment_ms = max((piece.last_ms for piece in pieces), default=0)
        self._quarters_tried: set[tuple[RowKind, int]] = set()
        self._open = [piece for piece in pieces if piece.first_ms == piece.last_ms]
        self._refuse_other(pieces)

    def _refuse_other(self, pieces: list[RecordedPiece]) -> None:
        for piece in sorted((piece for piece in pieces if piece.kind is RowKind.LOOKS), reverse=True):
            try:
                _, cluster = table_in(piece.kind, self._place.read(piece.name), piece.name)
            except (BadInputError, OSError):
                continue
            if cluster != self._cluster:
                raise RefusedError(
                    sentence("recording-could-not-record", "could not record into {place}", place=self._place.text),
                    reason=sentence(
                        "holds-recording-not",
                        "it holds the recording of {cluster}, not of {cluster_2}",
                        cluster=cluster,
                        cluster_2=self._cluster,
                    ),
                    remedy=sentence("recording-name-directory-each-cluster", "name a directory for each cluster"),
                )
            return

    def look(self, snapshot: ClusterSnapshot, time: LookTime, *, consumers_asked: bool = False) -> Written:
        """Writes what a look found.

        Args:
            consumers_asked: whether consumers were asked which queues they own.

        Raises:
            StorageError: the place does not take it; the next look is a keyframe.
        """
        moment_ms, jump_ms = self._moment(time)
        keyframe = self._keyframe_at_ms is None or moment_ms // HOUR_MS != self._keyframe_at_ms // HOUR_MS
        rows = rows_of(snapshot, consumers_asked=consumers_asked)
        changed = changes(self._state, rows, unanswered(snapshot))
        after = applied(self._state, changed)
        written = _whole(after, changed) if keyframe else changed
        partial = bool(snapshot.unavailable) or any(broker.unavailable for broker in snapshot.brokers)
        values = self._look_values(
            LookOutcome.PARTIAL if partial else LookOutcome.WHOLE,
            time,
            jump_ms,
            keyframe=keyframe,
            name_servers=json(snapshot.name_servers),
            unavailable=gaps_json(snapshot.unavailable) if snapshot.unavailable else None,
        )
        self._keyframe_at_ms, before_ms = None, self._keyframe_at_ms
        size = self._put(moment_ms, {**written, RowKind.LOOKS: {(): values}})
        self._state = after
        self._keyframe_at_ms = moment_ms if keyframe else before_ms
        count = sum(len(part) for part in written.values())
        return Written(moment_ms=moment_ms, row_count=count, byte_count=size, keyframe=keyframe)

    def failed(self, error: MqctlError, time: LookTime) -> Written:
        """Writes that nobody answered, and why. Raises StorageError."""
        moment_ms, jump_ms = self._moment(time)
        values = self._look_values(
            LookOutcome.FAILED, time, jump_ms, cause=cause_of(error).value, reason=str(error), keyframe=False
        )
        size = self._put(moment_ms, {RowKind.LOOKS: {(): values}})
        return Written(moment_ms=moment_ms, row_count=0, byte_count=size, keyframe=False)

    def stopped(self, time: LookTime, reason: str) -> None:
        """Writes that the recorder ends here, and merges what is complete. Raises StorageError."""
        moment_ms, jump_ms = self._moment(time)
        values = self._look_values(LookOutcome.STOPPED, time, jump_ms, reason=reason, keyframe=False)
        self._put(moment_ms, {RowKind.LOOKS: {(): values}})

    def _moment(self, time: LookTime) -> tuple[int, int]:
        """Returns the moment to record, always later than those before, and how far the clock jumped."""
        jump_ms = 0
        if self._last is not None:
            jump_ms = time.wall_ms - self._last.wall_ms - (time.steady_ms - self._last.steady_ms)
        elif time.wall_ms < self._last_moment_ms:
            jump_ms = time.wall_ms - self._last_moment_ms
        self._last = time
        self._last_moment_ms = max(time.wall_ms, self._last_moment_ms + 1)
        return self._last_moment_ms, jump_ms if abs(jump_ms) >= _CLOCK_JUMP_MS else 0

    def _look_values(
        self,
        outcome: LookOutcome,
        time: LookTime,
        jump_ms: int,
        *,
        keyframe: bool,
        cause: str | None = None,
        reason: str | None = None,
        name_servers: str | None = None,
        unavailable: str | None = None,
    ) -> Values:
        jump = jump_ms or None
        end = (cause, reason, name_servers, unavailable)
        return (outcome.value, keyframe, self._every_ms, time.took_ms, jump, *end)

    def _put(self, moment_ms: int, rows: Mapping[RowKind, Mapping[Key, Values | None]]) -> int:
        size = 0
        try:
            for kind, part in sorted(rows.items(), key=lambda item: item[0] is RowKind.LOOKS):
                if not part:
                    continue
                piece = RecordedPiece(kind, moment_ms, moment_ms)
                data = file_of(kind, [table_of(kind, moment_ms, part)], self._cluster)
                self._place.write(piece.name, data)
                self._open.append(piece)
                size += len(data)
        except OSError as error:
            raise storage_error(
                sentence(
                    "recording-could-not-write", "could not write to the recording {place}", place=self._place.text
                ),
                error,
                self._place,
            ) from error
        return size

    def tidy(self) -> int:
        """Merges the small files of hours that are over, joins the hours of a quarter of a day that is over, one kind
        at a time, and removes days that are not kept any more.

        Returns:
            how many bytes the merged files have.

        Raises:
            StorageError: the place refuses; what is there stays readable.
        """
        now_ms = self._last_moment_ms
        over = sorted(piece for piece in self._open if piece.hour < now_ms // HOUR_MS)
        size = 0
        try:
            frames = self._frames(over)
            for (kind, _), together in groupby(over, key=lambda piece: (piece.kind, piece.hour)):
                size += self._merge(kind, list(together), frames)
            self._open = [piece for piece in self._open if piece.hour >= now_ms // HOUR_MS]
            first_day = day_of(now_ms - self._keep_ms)
            pieces = pieces_in(self._place)
            for piece in pieces:
                if piece.day < first_day:
                    self._place.remove(piece.name)
            size += self._join_one([piece for piece in pieces if piece.day >= first_day], now_ms // QUARTER_MS)
            self._miss(pieces)
        except OSError as error:
            raise storage_error(
                sentence("recording-could-not-tidy", "could not tidy the recording {place}", place=self._place.text),
                error,
                self._place,
            ) from error
        return size

    def _miss(self, pieces: list[RecordedPiece]) -> None:
        """Begins anew where the last keyframe is not there any more: what follows says nothing without it."""
        began_ms = self._keyframe_at_ms
        of_looks = [piece for piece in pieces if piece.kind is RowKind.LOOKS]
        if began_ms is None or any(piece.first_ms <= began_ms <= piece.last_ms for piece in of_looks):
            return
        self._keyframe_at_ms = None
        self._open = [piece for piece in self._open if piece in set(pieces)]
        raise StorageError(
            sentence("files-recording-gone", "files of the recording {place} are gone", place=self._place.text),
            reason=sentence("recording-somebody-removed-moved", "they were removed or moved"),
            remedy=sentence(
                "recording-leave-recorder-next-look",
                "leave them to the recorder; the next sample is recorded completely",
            ),
        )

    def _frames(self, pieces: list[RecordedPiece]) -> frozenset[int]:
        """Returns the moments of keyframes among looks that are not merged yet."""
        tables = self._readable([piece for piece in pieces if piece.kind is RowKind.LOOKS])
        rows = [
            row for run in tables for _, table in run for row in table.select(["moment_ms", "keyframe"]).to_pylist()
        ]
        return frozenset(row["moment_ms"] for row in rows if row["keyframe"])

    def _merge(self, kind: RowKind, pieces: list[RecordedPiece], frames: frozenset[int]) -> int:
        """Makes one file of many; one that cannot be read stays where it is, and is named by whoever reads."""
        size = 0
        for run in self._readable(pieces):
            if len(run) > 1:
                data = file_of(kind, [table for _, table in run], self._cluster, frames=frames)
                self._replace([piece for piece, _ in run], data)
                size += len(data)
        return size

    def _readable(self, pieces: list[RecordedPiece]) -> list[list[tuple[RecordedPiece, Arrow]]]:
        """Returns runs of files that can be read: what is merged must not span one that cannot."""
        runs: list[list[tuple[RecordedPiece, Arrow]]] = [[]]
        for piece in pieces:
            try:
                runs[-1].append((piece, table_in(piece.kind, self._place.read(piece.name), piece.name)[0]))
            except (BadInputError, FileNotFoundError):
                runs.append([])
        return runs

    def _join_one(self, pieces: list[RecordedPiece], quarter_now: int) -> int:
        """Joins the hours of one kind and quarter, if any are left to join: it must not hold up the next look."""
        by_quarter: dict[tuple[int, RowKind], list[RecordedPiece]] = {}
        for piece in pieces:
            quarter = piece.first_ms // QUARTER_MS
            if quarter < quarter_now and (piece.kind, quarter) not in self._quarters_tried:
                by_quarter.setdefault((quarter, piece.kind), []).append(piece)
        for (quarter, kind), together in sorted(by_quarter.items()):
            self._quarters_tried.add((kind, quarter))
            if len(together) > 1:
                try:
                    sources = [(piece.name, self._place.read(piece.name)) for piece in sorted(together)]
                    data = joined(kind, sources, self._cluster)
                except (BadInputError, FileNotFoundError):
                    continue  # hours stay as they are; who reads names what cannot be read
                self._replace(sorted(together), data)
                return len(data)
        return 0

    def _replace(self, pieces: list[RecordedPiece], data: bytes) -> None:
        """Writes what was merged, then removes what it was made of: whoever reads in between passes over those."""
        whole = replace(pieces[0], last_ms=pieces[-1].last_ms)
        self._place.write(whole.name, data)
        for piece in pieces:
            if piece != whole:
                self._place.remove(piece.name)


def _whole(after: Mapping[RowKind, Mapping[Key, Values]], changed: Changes) -> Changes:
    """Returns the rows of a keyframe: everything there is, and what has just gone."""
    return {
        kind: {**rows, **{key: None for key, values in changed.get(kind, {}).items() if values is None}}
        for kind, rows in after.items()
    }
