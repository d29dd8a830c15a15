"""Subscriptions of one group as rows: who wants what, who differs, what is lost by it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqctl.allocation.group_view import GroupView, group_views, known_groups, losses_of, refusing_brokers, wanted_text
from mqctl.allocation.observed import observed_allocation
from mqctl.commands.subscription.view import (
    BrokerWantRow,
    GroupCheckRow,
    LossRow,
    OrphanRow,
    SubscriptionReport,
    WantRow,
)
from mqctl.errors import UsageError
from mqctl.model.gap import Gap, Part
from mqctl.model.names import is_retry_topic
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence

TagsFromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tags-from", metavar="BROKER=DIR", help="Count tags in a broker's store instead of sampling; may be repeated."
    ),
]
MaybeGroupOption = Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Which consumer group.")]
EveryGroupOption = Annotated[bool, typer.Option("--all", help="Every group, also those without members online.")]
_95_PERCENT = 1.96
_NOTHING = wanted_text(None)
_EVIDENCE = frozenset({Part.MEMBERS, Part.RUNNING_INFO, Part.TAGS, Part.GROUPS, Part.CONFIG})


def view_of(snapshot: ClusterSnapshot, group: str) -> GroupView:
    """Returns a group put together from all brokers and instances; an empty one when nobody is online."""
    matching = [view for view in group_views(snapshot) if view.group == group]
    return matching[0] if matching else GroupView(group=group, memberships={}, running={})


def judge_subscriptions(snapshot: ClusterSnapshot, group: str) -> tuple[SubscriptionReport, list[Gap]]:
    """Returns what a group's members want, and what of the evidence for it is missing."""
    view = view_of(snapshot, group)
    wants = want_rows(view)
    report = SubscriptionReport(
        group=group,
        consistent=consistent(view, wants),
        wants=wants,
        brokers=broker_rows(view),
        losses=loss_rows(view, snapshot.tag_samples),
        orphans=orphan_rows(snapshot, view),
        refused_by=refusing_brokers(view, snapshot),
        consume_mode=snapshot.consume_modes().get(group),
    )
    gaps = (snapshot.unavailable, *(broker.unavailable for broker in snapshot.brokers))
    return report, [gap for part in gaps for gap in part if gap.part in _EVIDENCE]


def want_rows(view: GroupView) -> list[WantRow]:
    """Builds one row for each topic and instance; who differs from most is marked, all of them where none is most."""
    rows = []
    for topic in view.topics():
        wants = {client: wanted_text(view.subscription(client, topic)) for client in view.running}
        common = _common(list(wants.values()))
        for client in view.client_ids:
            info = view.running.get(client)
            wanted = view.subscription(client, topic)
            held = [item.queue for item in info.queues if item.queue.topic == topic] if info else []
            rows.append(
                WantRow(
                    topic=topic,
                    client_id=client,
                    expression_type=wanted.expression_type if wanted else None,
                    wanted=wanted_text(wanted) if wanted else None if info else "?",
                    queues=", ".join(f"{item.broker_name}/{item.queue_id}" for item in sorted(held)) if info else None,
                    version_time_ms=wanted.version_ms or None if wanted else None,
                    differs=info is not None and wants[client] != common,
                )
            )
    return rows


def _common(wants: Sequence[str]) -> str | None:
    """Returns what most of those want that subscribe at all; None where no one thing is wanted most: all differ then.

    Who does not subscribe a topic that others do is the one that lacks it, however many they are.
    """
    counted = Counter(want for want in wants if want != _NOTHING).most_common(2)
    if not counted:
        return _NOTHING
    return counted[0][0] if len(counted) == 1 or counted[0][1] > counted[1][1] else None


def broker_rows(view: GroupView) -> list[BrokerWantRow]:
    """Builds one row for each broker and topic."""
    return [
        BrokerWantRow(broker=broker, topic=item.topic, wanted=wanted_text(item), version_time_ms=item.version_ms)
        for broker, held in sorted(view.memberships.items())
        for item in held.subscriptions
        if not is_retry_topic(item.topic)
    ]


def consistent(view: GroupView, rows: Sequence[WantRow]) -> bool | None:
    """Tells whether all members want the same; None when somebody did not tell, or nobody is there to tell."""
    if any(row.differs for row in rows):
        return False
    return None if view.silent or not view.client_ids else True


def loss_rows(view: GroupView, samples: Sequence[TagSample]) -> list[LossRow]:
    """Computes what is skipped, by topic and tag, from samples of the queues."""
    rows = []
    for topic in view.topics():
        complete = all(sample.complete for sample in samples if sample.queue.topic == topic)
        for loss in losses_of(view, topic, samples):
            share = loss.lost_share
            rows.append(
                LossRow(
                    topic=topic,
                    tag=loss.tag or "(none)",
                    sampled_count=loss.message_count,
                    lost_count=loss.lost_count,
                    lost_share=share,
                    margin_share=0.0 if complete else margin(share, loss.message_count),
                    queues="; ".join(f"{_name(queue)}: {owner}" for queue, owner in loss.queues),
                )
            )
    return rows


def orphan_rows(snapshot: ClusterSnapshot, view: GroupView) -> list[OrphanRow]:
    """Builds one row for each queue without a consumer; none where members share no queues out or did not all tell."""
    if not view.shares or view.silent or not view.client_ids:
        return []
    return [
        OrphanRow(
            topic=topic.topic,
            broker=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            slot=", ".join(item.slot) or None,
            waiting_count=item.lag_count,
        )
        for topic in observed_allocation(snapshot, view.group)
        for item in topic.queues
        if "orphan" in item.marks
    ]


def margin(share: float, count: int) -> float:
    """Returns half of the 95 % interval around a share that was found in a sample of `count`."""
    return _95_PERCENT * math.sqrt(share * (1 - share) / count) if count else 0.0


def require_one_or_all(group: str | None, *, everything: bool) -> None:
    """Raises UsageError unless just one of the two is asked for."""
    if everything == (group is not None):
        raise UsageError(
            sentence("allocation-name-group-all", "name one group, or all of them"),
            remedy=sentence("allocation-use-group-all", "use -g GROUP or --all"),
        )


def every_group(
    snapshot: ClusterSnapshot,
) -> tuple[list[GroupCheckRow], list[SubscriptionReport], list[Gap]]:
    """Judges every group: the line of each, each in full, and what of the evidence is missing."""
    judged = [judge_subscriptions(snapshot, name) for name in group_names(snapshot)]
    reports = [report for report, _ in judged]
    gaps = list(dict.fromkeys(gap for _, listed in judged for gap in listed))
    return [check_row(snapshot, report) for report in reports], reports, gaps


def check_row(snapshot: ClusterSnapshot, report: SubscriptionReport) -> GroupCheckRow:
    """Builds the line of one group."""
    view = view_of(snapshot, report.group)
    words = {True: "same", False: "differ", None: "unknown"}
    topics = sorted({row.topic for row in report.wants if row.differs})
    # Of all messages that were looked at, as MQ203 counts them: not only of the tags that are skipped.
    sampled = sum(sample.message_count for sample in snapshot.tag_samples if sample.queue.topic in topics)
    return GroupCheckRow(
        group=report.group,
        verdict="refused" if report.refused_by else words[report.consistent] if view.client_ids else "offline",
        member_count=len(view.client_ids),
        silent_count=len(view.silent),
        topics=", ".join(topics) or None,
        lost_count=sum(row.lost_count for row in report.losses) if sampled else None,
        sampled_count=sampled or None,
        consume_mode=report.consume_mode,
    )


def group_names(snapshot: ClusterSnapshot) -> list[str]:
    """Returns every group that any broker knows, system groups left out."""
    return sorted(known_groups(snapshot))


def counted_in(snapshot: ClusterSnapshot, stores: Sequence[str], topics: Iterable[str]) -> ClusterSnapshot:
    """Replaces samples by counts of all entries of stores, given as `BROKER=DIR`.

    Raises:
        UsageError: one is not written so, or names no broker of the cluster.
        NotFoundError, BadInputError: a directory is no store, or has none of the topics.
    """
    if not stores:
        return snapshot
    from mqctl.snapshot.store.tags import count_tags

    brokers = {broker.name for broker in snapshot.brokers}
    tags = {
        tag
        for view in group_views(snapshot)
        for topic in view.topics()
        for wanted in (*view.subscriptions(topic).values(), view.effective(topic))
        for tag in (wanted.tags if wanted else ())
    }
    samples: list[TagSample] = []
    for text in stores:
        name, sign, directory = text.partition("=")
        if not sign or name not in brokers:
            known = ", ".join(sorted(filter(None, brokers)))
            raise UsageError(
                sentence("allocation-cannot-read", "cannot read {text}", text=text),
                reason=sentence("allocation-brokers", "brokers: {known}", known=known),
                remedy=sentence("allocation-write-tags-broker-dir", "write --tags-from BROKER=DIR"),
            )
        samples += count_tags(Path(directory), name, topics, tags)
    counted = {sample.queue for sample in samples}
    others = [sample for sample in snapshot.tag_samples if sample.queue not in counted]
    return replace(snapshot, tag_samples=(*others, *samples))


def _name(queue: MessageQueue) -> str:
    return f"{queue.broker_name}/{queue.queue_id}"
