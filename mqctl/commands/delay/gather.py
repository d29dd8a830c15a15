"""What the delay commands share: where their evidence comes from."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mqctl.cli.connection.target import cluster_target
from mqctl.cli.options.common import at_ms
from mqctl.cli.sources.brokers import asking_of, gaps_of, unproven_gaps
from mqctl.cli.sources.snapshot_source import read_snapshot
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaySource:
    """Which delay levels to look at: a file, a store, a snapshot, or else a live cluster.

    Attributes:
        brokers: names of live brokers; all when empty.
    """

    store: Path | None = None
    snapshot: Path | None = None
    file: Path | None = None
    at: str | None = None
    levels: str | None = None
    brokers: tuple[str, ...] = ()
    namesrv: str | None = None
    profile: str | None = None
    timeout: str | None = None


def read_delay(source: DelaySource) -> ClusterSnapshot:
    """Gathers delay levels.

    Raises:
        UsageError: sources or options contradict each other.
        MqctlError: the source cannot be read or asked.
    """
    now = datetime.now().astimezone()
    offline = [name for name in ("store", "snapshot", "file") if getattr(source, name) is not None]
    if len(offline) > 1:
        raise UsageError(
            sentence("name-source", "name one source"),
            remedy=sentence("delay-use-file-store-snapshot", "use --file, --store or --snapshot, not two of them"),
        )
    if not offline:
        return _ask(source, now)
    if source.namesrv or source.profile or source.brokers:
        raise UsageError(
            sentence(
                "delay-cannot-combined-live-cluster",
                "--{offline} cannot be combined with a live cluster",
                offline=offline[0],
            ),
            remedy=sentence("name-source", "name one source"),
        )
    if source.file is not None:
        from mqctl.snapshot.store.gatherer import gather_delay_file

        return gather_delay_file(source.file, levels=source.levels, at_ms=at_ms(source.at, now))
    return read_snapshot(
        store=source.store,
        snapshot=source.snapshot,
        at=source.at,
        now=now,
        levels=source.levels,
        quick=source.snapshot is None,
        parts=(Part.DELAY, Part.STORAGE),  # the latter names a log whose end is cut off
    )


def _ask(source: DelaySource, now: datetime) -> ClusterSnapshot:
    if source.at or source.levels:
        reason = sentence("delay-live-cluster-own-clock", "a live cluster has its own clock and level table")
        raise UsageError(
            sentence("delay-levels-need-store-file", "--at and --levels need --store or --file"), reason=reason
        )
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.delay import gather_live_delay

    target = cluster_target(source.namesrv, source.profile, source.timeout)
    with target.open() as cluster:
        scope = Scope(brokers=frozenset(source.brokers))
        state = gather_live_delay(asking_of(cluster, target), scope, now_ms=round(now.timestamp() * 1000))
    if not state.brokers:
        reason = sentence("common-asked", "asked for {brokers}", brokers=source.brokers) if source.brokers else ""
        raise NotFoundError(
            sentence("no-such-master", "there is no such master"),
            reason=reason,
            remedy=command_line("mqctl broker list"),
        )
    return state


def delay_gaps(state: ClusterSnapshot) -> list[Gap]:
    """Returns what could not be asked, or read, of delays."""
    gaps = gaps_of(state, [part for part in Part if part.startswith("delay")])
    return [*gaps, *unproven_gaps(state.brokers, Part.DELAY)]


def unjudged_delay_gaps(state: ClusterSnapshot) -> list[Gap]:
    """Returns those of them that a diagnosis of the same state does not name: of files all but what waits in timers."""
    is_live = state.origin.kind is OriginKind.LIVE
    return [gap for gap in delay_gaps(state) if is_live or gap.part is Part.DELAY_TIMERS]
