"""The Java processes of a real cluster: started, watched while something is waited for, ended by their ids."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

import psutil

from tests.cached import program

# What starts fastest on a small machine: one compiler, one collector thread.
_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto")
# Packages of the JDK that RocketMQ reaches into by reflection; Java 17 keeps them closed.
_OPENED = (
    *("java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent"),
    *("jdk.internal.misc", "jdk.internal.ref", "sun.nio.ch"),
)
_ENDING_S = 90.0  # 5.5.0 takes 13 on an idle machine
_LINES = 12
_pause = Event()


class NotUpError(Exception):
    """A process of a real cluster ended, or did not do in time what was waited for."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One process.

    Attributes:
        started: when the system says that it was started; with the id, it names the process for good.
        log: what it printed.
        home: its own directory, with RocketMQ's logs below.
    """

    name: str
    address: str
    pid: int
    started: float
    log: Path
    home: Path

    def process(self) -> psutil.Process | None:
        """Returns the process while it runs."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 0.01
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def log_end(self) -> str:
        """Returns the last lines of what it printed and of RocketMQ's own logs, each under the name of its file."""
        own = [file for file in self.home.rglob("*.log") if file.stat().st_size]
        newest = sorted(own, key=lambda file: file.stat().st_mtime)[-3:]
        shown = [f"--- {file}\n{_end_of(file)}" for file in (self.log, *newest)]
        return "\n".join(shown)


def _end_of(file: Path) -> str:
    lines = file.read_text(errors="replace").splitlines()
    return "\n".join(lines[-_LINES:]) or "(empty)"


def start(
    name: str, words: Sequence[str], *, jars: Path, directory: Path, address: str, heap_mb: int, direct_mb: int
) -> Member:
    """Starts a Java program on the jars of a release; its output goes to a file.

    Args:
        words: class and arguments.
        directory: of the cluster; RocketMQ's home, in which each process has a directory of its own.

    Raises:
        UnavailableError: Java is not installed.
    """
    opened = [word for name in _OPENED for word in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")]
    exported = [word for name in _OPENED for word in ("--add-exports", f"java.base/{name}=ALL-UNNAMED")]
    home = directory / name
    home.mkdir(exist_ok=True)
    places = (f"-Drocketmq.home.dir={directory}", f"-Duser.home={home}")
    memory = (f"-Xmx{heap_mb}m", f"-XX:MaxDirectMemorySize={direct_mb}m")
    command = [program("java"), *memory, *_FLAGS, *opened, *exported, *places, "-cp", f"{jars}/*", *words]
    log = home / "output.txt"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home, start_new_session=True
        )
    started = psutil.Process(process.pid).create_time()
    process.returncode = 0  # it outlives this object, and is ended by its id
    return Member(name=name, address=address, pid=process.pid, started=started, log=log, home=home)


def wait(condition: Callable[[], bool], members: Iterable[Member], what: str, seconds: float) -> None:
    """Waits until `condition` holds, and watches the processes that it depends on.

    Raises:
        NotUpError: a process ended, or the time is over; with the end of its log.
    """
    watched, deadline = list(members), monotonic() + seconds
    while not condition():
        for member in watched:
            if member.process() is None:
                raise NotUpError(f"{member.name} ended by itself before {what}\n{member.log_end()}")
        if monotonic() > deadline:
            ends = "\n".join(member.log_end() for member in watched)
            raise NotUpError(f"waited {seconds:.0f} s in vain until {what}\n{ends}")
        _pause.wait(0.1)


def end(members: Iterable[Member], *, tidy: bool = True) -> None:
    """Ends processes, the last started first; one that does not end within 90 s is killed.

    Args:
        tidy: give them the time to write their stores down, 13 s for a broker of 5.5.0; without it they are killed.
    """
    running = [process for member in reversed(list(members)) if (process := member.process()) is not None]
    for process in running:
        process.terminate() if tidy else process.kill()
    _, left = psutil.wait_procs(running, timeout=_ENDING_S)
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=_ENDING_S)
