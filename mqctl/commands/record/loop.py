"""The recorder: a look every so often, written down, until somebody ends it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING

from mqctl.cli.emit import tell
from mqctl.cli.sources.running_recorder import lock_of, noted
from mqctl.cli.terminal.interrupts import EndAsked, end_asked
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, ExitCode, MqctlError, StorageError, UnreachableError
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.gatherer import gather_numbers
from mqctl.store.exclusive_lock import exclusive_lock
from mqctl.text import Word, composed, sentence

if TYPE_CHECKING:
    from mqctl.client.admin.cluster import Cluster
    from mqctl.recording.writer import LookTime, RecordingWriter, Written

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPace:
    """How often a cluster is looked at, how long a look may take, how many there are (None for no end), how often
    consumers are asked as well, and how long files are kept."""

    every_ms: int
    round_ms: int
    consumers_every_ms: int
    keep_ms: int
    count: int | None = None


def record(cluster: Cluster, place: str, pace: RecordPace, scope: Scope) -> int:
    """Records until Ctrl-C, SIGTERM, or the last look.

    Raises:
        RefusedError: another recorder of this user is at work on the cluster, or the place holds another cluster.
        StorageError: the place does not take the first look.
    """
    from mqctl.recording.place import open_place
    from mqctl.recording.writer import RecordingWriter

    location = ";".join(sorted(cluster.name_servers.addresses()))
    with exclusive_lock(
        lock_of(location),
        f"record {location}",
        remedy=sentence("one-recorder-enough", "one recorder a cluster is enough"),
        say=tell,
    ):
        writer = RecordingWriter(open_place(place), location, every_ms=pace.every_ms, keep_ms=pace.keep_ms)
        with noted(location, place), end_asked() as ended:
            return _Recorder(cluster, writer, pace, scope, ended).run()


class _Recorder:
    def __init__(
        self, cluster: Cluster, writer: RecordingWriter, pace: RecordPace, scope: Scope, ended: EndAsked
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._pace = pace
        self._scope = scope
        self._ended = ended
        self._asked_consumers_at: float | None = None
        self._trouble: str | None = None
        self._answered = False

    def run(self) -> int:
        # A look makes and forgets hundreds of thousands of values in no cycle; looking for cycles took a fifth of it.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
        number = 0
        next_at = monotonic()
        while not self._ended.is_set():
            self._look(first=number == 0)
            number += 1
            if number == self._pace.count:
                break
            # A look that took too long is not made up for by others at once.
            next_at = max(next_at + self._pace.every_ms / 1000, monotonic())
            self._ended.wait(max(0.0, next_at - monotonic()))
        end = Word("interrupted" if self._ended.is_set() else "the last look was taken")
        self._writer.stopped(self._time(), end)
        tell(
            sentence(
                "recording-recorded",
                "mqctl: recorded {number}; {reason}",
                number=counted(number, "look"),
                reason=Word(end),
            )
        )
        return ExitCode.OK if self._answered else ExitCode.UNREACHABLE

    def _look(self, *, first: bool) -> None:
        began = monotonic()
        due = self._asked_consumers_at is None or (began - self._asked_consumers_at) * 1000 >= (
            self._pace.consumers_every_ms
        )
        try:
            snapshot = gather_numbers(
                self._cluster,
                Deadline(self._pace.round_ms),
                now_ms=round(time() * 1000),
                scope=self._scope,
                with_consumers=due,
            )
        except (UnreachableError, DeadlineError) as error:
            self._note(error)
            self._write(partial(self._writer.failed, error, self._time(began)), first=first)
            return
        if due:
            self._asked_consumers_at = began
        self._answered = True
        written = self._write(lambda: self._writer.look(snapshot, self._time(began), consumers_asked=due), first=first)
        if written is not None:
            self._note(None)
            self._say(written)

    def _write(self, write: Callable[[], Written], *, first: bool) -> Written | None:
        """Writes, and goes on where the place does not take it: it may take the next look."""
        try:
            written = write()
            self._writer.tidy()
        except StorageError as error:
            if first:
                raise
            self._note(error)
            return None
        return written

    def _time(self, began: float | None = None) -> LookTime:
        from mqctl.recording.writer import LookTime

        now = monotonic()
        took_ms = 0 if began is None else round((now - began) * 1000)
        return LookTime(wall_ms=round(time() * 1000), steady_ms=round(now * 1000), took_ms=took_ms)

    def _note(self, error: MqctlError | None) -> None:
        """Tells of trouble once, and when it is over."""
        if error is not None and str(error) != self._trouble:
            tell(
                composed(
                    "mqctl: {error}\n{next}",
                    error=error,
                    next=sentence("remedy-line", "  next: {remedy}", remedy=error.remedy),
                )
                if error.remedy
                else composed("mqctl: {error}", error=error)
            )
        elif error is None and self._trouble is not None:
            tell(sentence("recording-looks-recorded-again", "mqctl: looks are recorded again"))
        self._trouble = None if error is None else str(error)

    def _say(self, written: Written) -> None:
        if sys.stderr.isatty() or written.keyframe:
            frame = ", keyframe" if written.keyframe else ""
            tell(
                sentence(
                    "recording-rows-mib",
                    "mqctl: {row_count:,} rows, {size_bytes}{frame}",
                    row_count=written.row_count,
                    size_bytes=written.byte_count,
                    frame=frame,
                )
            )
