"""A process of one tree that has imported its mqctl and forks for each command line. Run by its path, with the tree on
PYTHONPATH: it is the same for all commits, and knows of a tree only that `python -m mqctl` runs it.

Usage: server.py TREE LINES SOCKET...; LINES are command lines as JSON, run once in the process itself: what they build
and compile no fork does again. Each socket is a lane, which runs one command line after the other.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import random
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LIMIT_S = 120


def _import_all(tree: Path) -> None:
    """Imports every module of the tree's mqctl but those that need what is not installed."""
    if time.time_ns() != int(os.environ["SAMENESS_NOW_MS"]) * 1_000_000:
        raise SystemExit("the clock of this Python cannot be set; what sitecustomize says is above")
    package = importlib.import_module("mqctl")
    if not Path(package.__path__[0]).is_relative_to(tree):
        raise SystemExit(f"mqctl was found at {package.__path__[0]}, not in {tree}")
    importlib.import_module("typer.main")
    for module in pkgutil.walk_packages(package.__path__, "mqctl.", onerror=lambda _: None):
        if module.name != "mqctl.__main__":
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                sys.stderr.write(f"not imported beforehand: {module.name}: {error}\n")
    with suppress(ImportError):  # what compiles has tables of its own, that it reads when it first compiles
        importlib.import_module("numba.typed")
        importlib.import_module("numba").njit(_one)()


def _one() -> int:
    return 1


def _warm_up(lines: list[list[str]]) -> None:
    """Runs command lines and drops what they say: what they do not manage is done by the forks.

    No language is asked for: mqctl keeps one that it was asked for until its process ends.
    """
    kept, nothing = [os.dup(number) for number in (1, 2)], os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nothing, number)
    ends = os._exit, atexit._run_exitfuncs
    os._exit, atexit._run_exitfuncs = _end, lambda: None  # what ends a command does not end this process
    for words in lines:
        sys.argv = ["mqctl", *words]
        with suppress(BaseException):
            runpy.run_module("mqctl", run_name="__main__", alter_sys=True)
    sys.stdout.flush()
    sys.stderr.flush()
    for number, file in zip((1, 2), kept, strict=True):
        os.dup2(file, number)
    os._exit, atexit._run_exitfuncs = ends
    if threading.active_count() > 1:
        raise SystemExit(f"a line of warm_up leaves a thread, which forks would lack: {threading.enumerate()}")


def _end(status: int) -> NoReturn:
    raise SystemExit(status)


def _serve(lane: socket.socket) -> None:
    """Runs what the lane asks for until its other end is closed."""
    lines = lane.makefile("rb")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        for line in lines:
            for file in (out, err):
                file.seek(0)
                file.truncate()
            code, cpu_ms = _run(json.loads(line), out.fileno(), err.fileno())
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "backslashreplace"))
            lane.sendall(json.dumps([code, *texts, cpu_ms]).encode() + b"\n")


def _run(asked: dict[str, Any], out: int, err: int) -> tuple[int, int]:
    """Returns the exit code, and the processor time that it took in milliseconds."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            signal.alarm(LIMIT_S)
            _become(asked, out, err)
            _main(asked["words"])
        finally:
            os._exit(99)
    _, status, used = os.wait4(pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what it left running
    return os.waitstatus_to_exitcode(status), round((used.ru_utime + used.ru_stime) * 1000)


def _become(asked: dict[str, Any], out: int, err: int) -> None:
    """Makes this process one that was started for the command line."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, number in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    os.chdir(asked["directory"])
    random.seed(asked["environment"]["SAMENESS_SEED"])


def _main(words: list[str]) -> None:
    """Runs mqctl and ends as an interpreter ends, short of taking its modules apart."""
    sys.argv = ["mqctl", *words]
    code: object = 0
    try:
        runpy.run_module("mqctl", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as an interpreter does with what nothing catches
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code if isinstance(code, int) else 0) & 0xFF)


def main(tree: Path, lines: list[list[str]], lanes: list[socket.socket]) -> None:
    """Serves each lane from a fork of its own."""
    with warnings.catch_warnings(action="ignore"):
        _import_all(tree)
    _warm_up(lines)
    gc.collect()
    gc.freeze()
    children = []
    for lane in lanes:
        pid = os.fork()
        if pid == 0:
            for other in lanes:
                if other is not lane:
                    other.close()
            _serve(lane)
            os._exit(0)
        children.append(pid)
    for lane in lanes:
        lane.close()
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), [socket.socket(fileno=int(number)) for number in sys.argv[3:]])
