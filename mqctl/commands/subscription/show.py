"""`mqctl subscription show`: what the members of a group want."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.named import require_group
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.commands.subscription.gather import (
    EveryGroupOption,
    MaybeGroupOption,
    TagsFromOption,
    counted_in,
    every_group,
    judge_subscriptions,
    require_one_or_all,
    view_of,
)
from mqctl.commands.subscription.view import check_all_document, subscription_document

EXAMPLES = (
    "mqctl subscription show -g order-service",
    "mqctl subscription show --all",
    "mqctl subscription show -g order-service -o json | jq .losses",
)


def command(
    group: MaybeGroupOption = None,
    everything: EveryGroupOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    tags_from: TagsFromOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what every member of a group subscribes to, who differs, what brokers filter by, and what that skips."""
    require_one_or_all(group, everything=everything)
    groups = [group] if group else None
    live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=groups, members_only=True)
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    if group is None:
        rows, reports, gaps = every_group(state)
        return answer(limited(check_all_document(rows, reports), output, limit), gaps, output)
    state = counted_in(state, tags_from or (), view_of(state, group).topics())
    require_group(state, group, live)
    report, gaps = judge_subscriptions(state, group)
    document = subscription_document("subscription.show/1", report, archive=state.origin.archive)
    return answer(limited(document, output, limit), gaps, output)
