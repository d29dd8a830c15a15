"""A scenario as a local cluster: found by other commands while it runs, gone without a trace afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGTERM, signal
from time import monotonic, sleep

import msgspec

from mqctl.errors import DeadlineError, StorageError
from mqctl.local.faults import When
from mqctl.local.processes import held_back
from mqctl.local.scenario import Scenario
from mqctl.local.stage import Stage, Tell
from mqctl.local.state import LocalCluster, process_started_ms
from mqctl.local.supervisor import Supervisor
from mqctl.store.own_files import make_directory, new_stream
from mqctl.text import sentence

DETACH_SECONDS = 180
_POLL_S = 0.1


class Keeper:
    """Keeps a scenario up from within this process. `start`, then `stop` whatever happened.

    Args:
        directory: where the state files of local clusters lie.
        name: name of the local cluster.

    Attributes:
        stage: the scenario that runs.
    """

    def __init__(self, directory: Path, name: str, scenario: Scenario, tell: Tell) -> None:
        self.supervisor = Supervisor(directory)
        self.supervisor.states.file(name)  # refuses a name that is none before it becomes a directory
        self.name = name
        self.stage = Stage(scenario, directory / f"{name}.scenario", tell)
        self._ours = False

    def start(self, until: When = "last") -> LocalCluster:
        """Starts the scenario, waits until it is what it declares, and lets other commands know.

        Args:
            until: the last of its parts to be played.

        Raises:
            RefusedError: a cluster of this name runs.
            MqctlError: something could not be started.
        """
        with self.supervisor.locked(self.name):
            self.supervisor.refuse_second(self.name)
            self._ours = True
            self.stage.clear()
            self.stage.start(until)
            return self._settled()

    def advance(self, when: When) -> LocalCluster:
        """Plays the next part, and waits until the scenario is what it declares then. Raises MqctlError."""
        with self.supervisor.locked(self.name):
            self.stage.advance(when)
            return self._settled()

    def _settled(self) -> LocalCluster:
        try:
            self.stage.settle()
            trouble = ""
        except DeadlineError as error:
            trouble = str(error)
        state = self._state(trouble)
        self.supervisor.states.save(state)
        return state

    def _state(self, trouble: str) -> LocalCluster:
        first = self.stage.clusters[0]
        brokers = tuple(broker for ready in self.stage.clusters for broker in ready.brokers)
        return LocalCluster(
            name=self.name,
            started_ms=process_started_ms(os.getpid()) or 0,
            log=str(self.stage.directory / "brokers-0.log"),
            data_dir=None,
            ready=msgspec.structs.replace(first, pid=os.getpid(), brokers=brokers),
            scenario=self.stage.scenario.name,
            time_scale=self.stage.scenario.time_scale,
            trouble=trouble,
        )

    def stop(self) -> None:
        """Ends every process and removes every file of it; harmless when it was never started."""
        if self._ours:
            self.stage.stop()
            self.supervisor.states.forget(self.name)
            self._ours = False


def detach_keeper(directory: Path, name: str, words: Sequence[str]) -> LocalCluster:
    """Starts a process that keeps a scenario up, and waits until other commands can find it.

    Args:
        words: command line of that process, after `mqctl`.

    Raises:
        RefusedError: a cluster of this name runs.
        StorageError: it ended instead; the reason is what it said.
        DeadlineError: it was not ready in time; it has been stopped.
    """
    supervisor = Supervisor(directory)
    supervisor.states.file(name)
    supervisor.refuse_second(name)
    make_directory(directory)
    log = directory / f"{name}.log"
    process: subprocess.Popen[bytes] | None = None
    try:
        # An interruption while it starts would leave a process that nobody knows.
        with new_stream(log, instead=True) as output, held_back():
            process = subprocess.Popen(
                [sys.executable, "-m", "mqctl", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )
        return _await(supervisor, name, process, log)
    except BaseException:
        if process is not None:
            process.terminate()
            process.wait()
        raise


def _await(supervisor: Supervisor, name: str, process: subprocess.Popen[bytes], log: Path) -> LocalCluster:
    end = monotonic() + DETACH_SECONDS
    while monotonic() < end:
        state = supervisor.states.load(name)
        if state is not None and state.ready.pid == process.pid:
            return state
        if process.poll() is not None:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise StorageError(
                sentence("local-scenario-did-not-start", "the scenario {name} did not start", name=name),
                reason="; ".join(lines[-3:]),
                remedy=sentence("local-see", "see {log}", log=log),
            )
        sleep(_POLL_S)
    raise DeadlineError(
        sentence(
            "local-scenario-not-ready-within",
            "the scenario {name} was not ready within {limit_ms}",
            name=name,
            limit_ms=DETACH_SECONDS * 1000,
        ),
        remedy=sentence("local-see", "see {log}", log=log),
    )


@contextmanager
def kept_scenario(keeper: Keeper, until: When = "last") -> Iterator[LocalCluster]:
    """Starts a scenario and takes it away at the end, whatever happens; Ctrl-C is such an end."""
    try:
        yield keeper.start(until)
    finally:
        with _undisturbed():
            keeper.stop()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave processes behind."""
    before = {number: signal(number, SIG_IGN) for number in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal(number, handler)
