"""A planned grey release of one group, on a live cluster or a snapshot: who changes, what is skipped, the safe way."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.allocation.choice import strategy_of
from mqctl.allocation.group_view import GroupView, tags_of, wanted_text
from mqctl.allocation.release import Owners, TagForecast, forecast_losses, safe_steps
from mqctl.allocation.simulation import Layout, simulate
from mqctl.allocation.tag_loss import Tags
from mqctl.allocation.views import sorted_clients
from mqctl.cli.sources.groups import nobody_there
from mqctl.commands.subscription.gather import margin, view_of
from mqctl.commands.subscription.view import ForecastRow, ReleaseReport, ReleaseStepRow
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.filter.tags import parse_tags
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.member import Subscription
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence


def release_report(
    snapshot: ClusterSnapshot,
    group: str,
    topic: str,
    expression: str,
    *,
    instances: int | None,
    clients: Sequence[str],
    strategy: str | None,
) -> ReleaseReport:
    """Computes what a release would lose.

    Args:
        expression: the new tags.
        instances: how many members change, the last ones in the order of allocation; or `clients` names them.
        strategy: by which queues are owned; None takes what members hold, and AVG for those nobody holds.

    Raises:
        NotFoundError: the topic has no route, or no member of the group is online.
        UnreachableError, DeadlineError, RefusedError: nobody could tell.
        RefusedError: the group filters by SQL92 now.
        UsageError: the members that change are not told, or more than there are.
    """
    view = view_of(snapshot, group)
    route = snapshot.routes().get(topic)
    members = sorted_clients(view.client_ids)
    if route is None or not members:
        raise nobody_there(snapshot, group, topic)
    old = _present(view, topic)
    wanted = parse_tags(expression)
    new = None if wanted.everything else frozenset(wanted.tags)
    changed = _changed(members, instances, clients)
    queues = route.readable_queues()
    owners, origin = _owners(view, members, queues, strategy)
    samples = [sample for sample in snapshot.tag_samples if sample.queue.topic == topic]
    counts = {sample.queue: sample.counts for sample in samples}
    exact = bool(samples) and all(sample.complete for sample in samples)
    tags = (tags_of(old), new)
    rows = forecast_losses(counts, owners, members, frozenset(changed), tags)
    return ReleaseReport(
        group=group,
        topic=topic,
        old=wanted_text(old),
        new=_text(new),
        changed=list(changed),
        member_count=len(members),
        owners_from=origin,
        sampled_count=sum(sample.message_count for sample in samples),
        losses=[_row(row, tags, exact=exact) for row in rows],
        safe_way=[
            ReleaseStepRow(
                before=_text(step.before), after=_text(step.after), lost_count=step.lost_count if counts else None
            )
            for step in safe_steps(counts, owners, members, tags)
        ],
    )


def _row(row: TagForecast, tags: tuple[Tags, Tags], *, exact: bool) -> ForecastRow:
    return ForecastRow(
        tag=row.tag or "(none)",
        wanted_by=_sides(row.tag, tags),
        sampled_count=row.message_count,
        lost_if_old_count=row.lost_if_old,
        lost_if_new_count=row.lost_if_new,
        lost_if_old_share=row.lost_if_old / row.message_count,
        lost_if_new_share=row.lost_if_new / row.message_count,
        margin_share=0.0 if exact else margin(row.worst / row.message_count, row.message_count),
        queues="; ".join(f"{queue.broker_name}/{queue.queue_id}: {owner}" for queue, owner in row.queues),
    )


def _present(view: GroupView, topic: str) -> Subscription:
    """Returns what the group wants now: the members' most common subscription, else what brokers hold."""
    said = list(view.subscriptions(topic).values())
    texts = [wanted_text(item) for item in said]
    held = view.effective(topic)
    usual = wanted_text(held)
    common = max(said, key=lambda item: (texts.count(wanted_text(item)), wanted_text(item) == usual), default=held)
    if common is None:
        raise NotFoundError(
            sentence("allocation-not-subscribe", "{group} does not subscribe {topic}", group=view.group, topic=topic),
            remedy=command_line("mqctl subscription check -g {}", view.group),
        )
    if common.expression_type != "TAG":
        raise RefusedError(
            sentence(
                "allocation-filters",
                "{group} filters {topic} by {expression_type}",
                group=view.group,
                topic=topic,
                expression_type=common.expression_type,
            ),
            reason=sentence(
                "allocation-queue-entries-not-show", "queue entries do not show what an expression lets through"
            ),
            remedy=sentence("allocation-release-group-own", "release with a group of its own"),
        )
    return common


def _changed(members: Sequence[str], instances: int | None, clients: Sequence[str]) -> list[str]:
    unknown = set(clients) - set(members)
    if unknown:
        raise UsageError(
            sentence("allocation-no-member-called", "no member is called {unknown}", unknown=min(unknown)),
            reason=sentence("common-there", "there are {there}", there=members),
        )
    if (instances is None) == (not clients):
        raise UsageError(
            sentence("allocation-say-members-change", "say which members change"),
            remedy=sentence("allocation-use-instances-client-id", "use --instances N, or --client ID for each"),
        )
    if instances is not None and instances > len(members):
        raise UsageError(
            sentence(
                "allocation-cannot-change",
                "cannot change {instances} of {members}",
                instances=instances,
                members=counted(len(members), "member"),
            )
        )
    return list(clients) if instances is None else list(members[len(members) - instances :])


def _owners(
    view: GroupView, members: Sequence[str], queues: Sequence[MessageQueue], strategy: str | None
) -> tuple[Owners, str]:
    if strategy is None:
        held = {item.queue: client for client, info in view.running.items() for item in info.queues if not item.dropped}
        if all(queue in held for queue in queues):
            return {queue: held[queue] for queue in queues}, "held"
    result = simulate(Layout(queues=tuple(queues), clients=tuple(members)), strategy_of(strategy or "avg"))
    return {queue: next(iter(owners), None) for queue, owners in result.owners.owners.items()}, result.strategy


def _text(tags: Tags) -> str:
    return "*" if tags is None else " || ".join(sorted(tags))


def _sides(tag: str, tags: tuple[Tags, Tags]) -> str:
    old, new = (side is None or tag in side for side in tags)
    return "both" if old and new else "old" if old else "new"
