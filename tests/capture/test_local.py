"""Dumps of real processes: py-spy and the JDK's tools, what a dump costs, and what happens when it cannot be had."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import time

import pytest

from mqctl.capture.local import LocalProcessDumps, Manner
from mqctl.capture.tools import SearchPath
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import ConfigurationError, DeadlineError, NotFoundError, RefusedError
from mqctl.model.dump import DumpTool, ThreadState

Start = Callable[..., "subprocess.Popen[str]"]
_LIMIT_MS = 60_000
_SEARCH = SearchPath(path=os.environ.get("PATH", ""))
_NEEDS_JDK = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK (javac) on this machine")
_PYTHON = """
import sys, threading, time

def burns():
    while True:
        sum(range(1000))

def sleeps():
    time.sleep(600)

threading.Thread(target=burns, name="ConsumeMessageThread_g_1", daemon=True).start()
threading.Thread(target=sleeps, name="ConsumeMessageThread_g_2", daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
_JAVA = """
public class Idle {
    public static void main(String[] words) throws Exception {
        Thread sleeps = new Thread(() -> { try { Thread.sleep(600_000); } catch (InterruptedException e) { } },
                                   "ConsumeMessageThread_g_1");
        sleeps.setDaemon(true);
        sleeps.start();
        System.out.println("ready");
        System.in.read();
    }
}
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that prints `ready`, and ends it after the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def java_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the Java program; returns its directory."""
    directory = tmp_path_factory.mktemp("java")
    (directory / "Idle.java").write_text(_JAVA)
    subprocess.run(["javac", "--release", "11", "-d", str(directory), str(directory / "Idle.java")], check=True)
    return directory


def java_words(directory: Path, *options: str, java: str = "java") -> Sequence[str]:
    return (java, "-Xmx32m", *options, "-cp", str(directory), "Idle")


def dumps_of(process: subprocess.Popen[str], manner: Manner | None = None) -> LocalProcessDumps:
    return LocalProcessDumps(process.pid, manner or Manner(search=_SEARCH), now_ms=lambda: round(time() * 1000))


def test_a_python_process_with_source_lines_and_processor_time(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PYTHON)
    source = dumps_of(start(sys.executable, str(program)))
    end = Deadline(_LIMIT_MS)
    first = source.take(end).dump
    while first.pause_ms is None and not end.expired:  # on a busy machine nobody may have seen it stand still
        first = source.take(end).dump
    assert (first.tool, first.pid) == (DumpTool.PY_SPY, source.pid)
    assert first.pause_ms is not None
    assert first.pause_ms > 0
    threads = {thread.name: thread for thread in first.threads}
    (innermost, *_) = threads["ConsumeMessageThread_g_2"].frames
    assert (innermost.function, innermost.code) == ("sleeps", "time.sleep(600)")
    before = threads["ConsumeMessageThread_g_1"].cpu_ms or 0.0
    end = Deadline(_LIMIT_MS)
    spent = {"ConsumeMessageThread_g_1": before}
    while spent["ConsumeMessageThread_g_1"] <= before + 50 and not end.expired:
        spent = {thread.name: thread.cpu_ms or 0.0 for thread in source.take(end).dump.threads}
    assert spent["ConsumeMessageThread_g_1"] > before + 50
    assert spent["ConsumeMessageThread_g_2"] < before + 50


@pytest.mark.parametrize("manner", [Manner(nonblocking=True, search=_SEARCH), Manner(native=True, search=_SEARCH)])
def test_without_a_pause_and_with_native_frames(start: Start, manner: Manner) -> None:
    shot = dumps_of(start(sys.executable, "-c", _PYTHON), manner).take(Deadline(_LIMIT_MS))
    (sleeping,) = [thread for thread in shot.dump.threads if thread.name == "ConsumeMessageThread_g_2"]
    assert "sleeps" in [frame.function for frame in sleeping.frames]
    assert (shot.dump.pause_ms == 0.0) is manner.nonblocking
    if manner.native:
        assert "nanosleep" in " ".join(frame.function for frame in sleeping.frames)


def test_a_stopped_process_is_told_as_such(start: Start) -> None:
    process = start(sys.executable, "-c", _PYTHON)
    source = dumps_of(process)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert any("kill -CONT" in note for note in source.take(Deadline(_LIMIT_MS)).dump.notes)


def test_a_process_that_ends_before_its_dump_is_not_found(start: Start) -> None:
    process = start(sys.executable, "-c", _PYTHON)
    source = dumps_of(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(NotFoundError, match="it ended while its stacks were taken"):
        source.take(Deadline(_LIMIT_MS))
    process.communicate()
    with pytest.raises(NotFoundError, match=f"no process {process.pid}"):
        source.take(Deadline(_LIMIT_MS))


def test_a_dump_that_takes_too_long_is_given_up(start: Start) -> None:
    source = dumps_of(start(sys.executable, "-c", _PYTHON))
    with pytest.raises(DeadlineError, match="did not finish"):
        source.take(Deadline(0))
    assert source.take(Deadline(_LIMIT_MS)).dump.threads


@_NEEDS_JDK
def test_a_jvm_with_locks_and_processor_time(start: Start, java_class: Path) -> None:
    shot = dumps_of(start(*java_words(java_class))).take(Deadline(_LIMIT_MS))
    assert (shot.dump.tool, shot.dump.with_locks) == (DumpTool.JSTACK, True)
    (sleeping,) = [thread for thread in shot.dump.threads if thread.name == "ConsumeMessageThread_g_1"]
    assert sleeping.state is ThreadState.TIMED_WAITING
    assert sleeping.cpu_ms is not None
    assert shot.dump.pause_ms is not None
    assert shot.dump.pause_ms < shot.took_ms


@_NEEDS_JDK
def test_a_jvm_that_a_dump_would_end_or_that_forbids_it_is_left_alone(start: Start, java_class: Path) -> None:
    deaf = start(*java_words(java_class, "-Xrs"))
    with pytest.raises(RefusedError, match="does not catch SIGQUIT"):
        dumps_of(deaf)
    assert deaf.poll() is None
    closed = start(*java_words(java_class, "-XX:+DisableAttachMechanism"))
    with pytest.raises(RefusedError, match="DisableAttachMechanism"):
        dumps_of(closed)
    stopped = start(*java_words(java_class))
    stopped.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(RefusedError, match="SIGSTOP"):
        dumps_of(stopped)


@_NEEDS_JDK
def test_without_a_jdk_the_ways_that_are_left_are_named(start: Start, java_class: Path, tmp_path: Path) -> None:
    if shutil.which("jlink") is None:
        pytest.skip("no jlink on this machine to make a Java runtime without tools")
    runtime = tmp_path / "runtime"
    made = subprocess.run(["jlink", "--add-modules", "java.base", "--output", str(runtime)], check=False)
    if made.returncode:
        pytest.skip("this JDK cannot make a Java runtime without tools (jlink)")
    process = start(*java_words(java_class, java=str(runtime / "bin" / "java")))
    with pytest.raises(ConfigurationError, match="no JDK is installed") as caught:
        dumps_of(process, Manner(search=SearchPath()))
    assert f"kill -3 {process.pid}" in caught.value.remedy
    assert "--client ID -g GROUP" in caught.value.remedy
    ways = dumps_of(process)  # a JDK elsewhere will do
    assert ways.take(Deadline(_LIMIT_MS)).dump.threads
