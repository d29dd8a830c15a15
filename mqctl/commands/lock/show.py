"""`mqctl lock show`: who holds the queue locks of an ordered group."""

from __future__ import annotations

from datetime import datetime

from mqctl.allocation.locks import queue_locks
from mqctl.allocation.observed import POP_SHARED, observed_allocation
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OutputOption, SnapshotOption, TopicOption
from mqctl.cli.options.doctor import time_scale_of
from mqctl.cli.options.room import RoomRuleOption, rule_of
from mqctl.cli.sources.brokers import gaps_of, unregistered_gaps
from mqctl.cli.sources.named import require_group
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.model.gap import Part
from mqctl.render.locks import LockedGroup, lock_document

EXAMPLES = (
    "mqctl lock show -g order-service",
    "mqctl lock show -g order-service -t orders -o json | jq '.queues[] | select(.state != \"held\")'",
)


def command(
    group: OneGroupOption,
    topic: TopicOption = None,
    room_rule: RoomRuleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show for every queue of an ordered group the holder of its lock, the instance that waits for it, and when it
    expires.

    The answer combines the instances' own reports with the allocation. Brokers are not asked: the only request for
    locks would take them. States: held, expired (not renewed for 30 s), hung (its listener does not return), waiting (a
    departed owner still has it, for 60 s at most), split (two hold it), unknown, nobody. Queues that the group pops
    (5.x) have no owner and no lock; `mqctl group lag --store` shows what blocks an ordered one.
    """
    rule = rule_of(room_rule, profile)
    live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group], members_only=True)
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    require_group(state, group, live)
    running = [info for info in state.running if info.group == group]
    topics = [item for item in observed_allocation(state, group, rule=rule) if not topic or item.topic in topic]
    scale = time_scale_of(None, namesrv=state.origin.location)
    popped = sorted({item.topic for item in topics if POP_SHARED in item.strategies})
    pulled = [item for item in topics if item.topic not in popped]
    locks = queue_locks(pulled, running, now_ms=state.origin.observed_at_ms, time_scale=scale)
    modes = {info.orderly for info in running}
    gaps = gaps_of(state, (Part.MEMBERS, Part.RUNNING_INFO, Part.ROUTES))
    gaps += unregistered_gaps(state, Part.QUEUES)
    consuming = LockedGroup(
        group=group, concurrent=modes == {False}, popped=popped, consume_mode=state.consume_modes().get(group)
    )
    return answer(lock_document(consuming, locks), gaps, output)
