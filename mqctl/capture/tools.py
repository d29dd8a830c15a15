"""Where the programs are that take dumps, and running one of them under a deadline."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil

from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import ConfigurationError
from mqctl.model.command_line import command_line
from mqctl.text import sentence

_POLL_S = 0.0002


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPath:
    """What the environment says about where programs lie.

    Attributes:
        path: directories as in PATH.
        java_home: as in JAVA_HOME.
    """

    path: str = ""
    java_home: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended.

    Attributes:
        code: its exit code; None when it was ended because the deadline had passed.
        took_ms: from its start to its end.
    """

    code: int | None
    stdout: str
    stderr: str
    took_ms: float


def find_py_spy(search: SearchPath) -> Path:
    """Returns py-spy: the one installed with mqctl, or else the first in the path.

    Raises:
        ConfigurationError: there is none.
    """
    path = shutil.which("py-spy", path=sysconfig.get_path("scripts")) or shutil.which("py-spy", path=search.path)
    if path is None:
        raise ConfigurationError(
            sentence("capture-could-not-take-stacks", "could not take stacks of a Python process"),
            reason=sentence(
                "capture-py-spy-depends-not",
                "py-spy, which mqctl depends on, is not where it was installed nor in PATH",
            ),
            remedy=command_line("pip install py-spy"),
        )
    return Path(path)


def find_jdk_tool(process: psutil.Process, search: SearchPath) -> list[str]:
    """Returns the command line that prints a JVM's threads: `jcmd PID Thread.print -l`, or else `jstack -l PID`.

    Looks beside the Java that runs the process, in the process's JAVA_HOME, in ours, and in the path.

    Raises:
        ConfigurationError: none of them has a JDK.
    """
    places = [directory for directory in _java_directories(process, search) if directory.is_dir()]
    path = ":".join([*map(str, places), search.path])
    for name, words in (("jcmd", [str(process.pid), "Thread.print", "-l"]), ("jstack", ["-l", str(process.pid)])):
        tool = shutil.which(name, path=path)
        if tool is not None:
            return [tool, *words]
    looked = ", ".join([*map(str, places), "PATH"])
    raise ConfigurationError(
        sentence(
            "capture-could-not-take-stacks-java", "could not take stacks of the Java process {pid}", pid=process.pid
        ),
        reason=sentence(
            "capture-no-jdk-installed-neither",
            "no JDK is installed: neither jcmd nor jstack is in {looked}",
            looked=looked,
        ),
        remedy=sentence(
            "capture-install-jdk-same-version",
            "install a JDK of the same version; or kill -3 {pid}, which writes a dump to its "
            "standard output, and mqctl stacks dump --file DUMP; or mqctl stacks dump --client "
            "ID -g GROUP (through the broker)",
            pid=process.pid,
        ),
    )


def _java_directories(process: psutil.Process, search: SearchPath) -> list[Path]:
    directories: list[Path] = []
    executable = _or_empty(process.exe)
    if executable:
        # A JRE inside a JDK (Java 8: jdk/jre/bin/java) has its tools two directories up.
        directories += (
            [Path(executable).parent, Path(executable).parents[2] / "bin"] if executable.count("/") > 2 else []
        )
    homes = [_environment(process).get("JAVA_HOME"), search.java_home]
    return directories + [Path(home) / "bin" for home in homes if home]


def _or_empty(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (psutil.AccessDenied, OSError):
        return ""


def _environment(process: psutil.Process) -> Mapping[str, str]:
    try:
        return process.environ()
    except (psutil.AccessDenied, OSError):
        return {}


def run_tool(words: Sequence[str], deadline: Deadline, *, meanwhile: Callable[[], None] | None = None) -> Ran:
    """Runs a program to its end, or until the deadline; never longer.

    Args:
        meanwhile: called again and again while it runs.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = monotonic()
        child = subprocess.Popen(list(words), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        code: int | None
        try:
            if meanwhile is not None:
                while not deadline.expired:
                    meanwhile()
                    try:
                        child.wait(_POLL_S)
                        break
                    except subprocess.TimeoutExpired:
                        continue
            code = child.wait(max(0.001, deadline.remaining_s))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        took_ms = (monotonic() - started) * 1000
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
        return Ran(code, texts[0], texts[1], took_ms)
