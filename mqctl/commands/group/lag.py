"""`mqctl group lag`: how far consumer groups are behind."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.backlog_advising import Advised, AdviseOption, WindowOption, advised
from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.lag_view import LagView, LagWish, lag_view, live_lag, snapshot_lag
from mqctl.cli.options import (
    AllOption,
    AtOption,
    GroupOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
    TopicOption,
    at_ms,
)
from mqctl.errors import ExitCode, UsageError
from mqctl.render.lag import By, lag_document

EXAMPLES = (
    "mqctl group lag",
    "mqctl group lag -g order-service -o wide",
    "mqctl group lag --by queue -t orders",
    "mqctl group lag --namesrv 10.0.0.1:9876 -o json | jq '.groups[] | select(.lag_ms > 60000)'",
    "mqctl group lag -g order-service --advise --window 30s",
    "mqctl group lag --store /backup/store",
)


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    by: Annotated[
        By | None, typer.Option("--by", help="Rows to show; both when a group is named.", show_choices=True)
    ] = None,
    at: AtOption = None,
    system: AllOption = False,
    advise: AdviseOption = False,
    window: WindowOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how far consumer groups are behind, by count and by time.

    The time lag is the age of the next message to consume. `lost` counts messages that expired before the group
    consumed them. With -g, --by queue or -o wide the consumers of a live cluster are asked as well: what is in flight
    (handed out and not committed), messages per second over the last minute, and who holds each queue; consumers that
    do not tell leave these unknown, which is no failure. Looks at a live cluster, or at a store directory (judged as of
    its own last instant unless --at says otherwise), or at a snapshot. --advise says when backlogs end, what bounds
    them and what would help.
    """
    if store is not None and snapshot is not None:
        raise UsageError("--store and --snapshot contradict each other")
    if advise or window is not None:
        who = Advised(namesrv=namesrv, profile=profile, timeout=timeout, groups=group, topics=topic, snapshot=snapshot)
        return advised(who, window, output, wanted=advise and store is None)
    if at is not None and store is None:
        raise UsageError(
            "--at belongs to --store", reason="a snapshot has its own moment, a live cluster its own clock"
        )
    rows = by or (By.BOTH if group else By.GROUP)
    wish = LagWish(
        groups=group or (),
        topics=topic or (),
        system=system,
        with_consumers=store is None and (rows is not By.GROUP or output is Output.WIDE),
    )
    if store is not None:
        from mqctl.snapshot.lag_gatherer import gather_lag

        view = lag_view([gather_lag(store, at_ms=at_ms(at, datetime.now().astimezone()))], wish)
    elif snapshot is not None:
        view = lag_view(snapshot_lag(snapshot), wish)
    else:
        chosen = connection(namesrv, profile, timeout)
        with chosen.open() as cluster:
            view = live_lag(cluster, chosen.deadline(), wish)
    return _show(view, wish, rows, output, failed=ExitCode.IO if store is not None else ExitCode.UNREACHABLE)


def _show(view: LagView, wish: LagWish, rows: By, output: Output, *, failed: ExitCode) -> int:
    document = lag_document(view.moment_ms, view.groups, view.queues, by=rows, with_consumers=wish.with_consumers)
    emit(document, output)
    view.tell_gaps()
    return failed if view.missing else ExitCode.OK
