"""Processor time of each thread, as the system counts it."""

from __future__ import annotations

from pathlib import Path

import psutil

_NS_PER_MS = 1_000_000


def thread_cpu_ms(pid: int, proc: Path) -> dict[int, float]:
    """Returns the processor time of each thread, milliseconds, by the thread id that its own process knows.

    To the nanosecond where the kernel keeps `schedstat`, else in clock ticks (10 ms). Empty where nothing tells it.
    """
    times: dict[int, float] = {}
    try:
        tasks = list((proc / str(pid) / "task").iterdir())
    except OSError:
        tasks = []
    for task in tasks:
        try:
            on_cpu = (task / "schedstat").read_text().split()[0]
        except (OSError, IndexError):
            continue
        times[int(task.name)] = int(on_cpu) / _NS_PER_MS
    if not times:
        try:
            times = {item.id: (item.user_time + item.system_time) * 1000 for item in psutil.Process(pid).threads()}
        except (psutil.Error, OSError):
            return {}
    return {_own_id(pid, thread, proc): spent for thread, spent in times.items()} if _nested(pid, proc) else times


def _nested(pid: int, proc: Path) -> bool:
    return _own_id(pid, pid, proc) != pid


def _own_id(pid: int, thread: int, proc: Path) -> int:
    """Returns a thread's id in the innermost pid namespace, which is what dumps from inside a container show."""
    try:
        status = (proc / str(pid) / "task" / str(thread) / "status").read_text(errors="replace")
    except OSError:
        return thread
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return thread
