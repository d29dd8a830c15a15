"""What the transaction commands share: where their evidence comes from."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mqctl.cli.connection.target import cluster_target
from mqctl.cli.sources.brokers import asking_of, gaps_of, unproven_gaps
from mqctl.cli.sources.snapshot_source import read_snapshot
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence

_PARTS = (Part.TRANSACTIONS, Part.PRODUCERS, Part.TOPICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSource:
    """Whose transactions to look at: a store's, a snapshot's, or else a live cluster's.

    Attributes:
        deep: read a store's whole commit log as well, for the history of what was committed.
        brokers: names of live brokers; all when empty.
    """

    store: Path | None = None
    snapshot: Path | None = None
    at: str | None = None
    deep: bool = False
    brokers: tuple[str, ...] = ()
    namesrv: str | None = None
    profile: str | None = None
    timeout: str | None = None


def read_transactions(source: TransactionSource) -> ClusterSnapshot:
    """Gathers transactions.

    Raises:
        UsageError: sources or options contradict each other.
        MqctlError: the source cannot be read or asked.
    """
    now = datetime.now().astimezone()
    if source.store is not None or source.snapshot is not None:
        if source.namesrv or source.profile or source.brokers:
            raise UsageError(
                sentence("transaction-files-cannot-combined-live", "files cannot be combined with a live cluster"),
                remedy=sentence("name-source", "name one source"),
            )
        quick = source.store is not None and not source.deep
        return read_snapshot(
            store=source.store,
            snapshot=source.snapshot,
            at=source.at,
            now=now,
            quick=quick,
            parts=(Part.TRANSACTIONS, Part.STORAGE),
        )
    if source.at:
        raise UsageError(
            sentence("needs-store", "--at needs --store"),
            reason=sentence("transaction-live-cluster-own-clock", "a live cluster has its own clock"),
        )
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.transactions import gather_live_transactions

    target = cluster_target(source.namesrv, source.profile, source.timeout)
    with target.open() as cluster:
        scope = Scope(brokers=frozenset(source.brokers))
        asking = asking_of(cluster, target)
        state, brokers = gather_live_transactions(asking, scope, now_ms=round(now.timestamp() * 1000))
    if not brokers:
        reason = sentence("common-asked", "asked for {brokers}", brokers=source.brokers) if source.brokers else ""
        raise NotFoundError(
            sentence("no-such-master", "there is no such master"),
            reason=reason,
            remedy=command_line("mqctl broker list"),
        )
    return state


def transaction_gaps(state: ClusterSnapshot) -> list[Gap]:
    """Returns what could not be asked or read of transactions."""
    return [*gaps_of(state, _PARTS), *unproven_gaps(state.brokers, Part.TRANSACTIONS)]
