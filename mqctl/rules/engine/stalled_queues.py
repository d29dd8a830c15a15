"""Queues that stand still in a consumer's cache: whether its threads hang, or work on others."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import GroupView
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.rules.engine.rule import ClusterCase


def pushed_instances(case: ClusterCase) -> Iterator[tuple[GroupView, RunningInfo]]:
    """Yields the members that are pushed to. One that pulls says nothing of when it last consumed, and may pause."""
    for view in case.views:
        if view.pulls:
            continue
        for _, info in sorted(view.running.items()):
            yield view, info


def unfinished_queues(case: ClusterCase, group: str, info: RunningInfo) -> dict[HeldQueue, int]:
    """Returns the queues that hold messages of which none was finished for a minute, with the milliseconds of that."""
    limit_ms = case.settings.scaled(case.settings.blocked_ms)
    idle_ms = {
        held: case.unfinished_ms(group, held)
        for held in info.queues
        if held.cached_count and not held.dropped and held.last_consume_time_ms
    }
    return {held: idle for held, idle in idle_ms.items() if idle > limit_ms}


# A client counts what it finishes every ten seconds (StatsItem.samplingInSeconds), for the minute that has passed.
_SAMPLED_MS = 10_000


def untried_queues(case: ClusterCase, group: str, info: RunningInfo) -> dict[HeldQueue, int]:
    """Returns the queues that a member got anew within the last minute and finished nothing of, though it holds
    messages, with the milliseconds since then. A reset or skip makes a member give its queues up and get them again,
    and threads that hang go on hanging.

    A member says when it last finished a message of a queue, or got the queue if it has finished none. A moment within
    the last minute, of which it counts no finished message, is the latter.
    """
    holding = [held for held in info.queues if held.cached_count and not held.dropped and not held.transaction_count]
    if not holding or not info.rates or info.start_time_ms is None:
        return {}
    if any(item.consume_ok_tps or item.consume_failed_tps for item in info.rates):
        return {}
    limit_ms, sampled_ms = case.settings.scaled(case.settings.blocked_ms), case.settings.scaled(_SAMPLED_MS)
    started_ms = info.start_time_ms + case.settings.scaled(case.settings.settle_ms)
    since_ms = {held: case.now_ms - held.last_consume_time_ms for held in holding}
    return {
        held: age_ms
        for held, age_ms in since_ms.items()
        if sampled_ms < age_ms <= limit_ms
        and held.last_consume_time_ms > started_ms
        and case.unfinished_ms(group, held) > sampled_ms
    }


def works_elsewhere(case: ClusterCase, info: RunningInfo, unfinished: dict[HeldQueue, int]) -> bool:
    """Tells whether all threads work, on other queues: then none hangs, and what is cached waits its turn.

    What has waited longer than full caches take waits for nothing.
    """
    if info.orderly and not all(held.locked for held in unfinished):
        return False
    newest_ms = max(held.last_consume_time_ms for held in info.queues)
    moves = case.now_ms - newest_ms <= case.settings.scaled(case.settings.blocked_ms)
    full_ms = info.full_caches_ms(case.settings.cache_limit_count)
    return moves and info.all_threads_work and max(unfinished.values()) <= full_ms


def queues_in_turn(case: ClusterCase) -> set[tuple[str, MessageQueue]]:
    """Returns each group with its queues that stand still only because the threads of their owner work on others."""
    return {
        (view.group, held.queue)
        for view, info in pushed_instances(case)
        if (unfinished := unfinished_queues(case, view.group, info)) and works_elsewhere(case, info, unfinished)
        for held in unfinished
    }
