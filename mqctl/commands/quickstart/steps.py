"""The steps of `mqctl quickstart`: commands of mqctl as child processes, and the Spark report behind their backs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from mqctl.cli.connection.target import cluster_target
from mqctl.cli.terminal.progress import step_progress
from mqctl.errors import ConfigurationError, ExitCode, NotFoundError
from mqctl.local.state import LocalCluster
from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.own_files import new_stream
from mqctl.text import sentence
from mqctl.units import duration

_USUAL_S = 8.0
_END_S = 10.0
_POLL_S = 0.25
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def trouble(self) -> str:
        """The first line of its talk, without the program's name."""
        lines = self.stderr.strip().splitlines()
        return (
            lines[0].removeprefix("mqctl: ")
            if lines
            else sentence("quickstart-ended-with", "it ended with {exit_code}", exit_code=self.exit_code)
        )


class TourSteps:
    """Runs commands against one local cluster.

    Attributes:
        option: what has to be typed to name the cluster; empty while commands find it by themselves.
    """

    def __init__(self, cluster: LocalCluster) -> None:
        self._environment = {
            **os.environ,
            "MQCTL_NAMESRV": cluster.ready.namesrv,
            "MQCTL_TIME_SCALE": f"{cluster.time_scale:g}",
        }
        self.option = [] if _is_found(cluster) else ["--namesrv", cluster.ready.namesrv]

    def typed(self, words: Sequence[str], *, live: bool = True) -> str:
        """Returns a command line as the reader would type it."""
        return shell_words(["mqctl", *words, *(self.option if live else [])])

    def show(self, words: Sequence[str]) -> int:
        """Runs a command that writes to our own stdout and stderr, and returns its exit code."""
        return subprocess.run(_command(words), env=self._environment, check=False).returncode

    def hear(self, words: Sequence[str]) -> Said:
        """Runs a command and returns what it said."""
        done = subprocess.run(_command(words), env=self._environment, capture_output=True, text=True, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    def behind(self, words: Sequence[str]) -> Behind:
        """Starts a command that takes longer; to be used as a context manager."""
        return Behind(_command(words), self._environment)


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "mqctl", *words]


def _is_found(cluster: LocalCluster) -> bool:
    """Tells whether commands that name no cluster ask this one: no environment, profile or other cluster is first."""
    try:
        return cluster_target(None, None, None).namesrv == cluster.ready.namesrv
    except (ConfigurationError, NotFoundError):
        return False


class Behind:
    """A command that works while others are shown."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._files = [Path(self._directory.name) / name for name in ("stdout", "stderr")]
        with new_stream(self._files[0]) as output, new_stream(self._files[1]) as errors:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
        self._began = monotonic()

    def wait(self, what: str) -> Said:
        """Waits for its end, with progress on a terminal, and returns what it said."""
        with step_progress() as progress:
            while True:
                try:
                    self._process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    spent = monotonic() - self._began
                    if progress is not None:
                        progress(
                            f"{what}, {duration(round(spent) * 1000)}",
                            round(_STEPS * (1 - exp(-spent / _USUAL_S))),
                            _STEPS,
                        )
        output, errors = (file.read_text(encoding="utf-8", errors="replace") for file in self._files)
        return Said(self._process.returncode, output, errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._directory.cleanup()


def needs_no_spark(said: Said) -> bool:
    """Tells whether a report could not run for want of Spark or Java."""
    return said.exit_code == ExitCode.CONFIG
