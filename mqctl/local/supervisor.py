"""Starting and stopping local clusters. It knows the embedded broker as a process and by its ready line only."""

from __future__ import annotations

import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import msgspec

from mqctl.errors import DeadlineError, ExitCode, MqctlError, NotFoundError, RefusedError, StorageError, UsageError
from mqctl.local.state import LocalCluster, LocalStates, Ready, process_started_ms
from mqctl.model.command_line import command_line
from mqctl.model.names_alike import meant
from mqctl.store.exclusive_lock import Told, exclusive_lock
from mqctl.store.own_files import make_directory, new_stream
from mqctl.text import joined, sentence

READY_SECONDS = 30
STOP_SECONDS = 20
_LOCK_SECONDS = 40
_TAIL_LINES = 5
# 2 is what argparse ends a process with.
_USAGE_CODES = frozenset({2, int(ExitCode.USAGE)})


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """How name servers and brokers are to secure connections.

    Attributes:
        mode: `disabled`, `permissive` or `enforcing`.
        client_auth: `none`, `optional` or `require`.
        trust: authorities that sign the certificates of clients.
    """

    mode: str
    cert: Path
    key: Path
    client_auth: str = "none"
    trust: Path | None = None

    def words(self) -> list[str]:
        """Returns its part of the command line."""
        words = ["--tls-mode", self.mode, "--tls-cert", str(self.cert), "--tls-key", str(self.key)]
        words += ["--tls-client-auth", self.client_auth]
        return [*words, "--tls-trust", str(self.trust)] if self.trust is not None else words


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalClusterOptions:
    """What a local cluster is to be.

    Attributes:
        brokers: a number, or names separated by commas; None for one broker (one a room).
        slaves: how many slaves each broker has.
        rooms: machine rooms; broker names begin with one of them.
        memory: throw the stores away at the end.
        data_dir: where to keep them otherwise.
        as_real: brokers answer before messages can be read, and out of order, as real ones do.
        settings: properties of every broker, `name=value`.
        acl_file: access list of all brokers; switches access control on.
        tls: how connections are secured; None leaves them plain.
        grpc: serve gRPC clients, too; `grpc_port` says where, and switches it on as well.
    """

    brokers: str | None = None
    slaves: int = 0
    rooms: str | None = None
    memory: bool = False
    data_dir: Path
    as_version: str | None = None
    time_scale: float | None = None
    namesrv_port: int | None = None
    broker_port: int | None = None
    as_real: bool = False
    settings: Sequence[str] = ()
    control: bool = False
    acl_file: Path | None = None
    tls: TlsOptions | None = None
    grpc: bool = False
    grpc_port: int | None = None

    def words(self) -> list[str]:
        """Returns the command line of the process."""
        valued = {
            "--brokers": self.brokers,
            "--slaves": self.slaves or None,
            "--rooms": self.rooms,
            "--as-version": self.as_version,
            "--time-scale": self.time_scale,
            "--namesrv-port": self.namesrv_port,
            "--broker-port": self.broker_port,
            "--grpc-port": self.grpc_port,
            "--acl": self.acl_file,
        }
        words = [word for name, value in valued.items() if value is not None for word in (name, str(value))]
        words += ["--as-real"] if self.as_real else []
        words += ["--grpc"] if self.grpc else []
        words += ["--memory"] if self.memory else ["--data-dir", str(self.data_dir)]
        words += [word for item in self.settings for word in ("--set", item)]
        words += self.tls.words() if self.tls is not None else []
        return [*words, "--control"] if self.control else words


class Supervisor:
    """Local clusters whose state files lie in one directory.

    Args:
        wait_s: how long to wait for another command that works on the same cluster.
        told: is told for whom it waits, and that the last one was killed at its work.
    """

    def __init__(self, directory: Path, *, wait_s: float = _LOCK_SECONDS, say: Told = lambda _: None) -> None:
        self.states = LocalStates(directory)
        self._wait_s = wait_s
        self._told = say
        self._directory = directory

    def up(self, name: str, options: LocalClusterOptions) -> LocalCluster:
        """Starts a cluster and waits until it is ready.

        Raises:
            UsageError: the process did not accept the wish.
            RefusedError: one of this name runs already, or another command is at it.
            StorageError: the process could not be started, or ended at once; the reason is what it said.
            DeadlineError: it was not ready in time; it has been stopped.
        """
        with self.locked(name):
            self.refuse_second(name)
            log = self._directory / f"{name}.log"
            process = self._start(name, options, log)
            try:
                ready = self._ready(name, process, log)
                started_ms = process_started_ms(process.pid) or 0
                data_dir = None if options.memory else str(options.data_dir)
                state = LocalCluster(name=name, started_ms=started_ms, log=str(log), data_dir=data_dir, ready=ready)
                self.states.save(state)
                _release(name, process, log)
            except BaseException:
                _end(process.pid)
                process.wait()
                raise
            return state

    def _start(self, name: str, options: LocalClusterOptions, log: Path) -> subprocess.Popen[bytes]:
        # Until it is written down where `local down` finds it, it ends with this process, however that ends.
        command = [sys.executable, "-m", "embedded_broker", "--until-released", *options.words()]
        try:
            make_directory(self._directory)
            with new_stream(log, instead=True) as errors:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
        except OSError as error:
            raise StorageError(
                sentence("could-not-start-local", "could not start the local cluster {name}", name=name),
                reason=f"{error.filename or self._directory}: {error.strerror or error}",
                remedy=sentence("free-disk-set-state", "free its disk, or set MQCTL_STATE_DIR to another one"),
            ) from error

    def _ready(self, name: str, process: subprocess.Popen[bytes], log: Path) -> Ready:
        assert process.stdout is not None
        line = b""
        end = monotonic() + READY_SECONDS
        with process.stdout as stream:
            while not line.endswith(b"\n"):
                readable, _, _ = select.select([stream], [], [], max(0.0, end - monotonic()))
                if not readable:
                    raise DeadlineError(
                        sentence(
                            "local-cluster-not-ready",
                            "the local cluster {name} was not ready within {limit_ms}",
                            name=name,
                            limit_ms=READY_SECONDS * 1000,
                        ),
                        remedy=sentence("local-see", "see {log}", log=log),
                    )
                part = stream.readline()
                if not part:
                    raise _not_started(name, process, log)
                line += part
        return msgspec.json.decode(line, type=Ready)

    def down(self, name: str, *, purge: bool = False) -> LocalCluster:
        """Stops a cluster as on a signal, so that its stores are flushed; one that does not end in time is killed.

        Args:
            purge: delete its stores as well.

        Raises:
            NotFoundError: no cluster of this name was started.
            StorageError: it is down, and its stores could not be deleted.
        """
        with self.locked(name):
            state = self.states.load(name)
            if state is None:
                raise NotFoundError(
                    sentence("no-local-cluster", "there is no local cluster {name}", name=name),
                    remedy=joined("; ", map(command_line, ("mqctl local up", "mqctl local status"))),
                )
            if state.alive:
                _end(state.ready.pid)
            self.states.forget(name)
            if purge and state.data_dir is not None:
                _delete(name, Path(state.data_dir))
            return state

    def stop_broker(self, name: str, broker: str, *, kill: bool = False) -> LocalCluster:
        """Stops one broker of a running cluster, as a signal does or as kill -9 does; one that is down stays so.

        Raises:
            NotFoundError: there is no such cluster or broker.
            RefusedError: the cluster does not run, or does not listen to commands.
            UnreachableError: its process does not answer.
        """
        return self._have_broker(name, broker, "kill_broker" if kill else "stop_broker", wanted=False)

    def start_broker(self, name: str, broker: str) -> LocalCluster:
        """Starts one broker of a running cluster again. Raises as `stop_broker` does."""
        return self._have_broker(name, broker, "start_broker", wanted=True)

    def _have_broker(self, name: str, broker: str, verb: str, *, wanted: bool) -> LocalCluster:
        from mqctl.local.breaking import control  # it knows scenarios, which other commands need not load

        with self.locked(name):
            state = self.states.load(name)
            if state is None:
                raise NotFoundError(
                    sentence("no-local-cluster", "there is no local cluster {name}", name=name),
                    remedy=joined("; ", map(command_line, ("mqctl local up", "mqctl local status"))),
                )
            one = next((item for item in state.ready.brokers if item.name == broker), None)
            if one is None:
                names = [item.name for item in state.ready.brokers]
                raise NotFoundError(
                    sentence(
                        "local-cluster-no-broker",
                        "the local cluster {name} has no broker {broker}",
                        name=name,
                        broker=broker,
                    ),
                    reason=sentence("common-known", "known: {known}", known=names),
                    remedy=meant(broker, names, "mqctl local status"),
                )
            if not state.alive or state.ready.control is None:
                down = command_line("mqctl local down --name {}", name)
                up = command_line("mqctl local up --name {}", name)
                raise RefusedError(
                    sentence("local-cluster-takes-no", "the local cluster {name} takes no commands", name=name),
                    reason=sentence("local-started-no-control", "it was started with --no-control")
                    if state.alive
                    else sentence("local-process-ended", "its process has ended"),
                    remedy=joined("; ", (down, up)),
                )
            if one.listens != wanted:
                control(state.ready.control, verb, name=broker)
            return state

    def refuse_second(self, name: str) -> None:
        """Raises RefusedError when a cluster of this name runs."""
        known = self.states.load(name)
        if known is not None and known.alive:
            down = command_line("mqctl local down --name {}", name)
            raise RefusedError(
                sentence("local-cluster-runs-already", "the local cluster {name} runs already", name=name),
                reason=sentence(
                    "local-pid-name-server",
                    "pid {pid}, name server {namesrv}",
                    pid=known.ready.pid,
                    namesrv=known.ready.namesrv,
                ),
                remedy=sentence(
                    "local-status-choose-another",
                    "mqctl local status; {down}; or choose another --name",
                    down=down,
                ),
            )

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Keeps other commands away from a cluster.

        Raises:
            UsageError: the name is none.
            RefusedError: another command is at it for too long.
            StorageError: the lock cannot be made.
        """
        self.states.file(name)
        lock = exclusive_lock(
            self._directory / f"{name}.lock",
            f"work on the local cluster {name}",
            wait_s=self._wait_s,
            remedy=sentence("local-wait-then-status", "wait for it, then look at mqctl local status"),
            say=self._told,
        )
        with ExitStack() as stack:
            try:
                stack.enter_context(lock)
            except OSError as error:
                raise StorageError(
                    sentence(
                        "local-could-not-keep-state",
                        "could not keep the state of local clusters in {directory}",
                        directory=self._directory,
                    ),
                    reason=error.strerror or str(error),
                    remedy=sentence(
                        "local-set-state-dir-writable",
                        "set MQCTL_STATE_DIR to a writable directory, or free its disk",
                    ),
                ) from error
            yield


def _release(name: str, process: subprocess.Popen[bytes], log: Path) -> None:
    assert process.stdin is not None
    try:
        with process.stdin as stream:
            stream.write(b"released\n")
    except BrokenPipeError:
        raise _not_started(name, process, log) from None


def _not_started(name: str, process: subprocess.Popen[bytes], log: Path) -> MqctlError:
    code = process.wait()
    kind = UsageError if code in _USAGE_CODES else StorageError
    return kind(
        sentence("local-cluster-did-not", "the local cluster {name} did not start", name=name),
        reason=_tail(log) or sentence("local-process-ended-with", "its process ended with {code}", code=code),
        remedy=sentence("local-see", "see {log}", log=log),
    )


def _delete(name: str, directory: Path) -> None:
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(
            sentence(
                "local-cluster-down-but",
                "local cluster {name} is down, but its stores in {directory} could not be deleted",
                name=name,
                directory=directory,
            ),
            reason=f"{error.filename}: {error.strerror or error}",
            remedy=sentence("local-delete-hand", "delete {directory} by hand", directory=directory),
        ) from error


def _end(pid: int) -> None:
    """Ends a process that is ours: asks first, kills when it does not listen."""
    import psutil

    try:
        process = psutil.Process(pid)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
    except psutil.NoSuchProcess:
        return


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "; ".join(line.strip() for line in lines[-_TAIL_LINES:])
