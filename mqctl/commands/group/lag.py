"""`mqctl group lag`: how far consumer groups are behind."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from time import time

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit, tell
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
from mqctl.errors import ExitCode, NotFoundError, UsageError
from mqctl.model.lag import LagEvidence, group_lags, queue_lags
from mqctl.model.unavailable import Part
from mqctl.render.lag import lag_document

EXAMPLES = (
    "mqctl group lag",
    "mqctl group lag -g order-service -o wide",
    "mqctl group lag --namesrv 10.0.0.1:9876 -o json | jq '.groups[] | select(.lag_ms > 60000)'",
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
    at: AtOption = None,
    system: AllOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how far consumer groups are behind, by count and by time.

    The time lag is the age of the next message to consume. `lost` counts messages that expired before the group
    consumed them. Looks at a live cluster, or at a store directory (judged as of its own last instant unless --at says
    otherwise), or at a snapshot.
    """
    if store is not None and snapshot is not None:
        raise UsageError("--store and --snapshot contradict each other")
    if store is not None:
        from mqctl.snapshot.lag_gatherer import gather_lag

        evidence = [gather_lag(store, at_ms=at_ms(at, datetime.now().astimezone()))]
    elif snapshot is not None:
        evidence = _from_snapshot(snapshot)
    else:
        evidence = _live(namesrv, profile, timeout, group, topic, system=system)
    if at is not None and store is None:
        raise UsageError(
            "--at belongs to --store", reason="a snapshot has its own moment, a live cluster its own clock"
        )
    moment_ms = max((item.origin.observed_at_ms for item in evidence), default=round(time() * 1000))
    found = [row for item in evidence for row in queue_lags(item, moment_ms, system=system)]
    rows = sorted(found, key=lambda row: (row.group, row.topic, row.broker_name or "", row.queue_id))
    rows = [row for row in rows if not topic or row.topic in topic]
    known = {row.group for row in rows}
    gaps = [gap for item in evidence for gap in item.unavailable]
    for name in group or ():
        if name not in known and not gaps:
            raise NotFoundError(f"no consumer group {name} with offsets there", remedy=_known_names(known))
    rows = [row for row in rows if not group or row.group in group]
    emit(lag_document(moment_ms, group_lags(rows), rows, detail=bool(group)), output)
    for gap in gaps:
        tell(f"mqctl: {gap.part}{f' ({gap.scope})' if gap.scope else ''} not read: {gap.reason}")
    return (ExitCode.IO if store is not None else ExitCode.UNREACHABLE) if gaps else ExitCode.OK


def _live(
    namesrv: str | None,
    profile: str | None,
    timeout: str | None,
    groups: list[str] | None,
    topics: list[str] | None,
    *,
    system: bool,
) -> list[LagEvidence]:
    from mqctl.snapshot.live_asking import Scope
    from mqctl.snapshot.live_lag import gather_live_lag

    chosen = connection(namesrv, profile, timeout)
    scope = Scope(groups=frozenset(groups or ()), topics=frozenset(topics or ()))
    with chosen.open() as cluster:
        return gather_live_lag(
            cluster, chosen.deadline(), now_ms=round(time() * 1000), scope=scope, system=system or bool(groups)
        )


def _from_snapshot(file: Path) -> list[LagEvidence]:
    from mqctl.snapshot.archive import load

    snapshot = load(file)
    wanted = (Part.QUEUES, Part.CONSUMER_OFFSETS)
    return [
        LagEvidence(
            origin=snapshot.origin,
            name=broker.name,
            queues=broker.queues,
            consumer_offsets=broker.consumer_offsets,
            unavailable=tuple(gap for gap in broker.unavailable if gap.part in wanted),
        )
        for broker in snapshot.brokers
    ]


def _known_names(known: set[str]) -> str:
    shown = ", ".join(sorted(known)[:10])
    return f"groups with offsets: {shown}" if shown else "no group has offsets there"
