"""Local clusters as rows: what the state file says, joined with what the process is doing now."""

from __future__ import annotations

from time import time

from mqctl.commands.local.view import LocalBrokerRow, LocalRow
from mqctl.local.state import LocalCluster


def local_row(cluster: LocalCluster) -> LocalRow:
    """Looks at the process of a cluster and returns its row."""
    alive = cluster.alive
    ready = cluster.ready
    up = {item.name for item in ready.brokers if alive and item.listens}
    return LocalRow(
        name=cluster.name,
        state="dead" if not alive else "running" if len(up) == len(ready.brokers) else "degraded",
        pid=ready.pid,
        namesrv=ready.namesrv,
        broker_names=", ".join(
            item.name if item.name in up or not alive else f"{item.name} (down)" for item in ready.brokers
        ),
        brokers=[
            LocalBrokerRow(
                name=item.name,
                address=item.address,
                room=item.room,
                store=item.store,
                broker_id=item.broker_id,
                state="running" if item.name in up else "down",
            )
            for item in ready.brokers
        ],
        nsaddr=dict(ready.nsaddr),
        grpc=ready.grpc,
        version=ready.version,
        uptime_ms=round(time() * 1000) - cluster.started_ms if alive else None,
        memory_bytes=_memory_bytes(ready.pid) if alive else None,
        data_dir=cluster.data_dir,
        log=cluster.log,
        control=ready.control.address if ready.control else None,
    )


def _memory_bytes(pid: int) -> int | None:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None
