"""`mqctl subscription show`: what the members of a group want."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.known_groups import require_group
from mqctl.cli.live_brokers import tell_gaps
from mqctl.cli.live_subscriptions import broker_rows, consistent, loss_rows, view_of, want_rows
from mqctl.cli.options import NoColorOption, OneGroupOption, OutputOption, SnapshotOption
from mqctl.cli.sources import LiveWish, read_snapshot
from mqctl.model.unavailable import Part
from mqctl.render.subscriptions import SubscriptionReport, subscription_document

EXAMPLES = ("mqctl subscription show -g order-service", "mqctl subscription show -g order-service -o json | jq .losses")


def command(
    group: OneGroupOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what every member of a group wants, who differs, what brokers filter by, and what is skipped by it."""
    live = LiveWish(namesrv=namesrv, profile=profile, timeout=timeout, groups=[group])
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=live)
    require_group(state, group)
    view = view_of(state, group)
    wants = want_rows(view)
    agreed = consistent(view, wants)
    report = SubscriptionReport(
        group=group,
        consistent=agreed,
        wants=wants,
        brokers=broker_rows(view),
        losses=loss_rows(view, state.tag_samples),
    )
    emit(subscription_document("subscription.show/1", report), output)
    wanted = (Part.MEMBERS, Part.RUNNING_INFO, Part.TAGS)
    found = (state.unavailable, *(broker.unavailable for broker in state.brokers))
    gaps = [gap for part in found for gap in part if gap.part in wanted]
    return tell_gaps(gaps)
