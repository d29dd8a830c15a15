"""The tags report: which tags a topic and its queues hold, and what members that want different ones lose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from mqctl.allocation.group_view import group_views, losses_of
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.model.report_rows_state import LostTag, TagQueue, TagShare
from mqctl.model.reports import TagsReport
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import Engine, maybe_text, sum_of, text
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.reports.figures import share_of, stores_read
from mqctl.spark.selection import Selection

TAG_CUTS = (Cut("tags", (Dim.TOPIC, Dim.QUEUE, Dim.TAG)),)


def tags(
    engine: Engine,
    wanted: Selection,
    *,
    snapshot: ClusterSnapshot | None = None,
    brokers: Mapping[str, str] | None = None,
) -> TagsReport:
    """Scans the stores; with a snapshot, tells what its groups lose of what is stored.

    Args:
        brokers: name of the broker that each store belongs to.
    """
    return tags_report(engine.rows("counts", wanted, Query(TAG_CUTS)), wanted, snapshot=snapshot, brokers=brokers or {})


def tags_report(
    rows: Iterable[Row], wanted: Selection, *, snapshot: ClusterSnapshot | None, brokers: Mapping[str, str]
) -> TagsReport:
    """Builds the report from combined counts."""
    listed = list(rows)
    own = [row for row in listed if row["cut"] == "tags"]
    topic_sums: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0, 0])
    topic_totals: dict[str, int] = defaultdict(int)
    queue_totals: dict[tuple[str, str, int], int] = defaultdict(int)
    for row in own:
        topic = text(row, "topic")
        sums = topic_sums[(topic, maybe_text(row, "tag"))]
        sums[0] += sum_of(row, "messages")
        sums[1] += sum_of(row, "bytes")
        topic_totals[topic] += sum_of(row, "messages")
        queue_totals[(topic, text(row, "store"), sum_of(row, "queue_id"))] += sum_of(row, "messages")
    queues = [
        TagQueue(
            topic=text(row, "topic"),
            store=text(row, "store"),
            queue_id=sum_of(row, "queue_id"),
            tag=maybe_text(row, "tag"),
            messages=sum_of(row, "messages"),
            bytes=sum_of(row, "bytes"),
            share=share_of(
                sum_of(row, "messages"), queue_totals[(text(row, "topic"), text(row, "store"), sum_of(row, "queue_id"))]
            ),
        )
        for row in own
    ]
    return TagsReport(
        read=stores_read(listed),
        topics=[
            TagShare(topic=topic, tag=tag, messages=number, bytes=size, share=share_of(number, topic_totals[topic]))
            for (topic, tag), (number, size) in sorted(
                topic_sums.items(), key=lambda item: (item[0][0], -item[1][0], item[0][1] or "")
            )
        ],
        queues=sorted(queues, key=lambda row: (row.topic, row.store, row.queue_id, -row.messages, row.tag or "")),
        lost=_lost(queues, wanted, snapshot, brokers) if snapshot else [],
    )


def _lost(
    queues: Iterable[TagQueue], wanted: Selection, snapshot: ClusterSnapshot, brokers: Mapping[str, str]
) -> list[LostTag]:
    counts: dict[MessageQueue, dict[str, int]] = defaultdict(dict)
    for row in queues:
        queue = MessageQueue(row.topic, brokers.get(row.store, ""), row.queue_id)
        counts[queue][row.tag or ""] = row.messages
    samples = [TagSample(queue=queue, first_offset=0, counts=own, complete=True) for queue, own in counts.items()]
    lost = [
        LostTag(
            group=view.group,
            topic=topic,
            tag=loss.tag or "(none)",
            messages=loss.message_count,
            lost_messages=loss.lost_count,
            lost_share=loss.lost_share,
            queues="; ".join(f"{queue.broker_name}/{queue.queue_id}: {owner}" for queue, owner in loss.queues),
        )
        for view in group_views(snapshot)
        if not wanted.groups or view.group in wanted.groups
        for topic in view.topics()
        for loss in losses_of(view, topic, samples)
    ]
    return sorted(lost, key=lambda row: (-row.lost_messages, row.group, row.topic, row.tag))
