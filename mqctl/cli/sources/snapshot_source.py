"""Where a command's evidence comes from: a store directory, a saved snapshot, or a live cluster."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.cli.connection.target import cluster_target
from mqctl.cli.options.common import at_ms
from mqctl.cli.terminal.progress import step_progress
from mqctl.errors import UsageError
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.store.verify import Verifier

_LATER_STACKS = 2
_STACKS_APART_S = 1.0
# Members share queues out anew every 20 s.
_LOOKS_APART_MS, _LEAST_LOOKS, _MOST_LOOKS = 20_000, 3, 9
_COUNTED_MS = 75_000
"""Shortest window that covers the whole minute for which brokers count what they handed out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """Which part of which cluster to look at, and how.

    Attributes:
        groups, topics, brokers: names; None or empty for everything.
        proxies: of 5.x, which alone know their clients.
        window_ms: look twice, so far apart, for rules that need movement; 0 looks once.
        sampled: topics whose tags are sampled in any case.
        members_only: only what members and their queues are; replication, access, delays and transactions stay unasked.
    """

    namesrv: str | None = None
    profile: str | None = None
    timeout: str | None = None
    proxies: list[str] | None = None
    groups: list[str] | None = None
    topics: list[str] | None = None
    brokers: list[str] | None = None
    window_ms: int = 0
    with_stacks: bool = False
    sampled: frozenset[str] = frozenset()
    members_only: bool = False


def read_snapshot(
    *,
    store: Path | None,
    snapshot: Path | None,
    at: str | None = None,
    now: datetime,
    levels: str | None = None,
    broker_name: str | None = None,
    quick: bool = False,
    live: LiveOptions | None = None,
    verifier: Verifier | None = None,
    parts: Collection[Part] = tuple(Part),
) -> ClusterSnapshot:
    """Gathers from `store`, loads `snapshot`, or asks a live cluster.

    Args:
        live: what to ask when neither of the two is given; None where a command takes no live cluster.
        verifier: verifies a store; None does it in this process.
        parts: what to read of a store, as `gather_store` has it.

    Raises:
        UsageError: two sources, or none, or an option that does not fit the source.
    """
    _refuse_mixed_sources(store, snapshot, live)
    if snapshot is not None:
        _refuse_store_options(
            at,
            levels,
            broker_name,
            quick=quick,
            reason=sentence("snapshot-has-own-settings", "a snapshot was gathered with its own"),
        )
        from mqctl.snapshot.archive import load_snapshot

        return load_snapshot(snapshot)
    if store is not None:
        from mqctl.snapshot.store.gatherer import gather_store

        moment = at_ms(at, now)
        with step_progress() as progress:
            return gather_store(
                store,
                at_ms=moment,
                levels=levels,
                broker_name=broker_name,
                deep=not quick,
                progress=progress,
                verifier=verifier,
                parts=parts,
            )
    if live is None:
        raise UsageError(
            sentence("name-source", "name one source"),
            remedy=sentence("cli-add-store-dir", "add --store DIR (a store directory) or --snapshot FILE"),
        )
    _refuse_store_options(
        at,
        levels,
        broker_name,
        quick=quick,
        reason=sentence("live-has-own-settings", "a live cluster has its own clock and settings"),
    )
    return _ask(live)


def next_source(snapshot: ClusterSnapshot, namesrv: str | None, profile: str | None) -> str | None:
    """Returns the options that lead to a live cluster again, keys and TLS included; None for what came from files."""
    if snapshot.origin.kind is not OriginKind.LIVE or snapshot.origin.archive is not None:
        return None
    return cluster_target(namesrv, profile, None).option


def _refuse_mixed_sources(store: Path | None, snapshot: Path | None, live: LiveOptions | None) -> None:
    """Raises UsageError: two sources, or an option of live clusters beside files."""
    if store is not None and snapshot is not None:
        raise UsageError(
            sentence("store-snapshot-cannot-combined", "--store and --snapshot cannot be combined"),
            remedy=sentence("name-source", "name one source"),
        )
    if (store or snapshot) is not None and live is not None and live.with_stacks:
        raise UsageError(
            sentence("cli-stacks-needs-live-cluster", "--stacks needs a live cluster"),
            reason=sentence(
                "cli-snapshot-stacks-saved-store",
                "a snapshot has the stacks that were saved with it, a store has none",
            ),
            remedy=sentence("cli-snapshot-save-stacks-file", "mqctl snapshot save --stacks FILE saves them"),
        )
    if (store or snapshot) is not None and live is not None and live.window_ms:
        raise UsageError(
            sentence("cli-window-needs-live-cluster", "--window needs a live cluster"),
            reason=sentence(
                "cli-snapshot-looks-saved-store", "a snapshot has the looks that were saved with it, a store has one"
            ),
            remedy=sentence("cli-snapshot-save-window-file", "mqctl snapshot save --window 60s FILE saves two"),
        )


def _refuse_store_options(
    at: str | None, levels: str | None, broker_name: str | None, *, quick: bool, reason: str
) -> None:
    if at or levels or broker_name or quick:
        raise UsageError(
            sentence("cli-levels-broker-name-quick", "--at, --levels, --broker-name and --quick need --store"),
            reason=reason,
        )


def _ask(live: LiveOptions) -> ClusterSnapshot:
    from dataclasses import replace
    from time import sleep, time

    from mqctl.cli.connection.seen_brokers import missing_brokers, with_seen_brokers
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.gatherer import gather_live

    target = cluster_target(live.namesrv, live.profile, live.timeout, proxies=live.proxies)
    target, patience_ms = target.patient() if live.timeout is None else (target, None)
    scope = Scope(
        groups=frozenset(live.groups or ()),
        topics=frozenset(live.topics or ()),
        brokers=frozenset(live.brokers or ()),
    )
    with target.open() as cluster, step_progress() as progress:

        def look() -> ClusterSnapshot:
            now_ms = round(time() * 1000)
            return gather_live(
                cluster,
                target.deadline(),
                now_ms=now_ms,
                scope=scope,
                with_stacks=live.with_stacks,
                sampled=live.sampled,
                members_only=live.members_only,
                progress=progress,
                patience_ms=patience_ms,
                missing=lambda registered: missing_brokers(cluster, registered, target),
            )

        first = look()
        if live.window_ms:
            from mqctl.snapshot.live.handed_out import handed_out, with_handed_out
            from mqctl.snapshot.live.looks_between import look_between

            if progress is not None:
                progress("waiting for movement", 0, 1)
            between = []
            steps = min(_MOST_LOOKS, max(_LEAST_LOOKS, live.window_ms // _LOOKS_APART_MS))
            for number in range(steps):
                sleep(live.window_ms / 1000 / steps)
                if number < steps - 1:
                    seen_ms = round(time() * 1000)
                    between.append(look_between(cluster, target.deadline(), first, now_ms=seen_ms))
            counts = handed_out(cluster, target.deadline(), first) if live.window_ms >= _COUNTED_MS else {}
            first = replace(with_handed_out(look(), counts), earlier=first, between=tuple(between))
        for number in range(_LATER_STACKS if live.with_stacks else 0):
            if progress is not None:
                progress("stacks", number, _LATER_STACKS)
            from mqctl.snapshot.live.stacks import with_later_stacks

            sleep(_STACKS_APART_S)
            first = with_later_stacks(cluster, target.deadline(), first, round(time() * 1000))
        return with_seen_brokers(first, target, whole=scope == Scope())
