"""Skips a backlog and writes down where it lies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mqctl.changes.engine.records import NOT_MOVED, WENT_BACK, OffsetRecord, way_back
from mqctl.changes.engine.run import Finished
from mqctl.changes.offsets.change import OffsetConsent, run_offset_change, write_file
from mqctl.changes.offsets.planning import OffsetRequest
from mqctl.changes.plan.offsets import ToLatest
from mqctl.changes.plan.range_file import FileRange, RangeFile, write_ranges
from mqctl.cli.emit import tell
from mqctl.cli.places import state_dir
from mqctl.errors import ExitCode, StorageError
from mqctl.model.command_line import command_line
from mqctl.model.names import retry_topic
from mqctl.model.plan import PlanKind
from mqctl.snapshot.live.asking import Asking
from mqctl.text import composed, sentence


def skip(
    asking: Asking,
    group: str,
    topic: str,
    consent: OffsetConsent,
    *,
    brokers: Iterable[str],
    replay_plan: Path | None,
    with_retry: bool,
) -> Finished[OffsetRecord]:
    """Moves a group to the end of a topic, and writes the replay plan before and, with what was told, after.

    Raises:
        MqctlError: as `run_offset_change`; StorageError: the plan cannot be written, and nothing was changed then.
    """
    request = OffsetRequest(
        group=group,
        topics=(topic, retry_topic(group)) if with_retry else (topic,),
        target=ToLatest(),
        brokers=frozenset(brokers),
        kind=PlanKind.OFFSET_SKIP,
    )

    def place(record: OffsetRecord) -> Path:
        return replay_plan or state_dir() / "replays" / f"{record.id}.plan.json"

    def write(record: OffsetRecord) -> None:
        write_file(place(record), write_ranges(_skipped(record, group)))

    done = run_offset_change(asking, request, replace(consent, opened=write))
    if done.record is None:
        return done
    following = sentence(
        "remedy-line",
        "  next: {remedy}",
        remedy=composed(
            "{replay}; {way_back}",
            replay=command_line("mqctl replay group --skipped {} -g NEW", done.record.id),
            way_back=way_back(done.record.id),
        ),
    )
    try:
        write(done.record)
    except StorageError as error:  # the group has moved: what is wrong is the file, not the change
        tell(
            sentence(
                "offset-says-skipped-not",
                "mqctl: {place} says what was to be skipped, not what was: {reason}\n{following}",
                place=place(done.record),
                reason=error.reason,
                following=following,
            )
        )
        return replace(done, code=ExitCode.ERROR)
    tell(
        sentence(
            "offset-skipped",
            "mqctl: the skipped messages are listed in {place}\n{following}",
            place=place(done.record),
            following=following,
        )
    )
    return done


def _skipped(record: OffsetRecord, group: str) -> RangeFile:
    """Returns the messages that a change passes over, as far as its queues moved or are still to move."""
    ranges = [
        FileRange(
            topic=queue.topic,
            broker_name=queue.broker_name,
            broker_address=record.brokers[queue.broker_name],
            queue_id=queue.queue_id,
            begin_offset=queue.old or 0,
            end_offset=queue.new,
            count=queue.new - (queue.old or 0),
        )
        for queue in record.parts
        if queue.state not in (NOT_MOVED, WENT_BACK) and (queue.old or 0) < queue.new
    ]
    return RangeFile(
        group=group,
        reason=sentence(
            "change-skipped-group", "what change {record} skipped for group {group}", record=record.id, group=group
        ),
        made_at_ms=record.made_at_ms,
        count=sum(item.count for item in ranges),
        ranges=ranges,
    )
