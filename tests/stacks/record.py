"""Records the dumps in tests/golden/dumps anew: `python -m tests.stacks.record DIRECTORY`. Needs a JDK and py-spy.

The programs are started, dumped once they say `ready`, and ended. Paths, which differ from machine to machine, are
replaced.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conftest import REPOSITORY

JAVA = Path(__file__).parent / "java"
_APART = "2"  # seconds between two dumps of one process; Java writes its clock to the second


def jdk_tool(name: str) -> str | None:
    """Returns where a program of the JDK is; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    return (shutil.which(name, path=f"{home}/bin") if home else None) or shutil.which(name)


@contextmanager
def running(command: list[str]) -> Iterator[tuple[int, str]]:
    """Runs a program until it says `ready`; yields its process id and what it wrote before."""
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            if line == "ready\n":
                break
            lines.append(line)
        assert process.poll() is None, "".join(lines)
        yield process.pid, "".join(lines)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def java_program(place: Path) -> Iterator[tuple[int, str]]:
    """Compiles the Java program below `place` and runs it."""
    sources = sorted(str(path) for path in JAVA.rglob("*.java"))
    compiler, java = jdk_tool("javac"), jdk_tool("java")
    assert compiler is not None
    assert java is not None
    subprocess.run([compiler, "-d", str(place), *sources], check=True)
    pipe = place / "pipe"
    os.mkfifo(pipe)
    with running([java, "-Xmx64m", "-cp", str(place), "shop.orders.ConsumeThreads", str(pipe)]) as started:
        yield started


@contextmanager
def python_program(place: Path) -> Iterator[tuple[int, str]]:
    """Runs the Python program."""
    pipe = place / "pipe"
    os.mkfifo(pipe)
    with running([sys.executable, "-m", "tests.stacks.python_consumers", str(pipe)]) as started:
        yield started


def output(*command: str) -> str:
    """Returns what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def jstack(pid: int) -> str:
    """Returns what `jstack -l` says of a process."""
    tool = jdk_tool("jstack")
    assert tool is not None
    return output(tool, "-l", str(pid))


def py_spy(pid: int, *options: str) -> str:
    """Returns what py-spy says of a process."""
    beside = Path(sysconfig.get_path("scripts")) / "py-spy"
    return output(str(beside) if beside.exists() else "py-spy", "dump", "--pid", str(pid), *options)


def _without_paths(text: str, pipe: Path) -> str:
    text = text.replace(str(pipe), "pipe").replace(f"{REPOSITORY}/", "/app/")
    text = text.replace(f"{Path(sys.base_prefix).resolve()}/", "/usr/").replace(f"{sys.base_prefix}/", "/usr/")
    return re.sub(r"Process (\d+): \S*python\S*", r"Process \1: python", text)


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    with TemporaryDirectory() as made:
        place = Path(made)
        with java_program(place) as (pid, remote):
            first = jstack(pid)
            jcmd = jdk_tool("jcmd") or "jcmd"
            files["java17-jcmd.txt"] = output(jcmd, str(pid), "Thread.print")
            subprocess.run(["sleep", _APART], check=True)
            files["java17-jstack-l.txt"] = first + output(jcmd, str(pid), "Thread.print", "-l")
            files["java17-remote.txt"] = remote
        with TemporaryDirectory() as other, python_program(Path(other)) as (pid, remote):
            files["python311-py-spy.txt"] = py_spy(pid)
            twice = py_spy(pid, "--json")
            subprocess.run(["sleep", "1"], check=True)
            files["python311-py-spy.json"] = twice + py_spy(pid, "--json")
            files["python311-py-spy-native.txt"] = py_spy(pid, "--native")
            files["python311-remote.txt"] = remote
            place = Path(other) / "pipe"
            files = {name: _without_paths(text, place) for name, text in files.items()}
    for name, text in files.items():
        (target / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
