"""What `mqctl top` costs while it runs: `python -m benchmarks.top [--groups 100] [--seconds 20]`.

Draws on a pseudo-terminal every two seconds, first as the screen with its page of groups open, then plain; two embedded
brokers in a process of their own hold the groups, each with offsets on the eight queues of a topic. Measured after the
first seconds: CPU of the process per second, and memory.
"""

from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

from benchmarks.lag import cluster_of

_SETTLED_S = 5
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(process: int) -> float:
    """CPU that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(process: int) -> str:
    """Its resident memory, as the system writes it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(line.split(maxsplit=1)[1] for line in lines if line.startswith("VmRSS"))


def drain(terminal: int) -> None:
    """Reads what is drawn until the other end is closed."""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        return


def watched(namesrv: str, seconds: int, *more: str) -> tuple[float, str]:
    """Runs `top` for some time; returns its share of a core, and its memory."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "mqctl", "top", "--every", "2s", "--namesrv", namesrv, *more]
    settings = {**os.environ, "TERM": "xterm-256color", "LINES": "40", "COLUMNS": "120"}
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    Thread(target=drain, args=(ours,), daemon=True).start()
    time.sleep(_SETTLED_S)
    os.write(ours, b"g")
    time.sleep(1)
    before = cpu_s(process.pid)
    time.sleep(seconds)
    share, held = (cpu_s(process.pid) - before) / seconds, memory(process.pid)
    os.write(ours, b"q")
    process.wait(10)
    return share, held


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    wanted = parser.parse_args()
    with cluster_of(wanted.groups) as namesrv:
        for name, more in (("screen", ()), ("plain", ("--plain",))):
            share, held = watched(namesrv, wanted.seconds, *more)
            print(f"{name}: {wanted.groups} groups, every 2 s: {share:.1%} of a core, {held}")


if __name__ == "__main__":
    main()
