"""`mqctl group lag`: how far consumer groups are behind."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options import (
    AllOption,
    AtOption,
    GroupOption,
    NoColorOption,
    OutputOption,
    StoreOption,
    TopicOption,
    at_ms,
)
from mqctl.errors import ExitCode, NotFoundError
from mqctl.model.lag import group_lags, queue_lags
from mqctl.render.lag import lag_document
from mqctl.snapshot.lag_gatherer import gather_lag

EXAMPLES = (
    "mqctl group lag --store /backup/store",
    "mqctl group lag --store /backup/store -g order-service -o wide",
    "mqctl group lag --store /backup/store -o json | jq '.groups[] | select(.lag_ms > 60000)'",
)


def command(
    store: StoreOption,
    group: GroupOption = None,
    topic: TopicOption = None,
    at: AtOption = None,
    system: AllOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how far consumer groups are behind, by count and by time.

    The time lag is the age of the next message to consume. `lost` counts messages that expired before the group
    consumed them. The whole of a store is judged as of its own last instant unless --at says otherwise.
    """
    evidence = gather_lag(store, at_ms=at_ms(at, datetime.now().astimezone()))
    moment_ms = evidence.origin.observed_at_ms
    rows = [row for row in queue_lags(evidence, moment_ms, system=system) if not topic or row.topic in topic]
    known = {row.group for row in rows}
    for name in group or ():
        if name not in known:
            raise NotFoundError(f"no consumer group {name} with offsets in {store}", remedy=_known_names(known))
    rows = [row for row in rows if not group or row.group in group]
    emit(lag_document(moment_ms, group_lags(rows), rows, detail=bool(group)), output)
    for gap in evidence.unavailable:
        tell(f"mqctl: {gap.part}{f' ({gap.scope})' if gap.scope else ''} not read: {gap.reason}")
    return ExitCode.IO if evidence.unavailable else ExitCode.OK


def _known_names(known: set[str]) -> str:
    shown = ", ".join(sorted(known)[:10])
    return f"groups with offsets: {shown}" if shown else "no group has offsets there"
