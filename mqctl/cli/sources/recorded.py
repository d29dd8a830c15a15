"""A recorded moment, with what came before it, as the evidence of a diagnosis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.cli.emit import note
from mqctl.cli.options.common import at_ms
from mqctl.cli.sources.snapshot_source import LiveOptions
from mqctl.errors import UsageError
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.recording.kinds import LookOutcome
from mqctl.recording.libraries import require_libraries
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.recording.reader import Recording

# What rules that compare two looks need at most.
_WINDOW_MS = 120_000


def read_recorded(
    recording: str,
    *,
    at: str | None,
    now: datetime,
    live: LiveOptions,
    elsewhere: Collection[Path | None],
    unfit: Collection[str | bool | None],
) -> ClusterSnapshot:
    """Reads the look at or before a moment, the last one if none is named, with the looks before it.

    Args:
        elsewhere: what was given as another source.
        unfit: what was given to options that go with other sources only.

    Raises:
        UsageError: an option belongs to another source.
        NotFoundError: there is no recording, or nothing was recorded before the moment.
        BadInputError: none of it can be read.
    """
    if any(elsewhere) or live.namesrv or live.profile or live.proxies:
        raise UsageError(
            sentence(
                "recording-store-snapshot-live",
                "only one of a recording, a store, a snapshot and a live cluster can be used",
            ),
            remedy=sentence("recording-name", "name one"),
        )
    if any(unfit) or live.with_stacks:
        raise UsageError(
            sentence(
                "recording-stacks-probe-quick-levels",
                "--stacks, --probe, --quick, --levels and --broker-name cannot be combined with --recording",
            ),
            reason=sentence("recorded-moment-over", "a recorded moment is over"),
        )
    require_libraries()
    from mqctl.recording.history import past_of
    from mqctl.recording.past import with_looks_before
    from mqctl.recording.reader import open_recording

    opened = open_recording(recording)
    wanted_ms = at_ms(at, now)
    moment_ms = _last_ms(opened) if wanted_ms is None else wanted_ms
    state = with_looks_before(opened, moment_ms, window_ms=live.window_ms or _WINDOW_MS)
    look = opened.look_at(moment_ms)
    if moment_ms - look.moment_ms > look.lasting_ms:
        note(
            sentence(
                "recording-nobody-recorded-moment-judged",
                "there is no sample of that moment: the previous one is used, {span_ms} earlier",
                span_ms=moment_ms - look.moment_ms,
            )
        )
    past = past_of(opened, moment_ms)
    for problem in opened.problems.values():
        note(str(problem))
    unread = [error for _, error in opened.unread(past.begin_ms, past.until_ms)]
    gaps = [Gap(part=Part.PAST, cause=Cause.DAMAGED, reason=str(error)) for error in unread[:1]]
    return replace(state, past=past, unavailable=(*state.unavailable, *gaps))


def _last_ms(recording: Recording) -> int:
    """Returns the moment of the last look: one that says that the recorder ended looks at nothing."""
    taken = [look for look in recording.looks if look.outcome is not LookOutcome.STOPPED]
    return (taken or recording.looks)[-1].moment_ms
