"""`mqctl group lag`: how far consumer groups are behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import (
    NamesrvOption,
    ProfileOption,
    ProxyOption,
    TimeoutOption,
    cluster_target,
    named_again,
)
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import (
    AllOption,
    AtOption,
    GroupOption,
    NoColorOption,
    OnlineOption,
    OptionalStoreOption,
    OutputOption,
    QueuesOption,
    SnapshotOption,
    TopicOption,
    at_ms,
)
from mqctl.cli.options.limit import LimitOption
from mqctl.commands.group.lag_advice import AdviseOption, WindowOption, advised
from mqctl.commands.group.lag_view import By, LagChoice, LagDisplay, LagSort, lag_document
from mqctl.errors import UsageError
from mqctl.lag.current import LagRequest, current_lag
from mqctl.text import sentence

EXAMPLES = (
    "mqctl group lag",
    "mqctl group lag -g order-service -o wide",
    "mqctl group lag --by queue -t orders",
    "mqctl group lag --min-lag 1000 --sort lag --limit 20",
    "mqctl group lag --online --min-lag 1",
    "mqctl group lag -t orders --queue 2",
    "mqctl group lag --watch --every 5s",
    "mqctl group lag -g order-service --until 'lag<100 and lag_time<30s' --timeout 10m",
    "mqctl group lag --namesrv 10.0.0.1:9876 -o json | jq '.groups[] | select(.lag_ms > 60000)'",
    "mqctl group lag -g order-service --advise --window 30s",
    "mqctl group lag --store /backup/store",
)


_By = Annotated[By | None, typer.Option("--by", help="Rows to show; both when a group is named.", show_choices=True)]
_Sort = Annotated[
    LagSort | None,
    typer.Option("--sort", help="Order of the groups, worst first; lag_time unless given.", show_choices=True),
]
_MinLag = Annotated[
    int | None,
    typer.Option("--min-lag", metavar="N", min=0, help="Only groups with at least this many messages waiting."),
]
_Watching = Annotated[
    bool, typer.Option("--watch", help="Repeat until interrupted; shows rates and the trend of the lag.")
]
_Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="CONDITION",
        help="Wait until this holds: lag, lag_time, lost, or ready, invisible, due, retry of what is popped; "
        "of every group or `lag(GROUP)`, joined by and, or.",
    ),
]


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    proxy: ProxyOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    by: _By = None,
    watching: _Watching = False,
    until: _Until = None,
    every: Annotated[str, typer.Option("--every", metavar="SPAN", help="Time between looks.")] = "5s",
    count: Annotated[int | None, typer.Option("--count", metavar="N", help="Stop after this many samples.")] = None,
    at: AtOption = None,
    system: AllOption = False,
    advise: AdviseOption = False,
    window: WindowOption = None,
    sort: _Sort = None,
    min_lag: _MinLag = None,
    queue: QueuesOption = None,
    online: OnlineOption = False,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how far consumer groups are behind, by count and by time.

    The lag time is the age of the next message to consume. `lost` counts messages that expired before the group
    consumed them. -g, --by queue and -o wide also ask the consumers: messages in flight (delivered, not committed) and
    cached, the owner of each queue, and messages per second over the last minute, consumed (reported by members) and
    delivered (counted by brokers). Groups with failing messages have a deadline: the time by which a fix must be
    deployed before the first one is dead-lettered. A store is judged as of its own last moment, or --at. --advise shows
    when backlogs end and what helps.

    For POP groups (5.x) it shows how many messages are ready, invisible (popped and not acknowledged, with the time
    when the next one reappears), due, or in the retry topics of both names. This is exact with --store, and estimated
    from the newest records of pops on a live cluster; batches of ordered pops need --store.

    --watch shows rates over the last 15 s. --until ends with 0 when the condition holds, 75 when it does not within
    --timeout (10 minutes unless given), 3 when the last sample had no answer.
    """
    choice, again = LagChoice(sort=sort, min_lag=min_lag, queues=tuple(queue or ())), watching or until is not None
    _refuse(store, snapshot, at, choice, again=again, advise=advise, online=online)
    if advise or window is not None:
        from mqctl.cli.sources.snapshot_source import LiveOptions

        live = LiveOptions(namesrv=namesrv, profile=profile, timeout=timeout, groups=group, topics=topic)
        return advised(live, snapshot, window, output, wanted=advise and store is None)
    rows = by or (By.QUEUE if queue else By.BOTH if group else By.GROUP)
    closely = store is None and (rows is not By.GROUP or output is Output.WIDE)
    request = LagRequest(group or (), topic or (), system=system, with_consumers=closely, online=online)
    is_list = sort is None and not again and rows is By.GROUP and output in (Output.TABLE, Output.WIDE)
    display = LagDisplay(by=rows, output=output, limit=limit, members_first=is_list)
    if store is not None:
        from mqctl.snapshot.store.lag import gather_lag

        evidence = gather_lag(store, at_ms=at_ms(at, datetime.now().astimezone()))
        lag = current_lag([evidence], request, now_ms=evidence.origin.observed_at_ms)
    elif snapshot is not None:
        from mqctl.commands.group.lag_look import snapshot_lag

        lag = snapshot_lag(snapshot, request, members_first=is_list)
    else:
        target = cluster_target(namesrv, profile, timeout, proxies=proxy)
        if again:
            from mqctl.commands.group.lag_watch import Again, look_again

            look = Again(watching=watching, until=until, every=every, count=count, limit=timeout)
            return look_again(target, request, look, display)
        from mqctl.commands.group.lag_look import one_look

        display = replace(display, next_options=named_again(namesrv, profile))
        lag = one_look(target, request, members_first=is_list, limited=timeout is not None)
    return answer(lag_document(choice.of(lag), request, display), lag.open_gaps, output, minor=lag.side_gaps)


def _refuse(
    store: Path | None,
    snapshot: Path | None,
    at: str | None,
    choice: LagChoice,
    *,
    again: bool,
    advise: bool,
    online: bool,
) -> None:
    if online and (store is not None or snapshot is not None or again or advise):
        raise UsageError(
            sentence("group-online-chooses-rows-look", "--online chooses rows of one sample of a live cluster"),
            remedy=sentence("group-leave-other-option-out", "leave the other option out"),
        )
    if choice != LagChoice() and (again or advise):
        raise UsageError(
            sentence("group-sort-min-lag-queue", "--sort, --min-lag and --queue choose rows of one sample"),
            remedy=sentence("group-leave-watch-until-advise", "leave --watch, --until and --advise out"),
        )
    if store is not None and snapshot is not None:
        raise UsageError(sentence("store-snapshot-cannot-combined", "--store and --snapshot cannot be combined"))
    if again and (store is not None or snapshot is not None):
        raise UsageError(
            sentence("group-watch-until-need-live", "--watch and --until need a live cluster"),
            reason=sentence("group-files-not-change-while", "files do not change while they are watched"),
        )
    if again and advise:
        raise UsageError(
            sentence("group-advise-cannot-combined-watch", "--advise cannot be combined with --watch or --until"),
            remedy=sentence("group-add-window-span-advise", "add --window SPAN to --advise instead"),
        )
    if at is not None and store is None:
        raise UsageError(
            sentence("needs-store", "--at needs --store"),
            reason=sentence("snapshot-own-moment-live", "a snapshot has its own moment, a live cluster its own clock"),
        )
