"""What is known of a local cluster between two commands: one small JSON file each, and the process it names."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, StorageError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.numbers import decimal
from mqctl.model.remark import of_decoder
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import read_whole
from mqctl.text import encoded, sentence

DEFAULT_NAME = "default"
# Start times are counted from the machine's boot, which a corrected clock moves.
_CLOCK_STEP_MS = 5_000
_CONNECT_S = 2.0
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class LocalBroker(msgspec.Struct, frozen=True, kw_only=True):
    """One broker of a local cluster.

    Attributes:
        name: what it is called here; a slave has the broker name of its master, and an id above 0.
    """

    name: str
    address: str
    store: str
    room: str | None = None
    broker_id: int = 0

    @property
    def listens(self) -> bool:
        """Tells whether somebody accepts connections at its address: a broker of a cluster may be stopped alone."""
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host, decimal(port, high=65_535) or 0), timeout=_CONNECT_S).close()
        except OSError:
            return False
        return True


class ControlAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the control socket listens, and the token it wants."""

    address: str
    token: str


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The line that `python -m embedded_broker` prints when it is ready.

    Attributes:
        namesrv: `host:port;host:port`.
        nsaddr: URL of the address service by room.
        grpc: address of the gRPC endpoint, where there is one.
        ignored: properties asked for that have no effect here.
    """

    pid: int
    version: str
    cluster: str
    namesrv: str
    brokers: tuple[LocalBroker, ...]
    nsaddr: dict[str, str] = {}
    time_scale: float = 1.0
    control: ControlAddress | None = None
    grpc: str | None = None
    ignored: tuple[str, ...] = ()


class LocalCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that was started on this machine.

    Attributes:
        started_ms: start of the process, epoch milliseconds; with the pid it tells the process from a later one.
        log: file with what the process said.
        data_dir: where its stores are kept; None when they are thrown away at the end.
        ready: what it announced.
        scenario: name of the scenario that it runs, if it is one.
        time_scale: how many times shorter than RocketMQ's own the periods of its brokers and clients are.
        trouble: why a scenario is not what it declares; empty when it is.
    """

    name: str
    started_ms: int
    log: str
    data_dir: str | None
    ready: Ready
    scenario: str | None = None
    time_scale: float = 1.0
    trouble: str = ""

    @property
    def alive(self) -> bool:
        """Tells whether the process still runs; another one that got the same pid later is none of ours."""
        started_ms = process_started_ms(self.ready.pid)
        return started_ms is not None and abs(started_ms - self.started_ms) <= _CLOCK_STEP_MS


def process_started_ms(pid: int) -> int | None:
    """Returns when a process began, epoch milliseconds; None when there is none."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return round(process.create_time() * 1000)
    except psutil.Error:
        return None


class LocalStates:
    """The state files below one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def file(self, name: str) -> Path:
        """Returns the state file of a cluster.

        Raises:
            UsageError: the name could lead out of the directory.
        """
        if not name or not _NAME_CHARACTERS.issuperset(name):
            raise UsageError(
                sentence("not-valid-name-local", "{name!r} is not a valid name for a local cluster", name=name),
                remedy=sentence("local-use-letters-digits", "use letters, digits, - and _"),
            )
        return self.directory / f"{name}.json"

    def load(self, name: str) -> LocalCluster | None:
        """Returns a cluster that was started, or None.

        Raises:
            BadInputError: its state file is none.
            StorageError: it cannot be read.
        """
        file = self.file(name)
        try:
            return msgspec.json.decode(read_whole(file), type=LocalCluster)
        except FileNotFoundError:
            return None
        except OSError as error:
            problem = sentence(
                "local-could-not-read-state", "could not read the state of the local cluster {name}", name=name
            )
            raise StorageError(problem, reason=f"{file}: {error.strerror or error}") from error
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
            raise BadInputError(
                sentence(
                    "local-could-not-read-state",
                    "could not read the state of the local cluster {name}",
                    name=name,
                ),
                reason=f"{file}: {of_decoder(error)}",
                remedy=sentence(
                    "local-see-whether-process-still",
                    "see whether its process still runs, then remove {file}",
                    file=file,
                ),
            ) from error

    def all(self) -> Iterator[LocalCluster]:
        """Yields every cluster that was started and not brought down, by name. Raises BadInputError."""
        for file in sorted(self.directory.glob("*.json")):
            state = self.load(file.stem)
            if state is not None:
                yield state

    def save(self, state: LocalCluster) -> None:
        """Writes a state file, whole or not at all; only its owner may read it, since it may hold a control token.

        Raises:
            StorageError: the operating system refuses.
        """
        file = self.file(state.name)
        try:
            write_whole(file, msgspec.json.format(msgspec.json.encode(state, enc_hook=encoded)), mode=0o600, sweep="*")
        except OSError as error:
            raise StorageError(
                sentence(
                    "local-could-not-write-state",
                    "could not write the state of the local cluster {state} to {file}",
                    state=state.name,
                    file=file,
                ),
                reason=error.strerror or str(error),
                remedy=sentence("free-disk-set-state", "free its disk, or set MQCTL_STATE_DIR to another one"),
            ) from error

    def forget(self, name: str) -> None:
        """Removes a state file. Raises StorageError."""
        file = self.file(name)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                sentence(
                    "local-could-not-remove-state",
                    "could not remove the state of the local cluster {name}, whose process has ended",
                    name=name,
                ),
                reason=f"{file}: {error.strerror or error}",
                remedy=sentence(
                    "local-once-more-remove-file",
                    "{value} once more, or remove the file",
                    value=command_line("mqctl local down --name {}", name),
                ),
            ) from error
