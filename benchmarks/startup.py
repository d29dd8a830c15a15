"""Start-up: CPU of the commands people wait for, beside the bare interpreter and beside their imports alone.

Run it from the repository's root: `python benchmarks/startup.py [--runs 15]`. The live commands ask an embedded cluster
in a process of its own, whose CPU is not counted. Each round runs every command once, in
turn, so that a machine whose speed drifts drifts for all of them; the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic  # noqa: E402
from mqctl.client.admin.cluster import Cluster  # noqa: E402
from mqctl.client.instance import ClientSettings  # noqa: E402
from mqctl.client.message.outgoing import OutgoingMessage  # noqa: E402
from mqctl.client.producer.producer import Producer  # noqa: E402
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig  # noqa: E402


@dataclass(frozen=True, slots=True)
class Contender:
    """A command line to measure.

    Attributes:
        base: name of the contender its cost is counted over.
        budget_ms: CPU milliseconds over the base that the design allows, None for a base itself.
    """

    name: str
    words: tuple[str, ...]
    base: str | None = None
    budget_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took: user and system CPU, and peak memory."""

    cpu_ms: float
    peak_mib: float


def contenders(store: Path, namesrv: str) -> list[Contender]:
    """Returns the commands, the bases first."""
    python = (sys.executable,)
    mqctl = (*python, "-m", "mqctl")
    live = ("--namesrv", namesrv)
    return [
        Contender("python -c pass", (*python, "-c", "pass")),
        Contender("import typer", (*python, "-c", "import typer")),
        Contender("import typer, numpy", (*python, "-c", "import typer, numpy")),
        Contender("mqctl --version", (*mqctl, "--version"), "python -c pass", 40),
        Contender("static Tab", (*mqctl, "__complete", "group", "lag", "--s"), "python -c pass", 40),
        Contender("mqctl --help", (*mqctl, "--help"), "import typer"),
        Contender("mqctl group lag -g G", (*mqctl, "group", "lag", "-g", "G", *live), "import typer", 100),
        Contender("mqctl group lag", (*mqctl, "group", "lag", *live), "import typer", 100),
        Contender("mqctl topic route -t T", (*mqctl, "topic", "route", "-t", "T", *live), "import typer", 100),
        Contender(
            "mqctl group lag --store", (*mqctl, "group", "lag", "--store", str(store)), "import typer, numpy", 100
        ),
        Contender("mqctl doctor --store", (*mqctl, "doctor", "--store", str(store)), "import typer, numpy"),
    ]


def measure(words: tuple[str, ...]) -> Cost:
    """Runs a command to its end with its output thrown away."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    # Byte code is written once, as for an installed package; without it every run would compile everything.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = os.posix_spawn(words[0], words, {**kept, "PYTHONPATH": str(REPOSITORY)}, file_actions=actions)
    _, _, usage = os.wait4(child, 0)
    os.close(nowhere)
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024)


@contextmanager
def live_cluster() -> Iterator[str]:
    """Gives the name server of a cluster of two brokers: topic T of four queues each, which group G is behind on."""
    words = [sys.executable, "-m", "embedded_broker", "--memory", "--brokers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        namesrv = str(json.loads(process.stdout.readline())["namesrv"])
        with Cluster(namesrv) as cluster:
            for broker in cluster.masters():
                for question in (
                    put_topic(TopicConfig(name="T", read_queue_count=4, write_queue_count=4)),
                    put_group(SubscriptionGroupConfig(name="G")),
                    *(commit_offset("G", "T", queue, 0) for queue in range(4)),
                ):
                    cluster.ask(broker.address, question)
        with Producer("P", ClientSettings(name_servers=namesrv)) as producer:
            for _ in range(64):
                producer.send(OutgoingMessage(topic="T", body=b"x"))
        yield namesrv
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place, live_cluster() as namesrv:
        with tarfile.open(REPOSITORY / "tests" / "golden" / "stores" / "store-clean.tar.gz") as archive:
            archive.extractall(place, filter="data")
        (store,) = Path(place).iterdir()
        everyone = contenders(store, namesrv)
        costs: dict[str, list[Cost]] = {contender.name: [] for contender in everyone}
        for contender in everyone:
            measure(contender.words)  # warm the page cache and the byte code
        for _ in range(runs):
            for contender in everyone:
                costs[contender.name].append(measure(contender.words))
    print(f"{'command':26}{'CPU ms':>8}{'over base':>11}{'budget':>8}{'peak MiB':>10}  base")
    medians = {name: statistics.median(cost.cpu_ms for cost in costs_seen) for name, costs_seen in costs.items()}
    for contender in everyone:
        peak = max(cost.peak_mib for cost in costs[contender.name])
        over = f"{medians[contender.name] - medians[contender.base]:+.0f}" if contender.base else ""
        budget = "" if contender.budget_ms is None else str(contender.budget_ms)
        row = f"{contender.name:26}{medians[contender.name]:8.0f}{over:>11}{budget:>8}{peak:10.0f}"
        print(f"{row}  {contender.base or ''}")


if __name__ == "__main__":
    main()
