"""How far replays are."""

from __future__ import annotations

from mqctl.changes.engine.records import ReplayRecord, face_state
from mqctl.changes.plan.replay import not_reached
from mqctl.client.admin.broker_queries import all_consumer_offsets
from mqctl.commands.replay.view import DoubtRow, RangeProgress, ReplayReport
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking


def report_of(record: ReplayRecord, committed: dict[MessageQueue, int | None] | None = None) -> ReplayReport:
    """Returns the machine form of a replay.

    Args:
        committed: offsets of the group, for one that a group carries out.
    """
    state, left = face_state(record), sum(item.end - item.next for item in record.parts)
    open_queues: dict[MessageQueue, int] | None = None
    if record.group is not None and committed is not None:
        open_queues = not_reached({item.queue: item.end for item in record.parts}, committed)
        left = sum(open_queues.values())
        state = "started" if open_queues else "reached"
    known = (open_queues is not None) if record.group is not None else (record.ended or not record.is_follower)
    return ReplayReport(
        id=record.id,
        kind="follow" if record.is_follower else "publish" if record.group is None else "group",
        state=state if known or record.is_follower else "unknown",
        who=record.who,
        made_at_ms=record.made_at_ms,
        cluster=record.cluster,
        source=record.source,
        goal=str(record.target or record.group),
        filter=record.filter.words,
        published_count=record.published,
        filtered_count=sum(item.filtered for item in record.parts),
        left_count=left if known else None,
        found_count=record.found,
        resumed_at_ms=record.resumed_at_ms,
        in_doubt=[
            DoubtRow(key=item.key, reason=item.reason, reason_key=item.reason_key, reason_values=item.reason_values)
            for item in record.in_doubt
        ],
        queues=[
            RangeProgress(
                topic=item.topic,
                broker_name=item.broker_name,
                queue_id=item.queue_id,
                begin=item.begin,
                end=item.end,
                reached=item.next if committed is None else committed.get(item.queue),
                left_count=(
                    item.end - item.next
                    if record.group is None
                    else None
                    if open_queues is None
                    else open_queues.get(item.queue, 0)
                ),
                published_count=item.published,
                filtered_count=item.filtered,
                gone_count=item.gone,
            )
            for item in record.parts
        ],
    )


def committed_by(asking: Asking, record: ReplayRecord) -> dict[MessageQueue, int | None]:
    """Returns where the group of a replay stands in its queues.

    Raises:
        MqctlError: a broker does not tell.
    """
    offsets: dict[MessageQueue, int | None] = {}
    for name in sorted({item.broker_name for item in record.parts}):
        table = asking.cluster.ask(record.brokers[name], all_consumer_offsets(), asking.deadline).offset_table
        for item in record.parts:
            if item.broker_name == name:
                offsets[item.queue] = table.get(f"{item.topic}@{record.group}", {}).get(item.queue_id)
    return offsets
