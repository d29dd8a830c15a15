"""Replays that a consumer group carries out: it is pointed at the beginning, and the end is kept."""

from __future__ import annotations

from time import time

from mqctl.changes.engine.records import OffsetRecord, ReplayRecord
from mqctl.changes.engine.run import Consent, Finished, journal, shown_before
from mqctl.changes.offsets.change import OffsetConsent, run_offset_change
from mqctl.changes.offsets.planning import OffsetRequest
from mqctl.changes.plan.offsets import ToGiven
from mqctl.changes.plan.replay import by_queue
from mqctl.cli.emit import tell
from mqctl.commands.replay.gather import Source, ranges_of
from mqctl.commands.replay.publishing import Ranges, range_parts
from mqctl.model.command_line import command_line
from mqctl.model.plan import PlanKind
from mqctl.model.spans import MINUTE_MS
from mqctl.snapshot.live.asking import Asking
from mqctl.text import sentence


def replay_by_group(asking: Asking, source: Source, group: str, consent: Consent) -> Finished[OffsetRecord]:
    """Points a group at the beginning of what is to be replayed; its end is kept for `replay status`.

    Raises:
        MqctlError: as `ranges_of` and `run_offset_change`.
    """
    # A queue without an offset would begin wherever its consumers like to, at its first message perhaps.
    ranges = by_queue(ranges_of(asking, source, every_queue=True))
    shown = shown_before("ranges", Ranges(ranges), Ranges, execute=consent.execute)
    ranges = ranges if shown is None else shown.ranges
    request = OffsetRequest(
        group=group,
        topics=tuple(sorted({item.queue.topic for item in ranges})),
        target=ToGiven({item.queue: item.begin for item in ranges}, source.words),
        brokers=frozenset(item.queue.broker_name for item in ranges),
        kind=PlanKind.REPLAY_GROUP,
        creates=True,
        online_way=_online_way(source, group),
    )

    def opened(change: OffsetRecord) -> None:
        # The journal's id is the replay's: undo and status know it by one name.
        record = ReplayRecord(
            id=change.id,
            kind=change.kind,
            subject=group,
            who=change.who,
            made_at_ms=change.made_at_ms,
            cluster=change.cluster,
            brokers=change.brokers,
            source=source.words,
            parts=range_parts(ranges),
            group=group,
        )
        journal().replays.write(record)
        status = command_line("mqctl replay status {}", change.id)
        tell(
            sentence(
                "replay-shows-when-end",
                "mqctl: replay {change}; {status} shows when its end is reached",
                change=change.id,
                status=status,
            )
        )

    return run_offset_change(
        asking, request, OffsetConsent(execute=consent.execute, confirmed=consent.confirmed, opened=opened)
    )


def _online_way(source: Source, group: str) -> str:
    """Returns the command that has the members of a group consume again what was asked for, and all after it."""
    minutes = 10 if source.since_ms is None else max(1, round((time() * 1000 - source.since_ms) / MINUTE_MS))
    return command_line("mqctl offset reset -g {} -t {} --by-duration {}m", group, source.topics[0], minutes)
