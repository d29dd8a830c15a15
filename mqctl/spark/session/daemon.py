"""Spark's Python daemon with a cheaper garbage collection, for local sessions (`spark.python.daemon.module`).

The stock daemon collects all generations after every task. With pyarrow and pyspark loaded that is 25 ms a task, which
is most of the cost of a small one. Everything that the first task imported lives as long as the worker, so it is frozen
once and later collections look at the task's own objects only.
"""

from __future__ import annotations

import gc
import socket

import pyspark.daemon as stock

_run_task = stock.worker


def worker(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - the signature is Spark's
    """Runs one task in a forked worker as Spark's own `worker` does, then freezes what outlives it."""
    code: int = _run_task(sock, authenticated)
    if gc.get_freeze_count() == 0:
        gc.collect()
        gc.freeze()
    return code


if __name__ == "__main__":
    stock.worker = worker
    stock.manager()
