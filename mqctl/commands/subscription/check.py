"""`mqctl subscription check`: do the members of a group want the same."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import tell_gaps
from mqctl.cli.live_subscriptions import judged
from mqctl.cli.options import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources import LiveWish, read_snapshot
from mqctl.errors import ExitCode
from mqctl.render.subscriptions import subscription_document

EXAMPLES = (
    "mqctl subscription check -g order-service",
    "mqctl subscription check -g order-service --snapshot incident.snap",
)


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Check that all members of a group want the same. Ends with 0 when they do, 2 when they differ, 3 when unknown."""
    live = LiveWish(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group])
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    report, gaps = judged(state, group)
    emit(subscription_document("subscription.check/1", report), output)
    tell_gaps(gaps)
    if report.consistent is False:
        return ExitCode.CRITICAL
    return ExitCode.OK if report.consistent and not gaps else ExitCode.UNKNOWN
