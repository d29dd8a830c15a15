"""Consume threads of many groups, run by our own client's pool; a group's name tells what its listener does.

Run as `python -m tests.stacks.python_consumers PIPE`, PIPE being a named pipe that nobody writes to. Prints `ready`,
writes the same stacks as a consumer's running information would carry them, and stays until stdin ends.
"""

from __future__ import annotations

import http.client
import importlib.abc
import json
import logging
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from mqctl.client.consumer.thread_dump import thread_dump
from mqctl.client.consumer.workers import Workers

LOCK = threading.Lock()
FIRST, SECOND = threading.Lock(), threading.Lock()
BOTH = threading.Barrier(2)
LOGGER = logging.getLogger("orders")


class SlowHandler(logging.Handler):
    """Holds the handler's lock, as a full disk or a dead log server would."""

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(3_600)


class SlowFinder(importlib.abc.MetaPathFinder):
    """A module that takes for ever to import."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "shop_missing":
            time.sleep(3_600)


def http_post(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/pay", b"order")
    connection.getresponse()


def url_open(port: int) -> None:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/pay")


def socket_read(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connected:
        connected.recv(16)


def sleep() -> None:
    time.sleep(3_600)


def call_with_retry() -> None:
    while True:
        time.sleep(3_600)


def hold_lock(port: int) -> None:
    with LOCK:
        http_post(port)


def want_lock() -> None:
    with LOCK:
        LOGGER.error("never")


def cross(first: threading.Lock, second: threading.Lock) -> None:
    with first:
        BOTH.wait()
        with second:
            LOGGER.error("never")


def read_file(path: str) -> None:
    with Path(path).open("rb") as file:
        file.read()


def serialise() -> None:
    many = [{"item": str(n)} for n in range(20_000)]
    while True:
        json.dumps(many, indent=1)


def spin() -> None:
    value = 1
    while value:
        value = value * 31 % 65_521 + 1


def wait_event() -> None:
    threading.Event().wait()


def wait_future() -> None:
    Future[None]().result()


def run_process() -> None:
    subprocess.run([sys.executable, "-c", "import sys; sys.stdin.read()"], check=True, stdin=subprocess.PIPE)


def import_module() -> None:
    __import__("shop_missing")


def main(pipe: str) -> None:
    silent = socket.create_server(("127.0.0.1", 0), backlog=100)
    port = int(silent.getsockname()[1])
    crossed = iter([(FIRST, SECOND), (SECOND, FIRST)])
    sys.meta_path.insert(0, SlowFinder())
    LOGGER.addHandler(SlowHandler())
    LOGGER.propagate = False
    work: list[tuple[str, int, Callable[[], None]]] = [
        ("http", 2, lambda: http_post(port)),
        ("urllib", 1, lambda: url_open(port)),
        ("socket", 1, lambda: socket_read(port)),
        ("sleep", 1, sleep),
        ("retry", 1, call_with_retry),
        ("owner", 1, lambda: hold_lock(port)),
        ("deadlock", 2, lambda: cross(*next(crossed))),
        ("file", 1, lambda: read_file(pipe)),
        ("wait", 1, wait_event),
        ("future", 1, wait_future),
        ("logging", 2, lambda: LOGGER.error("an order")),
        ("importing", 2, import_module),
        ("serialisation", 1, serialise),
        ("cpu", 1, spin),
    ]
    idle = Workers[str]("idle", 2, lambda item: None)
    idle.start()
    pools = [idle]
    for group, count, listener in work:
        pools.append(_started(group, count, listener))
    time.sleep(0.5)
    pools.append(_started("lock", 3, want_lock))
    time.sleep(0.5)
    sys.stdout.write(thread_dump())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


def _started(group: str, count: int, listener: Callable[[], None]) -> Workers[str]:
    pool = Workers[str](group, count, lambda item: listener())
    pool.start()
    for _ in range(count):
        pool.submit("an order")
    return pool


if __name__ == "__main__":
    main(sys.argv[1])
