"""`python -m tests.drill.upgrade`: the ready drill `upgrade` on a running cluster, whose servers restart as it asks.

Takes some eleven minutes. Ends as the drill does: 0 when every promise was kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from embedded_broker import EmbeddedCluster

_NAME_SERVERS = ("namesrv", "namesrv-1")


def main() -> int:
    """Runs the drill, answers its questions once their work is done, and returns its exit code."""
    with EmbeddedCluster(brokers=2, name_servers=2) as cluster, tempfile.TemporaryDirectory() as state:
        work = iter(
            (
                partial(_restart, cluster, "broker-a"),
                partial(_restart, cluster, "broker-b"),
                partial(_restart_name_servers, cluster),
            )
        )
        words = [sys.executable, "-m", "mqctl", "drill", "run", "upgrade", "-n", cluster.namesrv, "--execute"]
        with subprocess.Popen(
            [*words, "--history", str(Path(state) / "history")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as drill:
            assert drill.stdin is not None and drill.stderr is not None
            for line in drill.stderr:
                sys.stderr.write(line)
                if "NOW: " in line:
                    next(work)()
                    drill.stdin.write("\n")
                    drill.stdin.flush()
        return drill.returncode


def _restart(cluster: EmbeddedCluster, name: str) -> None:
    broker = cluster.broker(name)
    broker.stop()
    broker.start()


def _restart_name_servers(cluster: EmbeddedCluster) -> None:
    for name in _NAME_SERVERS:
        cluster.stop_name_server(name)
        cluster.start_name_server(name)


if __name__ == "__main__":
    sys.exit(main())
