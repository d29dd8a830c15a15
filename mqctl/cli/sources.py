"""Where a command's evidence comes from: a store directory or a saved snapshot."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mqctl.cli.options import at_ms
from mqctl.cli.progress import step_progress
from mqctl.errors import UsageError
from mqctl.model.snapshot import ClusterSnapshot


def read_snapshot(
    *,
    store: Path | None,
    snapshot: Path | None,
    at: str | None = None,
    now: datetime,
    levels: str | None = None,
    broker_name: str | None = None,
    quick: bool = False,
) -> ClusterSnapshot:
    """Gathers from `store`, or loads `snapshot`.

    Raises:
        UsageError: unless exactly one of the two is given, or when an option does not fit the source.
    """
    if (store is None) == (snapshot is None):
        raise UsageError("name one source", remedy="add --store DIR (a store directory) or --snapshot FILE")
    if snapshot is not None:
        if at or levels or broker_name or quick:
            raise UsageError(
                "--at, --levels, --broker-name and --quick belong to --store",
                reason="a snapshot was gathered with its own",
            )
        from mqctl.snapshot.archive import load

        return load(snapshot)
    if store is None:
        raise UsageError("name one source")
    from mqctl.snapshot.store_gatherer import gather_store

    moment = at_ms(at, now)
    with step_progress() as progress:
        return gather_store(
            store, at_ms=moment, levels=levels, broker_name=broker_name, deep=not quick, progress=progress
        )
