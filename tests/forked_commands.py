"""Runs of mqctl that begin with its rooms imported: a server that forks a process for each command line.

Most of what such tests cost was Python starting, importing the same modules anew and taking itself apart at the end.
The server imports the commands and all that they stand on; as no modules import each other in a circle, it makes no
difference who imports them first. It also builds the commands and compiles how data classes are initialised, which each
process does once. What start-up imports and costs is held elsewhere, on whole processes. A run has a process,
arguments, an environment, output and an end of its own. MQCTL_TEST_FRESH=1 runs each in a fresh interpreter.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from pathlib import Path

from tests import network_notes, rooms_entered
from tests.store import failing_disk

_ROOMS = ("model", "protocol", "store", "client", "rules", "lag", "allocation", "filter", "stacks")
_UPPER_ROOMS = (
    "snapshot",
    "capture",
    "render",
    "playbook",
    "local",
    "cli",
    "changes",
    "bench",
    "spark",
    "commands",
)
_LIBRARIES = ("filelock", "numpy.ma", "typer._click.decorators")  # which commands, or libraries, import when used
_LIMIT_S = 600.0


class ForkedCommands:
    """The server and what asks it; usable from several threads at once.

    Args:
        home: the working directory of every run.
        environment: what the server is started with; a run's agrees in what an interpreter reads at its start.
    """

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._server, theirs = socket.socketpair()
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_commands", str(theirs.fileno())],
            cwd=home,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            # Pipes, as each run will have: forks keep what an interpreter learns of its streams when it starts.
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()

    def run(self, words: list[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
        """Runs one command line to its end; returns exit code, standard output and standard error."""
        (out, their_out), (err, their_err) = os.pipe(), os.pipe()
        ended, theirs = socket.socketpair()
        request = json.dumps([words, dict(environment)]).encode()
        with ended:
            with theirs, self._turn:
                pipes = [theirs.fileno(), their_out, their_err]
                socket.send_fds(self._server, [len(request).to_bytes(4, "big")], pipes)
                self._server.sendall(request)
            os.close(their_out)
            os.close(their_err)
            texts = _read_all((out, err))
            ended.settimeout(_LIMIT_S)
            code = int(ended.recv(16))
        return code, _text(texts[0]), _text(texts[1])

    def close(self) -> None:
        """Ends the server, and with it what still runs."""
        self._server.close()
        _, errors = self._process.communicate()
        assert self._process.returncode == 0, errors.decode()


def possible() -> bool:
    """Whether there are file descriptors of processes, with which the server waits; sandboxes may forbid them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return not os.environ.get("MQCTL_TEST_FRESH")


def _read_all(pipes: tuple[int, int]) -> list[bytes]:
    texts = {pipe: bytearray() for pipe in pipes}
    end = time.monotonic() + _LIMIT_S
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(end - time.monotonic())
            assert ready, f"mqctl did not end within {_LIMIT_S} s"
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                texts[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(texts[pipe]) for pipe in pipes]


def _text(data: bytes) -> str:
    """Lines end as `subprocess` has them end in its text mode."""
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")


# The server


@dataclass(frozen=True, slots=True)
class Asked:
    """One command line, and where its output and its exit code go."""

    words: list[str]
    environment: dict[str, str]
    ended: socket.socket
    out: int
    err: int


def serve(owner: socket.socket) -> list[str] | None:
    """Forks for every command line that is asked for.

    Returns:
        in a forked process the words that it has to run; None in the server, once its owner has gone.
    """
    running: dict[int, tuple[int, Asked]] = {}
    with owner, selectors.DefaultSelector() as selector:
        selector.register(owner, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not owner:
                    selector.unregister(key.fd)
                    _tell(key.fd, *running.pop(key.fd))
                    continue
                request = _read(owner)
                if request is None:
                    for pid, _ in running.values():
                        os.kill(pid, signal.SIGKILL)
                    return None
                pid = os.fork()
                if pid == 0:
                    for other, (_, its) in running.items():
                        os.close(other)
                        its.ended.close()
                    _become(request)
                    return request.words
                os.close(request.out)
                os.close(request.err)
                watched = os.pidfd_open(pid)
                running[watched] = (pid, request)
                selector.register(watched, selectors.EVENT_READ)


def _read(owner: socket.socket) -> Asked | None:
    size, passed, _, _ = socket.recv_fds(owner, 4, 3)
    if not size:
        return None
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += owner.recv(int.from_bytes(size, "big") - len(data))
    words, environment = json.loads(data)
    ended, out, err = passed
    return Asked(words, environment, socket.socket(fileno=ended), out, err)


def _tell(watched: int, pid: int, asked: Asked) -> None:
    os.close(watched)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError), asked.ended:  # whoever asked may not wait any more
        asked.ended.sendall(str(code).encode())


def _become(asked: Asked) -> None:
    asked.ended.close()
    for number, pipe in ((1, asked.out), (2, asked.err)):
        os.dup2(pipe, number)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(asked.environment)
    time.tzset()
    network_notes.install()
    rooms_entered.install()
    failing_disk.install_named()


def main() -> None:
    """Serves; and in each forked process, runs mqctl."""
    importlib.import_module("typer")
    for room in (*_ROOMS, *_UPPER_ROOMS):
        package = importlib.import_module(f"mqctl.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with suppress(ModuleNotFoundError):  # what an extra brings that is not installed
                importlib.import_module(module.name)
    for body in importlib.import_module("mqctl.protocol.bodies").BODIES.values():
        body._codec()  # made when it is first used, from annotations: a third of what a small command costs
    for name in _LIBRARIES:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    for path in importlib.import_module("mqctl.cli.catalog").BY_PATH:
        importlib.import_module("mqctl.main").load_command(path)
    _compile_data_classes()
    _load_compiler()
    gc.collect()
    gc.freeze()
    _into_large_pages()
    words = serve(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        sys.argv = ["mqctl", *words]
        try:
            runpy.run_module("mqctl", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            _leave(end.code)


def _compile_data_classes() -> None:
    """Has each class of `mqctl.model.lazy_dataclass` compile its `__init__` now: two fifths of what `doctor` costs."""
    for name, module in [*sys.modules.items()]:
        for kind in [*vars(module).values()] if name.startswith("mqctl.") else ():
            if isinstance(kind, type) and kind.__module__ == name and is_dataclass(kind):
                with suppress(TypeError, AttributeError):  # there is nothing to initialise
                    kind.__init__(object())


def _one() -> int:
    return 1


def _load_compiler() -> None:
    """Has numba, where it is installed, read its own tables of types, which each process would do anew."""
    with suppress(ImportError):
        importlib.import_module("numba.typed")
        importlib.import_module("numba").njit(_one)()


def _into_large_pages() -> None:
    """Puts the memory of the server into large pages where the system has them: each fork copies the table of pages,
    and each end of a process takes it apart, which with small ones is a third of what the system does for a command."""
    collapse, size = 25, 1 << 21  # MADV_COLLAPSE of Linux 6.1; elsewhere it is refused, and nothing changes
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        span, rights, _, _, inode = line.split()[:5]
        if rights == "rw-p" and inode == "0" and not line.endswith("[stack]"):
            start, end = (int(edge, 16) for edge in span.split("-"))
            start, end = -(-start // size) * size, end // size * size
            if start < end:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), collapse)


def _leave(code: object) -> None:
    """Ends the process as an interpreter does, short of taking every module apart: that would copy all the server's
    memory first."""
    if not isinstance(code, int):
        return  # the interpreter knows what to say
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, and ends pools
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
