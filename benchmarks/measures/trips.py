"""How far five commands run: files and functions of ours, traced in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measures.tracing import sender

_TRACING = Path(__file__).with_name("tracing.py")
_QUEUES = 8


@contextmanager
def cluster(root: Path, home: Path) -> Iterator[tuple[str, str]]:
    """Gives the addresses of name server and broker of a fresh cluster of the embedded broker of `root`."""
    words = (sys.executable, "-P", "-m", "embedded_broker", "--brokers", "1", "--until-eof")
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(root, home), cwd=home
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield ready["namesrv"], ready["brokers"][0]["address"]
    finally:
        process.communicate()  # the end of its input ends it


def environment(root: Path, home: Path) -> dict[str, str]:
    """Returns the environment of a command of `root` that keeps its files in `home`."""
    # Byte code is written once, as for an installed package.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    places = {name: str(home / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    return {**kept, **places, "HOME": str(home), "PYTHONPATH": str(root)}


def run(root: Path, home: Path, *words: str) -> None:
    """Runs Python with `words`, its output thrown away unless it fails.

    Raises:
        RuntimeError: it failed.
    """
    command = (sys.executable, "-P", *words)
    ran = subprocess.run(command, env=environment(root, home), cwd=home, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")


def recorded_store(root: Path, home: Path) -> Path:
    """Unpacks a recorded store into `home`."""
    with tarfile.open(root / "tests" / "golden" / "stores" / "store-clean.tar.gz") as archive:
        archive.extractall(home / "stores", filter="data")
    (store,) = (home / "stores").iterdir()
    return store


def prepare(root: Path, home: Path, namesrv: str, broker: str) -> None:
    """Gives a cluster the topic `orders` of eight queues with a message each, and the group `shop` that lags by all."""
    at = ("--namesrv", namesrv)
    queues = ("--write-queues", str(_QUEUES), "--read-queues", str(_QUEUES))
    run(root, home, "-m", "mqctl", "topic", "create", "-t", "orders", *queues, "--execute", *at)
    run(root, home, "-m", "mqctl", "group", "create", "-g", "shop", "--execute", *at)
    with sender(broker) as send:
        for queue_id in range(_QUEUES):
            send("orders", queue_id)
    reset = ("offset", "reset", "-g", "shop", "-t", "orders", "--to-earliest", "--execute", "--confirm", "shop")
    run(root, home, "-m", "mqctl", *reset, *at)


def trips(root: Path) -> dict[str, dict[str, int]]:
    """Returns for each trip its files, functions, calls and file hops."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)

        def trace(*words: str) -> dict[str, int]:
            result = home / "result.json"
            run(root, home, str(_TRACING), str(result), *words)
            return dict(json.loads(result.read_bytes()))

        def client(*words: str) -> dict[str, int]:
            return trace("client", "mqctl", *words)

        store = recorded_store(root, home)
        taken = {"group lag --store": client("group", "lag", "--store", str(store))}
        reset = ("offset", "reset", "-g", "shop", "-t", "orders", "--to-latest", "--execute", "--confirm", "shop")
        with cluster(root, home) as (namesrv, broker):
            at = ("--namesrv", namesrv)
            taken["group lag, live, empty cluster"] = client("group", "lag", *at)
            taken["doctor, live, empty cluster"] = client("doctor", *at)
            prepare(root, home, namesrv, broker)
            taken[f"group lag, live, {_QUEUES} queues"] = client("group", "lag", *at)
            taken[f"doctor, live, {_QUEUES} queues"] = client("doctor", *at)
            taken[f"offset reset --execute, {_QUEUES} queues"] = client(*reset, *at)
        taken["one send in the broker"] = trace("broker", str(home / "broker"))
        return taken
