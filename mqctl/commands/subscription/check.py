"""`mqctl subscription check`: do the members of a group want the same."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import unregistered_gaps
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
from mqctl.errors import ExitCode
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot

EXAMPLES = (
    "mqctl subscription check",
    "mqctl subscription check -g order-service",
    "mqctl subscription check --all -o json | jq '.groups[] | select(.verdict == \"differ\")'",
    "mqctl subscription check -g order-service -o json | jq .losses",
    "mqctl subscription check -g order-service --tags-from broker-a=/data/store",
    "mqctl subscription check -g order-service --snapshot incident.snap",
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
    """Check that all members of a group, or of every group online, have the same subscriptions and are served.

    Shows the subscriptions of each member, the members that differ, the filters of the brokers, and the messages
    skipped.

    Ends with 0 when they agree, 2 when they differ or brokers refuse the group, 3 when unknown: a member did not
    answer, or no member is online.
    """
    if group is not None:
        require_one_or_all(group, everything=everything)
    groups = [group] if group else None
    live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=groups, members_only=True)
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    if group is None:
        return _all(state, output, limit, folded=not everything and limit is None)
    state = counted_in(state, tags_from or (), view_of(state, group).topics())
    require_group(state, group, live)
    report, gaps = judge_subscriptions(state, group)
    document = subscription_document(report, archive=state.origin.archive)
    answer(limited(document, output, limit), gaps, output, minor=unregistered_gaps(state, Part.GROUPS))
    if report.consistent is False or report.refused_by:
        return ExitCode.ERROR
    return ExitCode.OK if report.consistent and not gaps else ExitCode.UNKNOWN


def _all(state: ClusterSnapshot, output: Output, limit: str | None, *, folded: bool) -> int:
    rows, reports, gaps = every_group(state)
    document = limited(check_all_document(rows, reports, folded=folded), output, limit)
    answer(document, gaps, output, minor=unregistered_gaps(state, Part.GROUPS))
    verdicts = {row.verdict for row in rows}
    if verdicts & {"differ", "refused"}:
        return ExitCode.ERROR
    return ExitCode.OK if "same" in verdicts and "unknown" not in verdicts and not gaps else ExitCode.UNKNOWN
