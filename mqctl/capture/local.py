"""Dumps of a process on this machine: with py-spy or the JDK's tools, with processor time and the pause it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from mqctl.capture.access import existing, obstacle, vanished
from mqctl.capture.pause import StopWatch, safepoint_ms
from mqctl.capture.processes import PROC, Runtime, runtime_of
from mqctl.capture.source_lines import SourceLines
from mqctl.capture.thread_cpu import thread_cpu_ms
from mqctl.capture.tools import Ran, SearchPath, find_jdk_tool, find_py_spy, run_tool
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, MqctlError, PermissionDeniedError, RefusedError
from mqctl.model.command_line import command_line, shell_words
from mqctl.model.dump import StackDump
from mqctl.stacks.parse import read_dumps
from mqctl.text import sentence

_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How to take dumps.

    Attributes:
        native: show C frames of Python processes as well.
        nonblocking: do not stop a Python process: no pause, and stacks that may not fit together.
    """

    native: bool = False
    nonblocking: bool = False
    search: SearchPath = field(default_factory=SearchPath)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One dump as it was taken.

    Attributes:
        raw: what the tool wrote.
        took_ms: how long the tool ran.
    """

    dump: StackDump
    raw: str
    took_ms: float


class LocalProcessDumps:
    """Takes dumps of one process.

    Raises:
        NotFoundError: there is no such process.
        PermissionDeniedError, RefusedError, ConfigurationError: something is in the way; it was not touched.
    """

    def __init__(self, pid: int, manner: Manner, *, now_ms: Callable[[], int], proc: Path = PROC) -> None:
        self.process = existing(pid, proc)
        self.pid = pid
        hindrance = obstacle(self.process, proc)
        if hindrance is not None:
            raise hindrance
        self.runtime = runtime_of(self.process)
        self._manner = manner
        self._now_ms = now_ms
        self._proc = proc
        self._user = self.process.username()
        if self.runtime is Runtime.JVM:
            self._words = find_jdk_tool(self.process, manner.search)
        else:
            self._words = [str(find_py_spy(manner.search)), "dump", "--json", "--pid", str(pid)]
            self._words += ["--native"] if manner.native else []
        self._sources = SourceLines(proc / str(pid) / "root", self.process.create_time())

    def take(self, deadline: Deadline) -> Shot:
        """Takes a dump.

        Raises:
            NotFoundError: the process has ended meanwhile.
            PermissionDeniedError, RefusedError: the tool was not let in, or does not understand the process.
            DeadlineError: no dump in time.
        """
        return self._jvm(deadline) if self.runtime is Runtime.JVM else self._python(deadline)

    def _python(self, deadline: Deadline) -> Shot:
        watch = StopWatch(self.pid, self._proc)
        taken_at_ms = self._now_ms()
        # What is stopped already cannot be stopped by py-spy, and need not be.
        words = [*self._words, "--nonblocking"] if self._manner.nonblocking or self._stopped() else self._words
        try:
            ran = run_tool(words, deadline, meanwhile=watch.look)
            watch.look()
        finally:
            watch.close()
        self._check(ran, deadline)
        pause_ms = 0.0 if self._manner.nonblocking else watch.paused_ms
        dump = self._sources.join(self._read(ran, taken_at_ms))
        return Shot(dump=replace(dump, pause_ms=pause_ms), raw=ran.stdout, took_ms=ran.took_ms)

    def _jvm(self, deadline: Deadline) -> Shot:
        before = safepoint_ms(self.pid, self._user, self._proc)
        taken_at_ms = self._now_ms()
        ran = run_tool(self._words, deadline)
        self._check(ran, deadline)
        after = safepoint_ms(self.pid, self._user, self._proc)
        pause_ms = after - before if before is not None and after is not None else None
        dump = self._read(ran, taken_at_ms)
        return Shot(dump=replace(dump, pause_ms=pause_ms), raw=ran.stdout, took_ms=ran.took_ms)

    def _read(self, ran: Ran, taken_at_ms: int) -> StackDump:
        """Reads what a tool wrote, with the processor time of each thread as of now."""
        spent = thread_cpu_ms(self.pid, self._proc)
        dumps = read_dumps(ran.stdout, source=f"pid {self.pid}", taken_at_ms=taken_at_ms)
        if not dumps:
            raise RefusedError(
                sentence("capture-dump-process-shows-no", "the dump of process {pid} shows no thread", pid=self.pid),
                reason=sentence(
                    "capture-wrote-characters-none-stack",
                    "{words} wrote {stdout} characters, and none is a stack",
                    words=Path(self._words[0]).name,
                    stdout=len(ran.stdout),
                ),
                remedy=sentence("capture-see-says", "see what it says: {words}", words=shell_words(self._words)),
            )
        dump = dumps[0]
        threads = tuple(
            replace(thread, cpu_ms=spent.get(thread.native_id or 0, thread.cpu_ms)) for thread in dump.threads
        )
        notes = (*dump.notes, *self._notes())
        return replace(dump, threads=threads, taken_at_ms=taken_at_ms, pid=self.pid, notes=notes)

    def _notes(self) -> list[str]:
        if not self._stopped():
            return []
        return [
            sentence(
                "capture-process-stopped",
                "the process is stopped (SIGSTOP): nothing in it runs until kill -CONT {pid}",
                pid=self.pid,
            )
        ]

    def _stopped(self) -> bool:
        try:
            return bool(self.process.status() == psutil.STATUS_STOPPED)
        except psutil.Error:
            return False

    def _check(self, ran: Ran, deadline: Deadline) -> None:
        if ran.code == 0:
            return
        if not self.process.is_running() or self.process.status() == psutil.STATUS_ZOMBIE:
            raise vanished(self.pid, sentence("capture-ended-while-taken", "it ended while its stacks were taken"))
        tool = Path(self._words[0]).name
        if ran.code is None:
            raise DeadlineError(
                sentence(
                    "capture-did-not-finish-dump",
                    "{tool} did not finish a dump of process {pid} within {limit_ms}",
                    tool=tool,
                    pid=self.pid,
                    limit_ms=deadline.limit_ms,
                ),
                reason=sentence("capture-process-not-answer", "the process does not answer")
                if self.runtime is Runtime.JVM
                else sentence("capture-machine-busy", "it, or this machine, is busy"),
                remedy=self._late_remedy(),
            )
        raise self._failed(tool, ran)

    def _late_remedy(self) -> str:
        if self.runtime is Runtime.JVM:
            return sentence(
                "capture-jhsdb-longer-timeout",
                "{jhsdb} needs no help of it, and stops it for long; or a longer --timeout",
                jhsdb=command_line("jhsdb jstack --pid {}", self.pid),
            )
        return sentence("capture-longer-timeout-nonblocking", "a longer --timeout; or --nonblocking")

    def _failed(self, tool: str, ran: Ran) -> MqctlError:
        lines = [line for line in ran.stderr.splitlines() if line.strip()]
        reason = (
            lines[0][:_LONGEST_REASON]
            if lines
            else sentence("capture-tool-ended-with", "it ended with {code}", code=ran.code)
        )
        problem = sentence("capture-could-not-dump", "{tool} could not dump process {pid}", tool=tool, pid=self.pid)
        if "permission denied" in ran.stderr.lower() or "not permitted" in ran.stderr.lower():
            remedy = sentence(
                "capture-seccomp-forbids",
                "if a seccomp profile forbids ptrace: docker run --security-opt seccomp=unconfined; "
                "or --client ID -g G",
            )
            return PermissionDeniedError(problem, reason=reason, remedy=remedy)
        return RefusedError(
            problem,
            reason=reason,
            remedy=sentence(
                "capture-stacks-dump-client-id", "mqctl stacks dump --client ID -g GROUP (through the broker)"
            ),
        )
