"""How many retries the members of live groups allow: they decide it, and each tells it of itself (307)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from mqctl.errors import DeadlineError, UnreachableError
from mqctl.model.gap import Gap, Part
from mqctl.model.member import RunningInfo
from mqctl.model.retry_limit import MemberLimit, member_limit
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.running import gather_running


def member_limits(
    asking: Asking, brokers: list[LiveBroker], groups: Set[str], *, limit_ms: int | None = None
) -> tuple[dict[str, MemberLimit], list[Gap]]:
    """Returns the limits of groups of which a member told one, and what was not told; brokers get no gaps by it.

    Args:
        limit_ms: how long members have; a third of the time that is left when not given.
    """
    if not groups:
        return {}, []
    holders = [replace(broker, gaps=[]) for broker in brokers]
    try:
        memberships = gather_memberships(asking, holders, Scope(groups=groups))
        running, gaps = gather_running(asking, holders, memberships, limit_ms=limit_ms)
    except (DeadlineError, UnreachableError) as error:
        return {}, [Gap.of(Part.RUNNING_INFO, error)]
    by_group: dict[str, list[RunningInfo]] = {}
    for info in running:
        by_group.setdefault(info.group, []).append(info)
    limits = {group: limit for group, infos in by_group.items() if (limit := member_limit(infos)) is not None}
    return limits, [*(gap.at(broker.name) for broker in holders for gap in broker.gaps), *gaps]
