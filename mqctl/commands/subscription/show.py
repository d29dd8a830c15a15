"""`mqctl subscription show`: what the members of a group want."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import tell_gaps
from mqctl.cli.live_subscriptions import TagsFromOption, counted_in, judged, view_of
from mqctl.cli.options import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources import LiveWish, read_snapshot
from mqctl.render.subscriptions import subscription_document

EXAMPLES = ("mqctl subscription show -g order-service", "mqctl subscription show -g order-service -o json | jq .losses")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    tags_from: TagsFromOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what every member of a group wants, who differs, what brokers filter by, and what is skipped by it."""
    live = LiveWish(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group])
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    state = counted_in(state, tags_from or (), view_of(state, group).topics())
    report, gaps = judged(state, group)
    emit(subscription_document("subscription.show/1", report), output)
    return tell_gaps(gaps)
