"""Start-up: CPU of the commands people wait for, beside the bare interpreter and beside their imports alone.

Run it from the repository's root: `python benchmarks/startup.py [--runs 15] [--against CHECKOUT]`. The live commands
ask an embedded cluster in a process of its own, whose CPU is not counted. Each round runs every command once, in turn,
so that a machine whose speed drifts drifts for all of them; medians are compared. `--against` measures another checkout
in the same rounds. `tests/architecture/test_startup.py` holds the budgets.
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

BARE, TYPER, NUMPY = "python -c pass", "import typer", "import typer, numpy"
_VERDICTS = range(4)  # exit codes of commands that answered, those that judge among them
USUAL_TYPER_MS = 60
"""CPU milliseconds of `import typer` on the quiet machine for which the budgets are agreed (docs/figures.md)."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A command line to measure.

    Attributes:
        base: name of the contender over which its cost is counted.
        budget_ms: CPU milliseconds over the base that the design allows; None for a base, and where none is agreed.
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


def bases() -> list[Contender]:
    """Returns what costs are counted over."""
    # numpy as anybody imports it, with the threads of OpenBLAS; commands do without them (`mqctl/__main__.py`), and one
    # that had them would be beyond its budget.
    codes = {BARE: "pass", TYPER: "import typer", NUMPY: "import typer, numpy"}
    return [Contender(name, (sys.executable, "-c", code)) for name, code in codes.items()]


def first_answers() -> list[Contender]:
    """Returns what is answered before a command is imported."""
    return [
        _command("--version", BARE, 40),
        _command("__complete group lag --s", BARE, 40, name="static Tab"),
        _command("--help", TYPER),
    ]


def live_commands(namesrv: str) -> list[Contender]:
    """Returns commands that ask the cluster of `live_cluster`."""
    ordinary = (
        "group lag -g G",
        "group lag",
        "group list",
        "group describe -g G",
        "topic list",
        "topic describe -t T",
        "topic route -t T",
        "broker list",
        "cluster list",
        "message peek -t T",
        "delay levels",
        "lock show -g G",
        "subscription check -g G",
    )
    judged = [_command(words, TYPER, 100, "--namesrv", namesrv) for words in ordinary]
    return [*judged, _command("doctor", TYPER, None, "--namesrv", namesrv)]


def store_commands(store: Path) -> list[Contender]:
    """Returns commands that read a store."""
    ordinary = ("group lag", "delay levels", "transaction list", "store cat -t TopicTest -q 0", "store describe")
    judged = [_command(words, NUMPY, 100, "--store", str(store)) for words in ordinary]
    return [*judged, _command("doctor", NUMPY, None, "--store", str(store))]


def _command(words: str, base: str, budget_ms: int | None = None, *more: str, name: str = "") -> Contender:
    shown = name or " ".join(("mqctl", words, *more[:1])).replace(" --namesrv", "")
    return Contender(shown, (sys.executable, "-m", "mqctl", *words.split(), *more), base, budget_ms)


def measure(words: tuple[str, ...], home: Path, checkout: Path = REPOSITORY) -> Cost:
    """Runs a command of a checkout to its end, as a user whose home is `home`, with its output thrown away."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(checkout),
        "PYTHONSAFEPATH": "1",  # the directory we are in may be another checkout
        "LC_ALL": "C.UTF-8",
        # Byte code is written once, as for an installed package; without it every run would compile everything.
    }
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    child = os.posix_spawn(words[0], words, environment, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    os.close(nowhere)
    code = os.waitstatus_to_exitcode(status)
    if code not in _VERDICTS:
        raise RuntimeError(f"{' '.join(words)} ended with {code}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024)


@contextmanager
def live_cluster() -> Iterator[str]:
    """Gives the name server of a cluster of two brokers: topic T of four queues each, which group G is behind on."""
    words = [sys.executable, "-m", "embedded_broker", "--memory", "--brokers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            namesrv = str(json.loads(process.stdout.readline())["namesrv"])
            _fill(namesrv)
            yield namesrv
        finally:
            process.terminate()


def _fill(namesrv: str) -> None:
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


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure another checkout in the same rounds")
    arguments = parser.parse_args()
    checkouts = [REPOSITORY, *([arguments.against.resolve()] if arguments.against else [])]
    with tempfile.TemporaryDirectory() as place, live_cluster() as namesrv:
        with tarfile.open(REPOSITORY / "tests" / "golden" / "stores" / "store-clean.tar.gz") as archive:
            archive.extractall(place, filter="data")
        (store,) = Path(place).iterdir()
        everyone = [*bases(), *first_answers(), *live_commands(namesrv), *store_commands(store)]
        turns = [(item, checkout) for item in everyone for checkout in (checkouts if item.base else checkouts[:1])]
        for item, checkout in turns:
            measure(item.words, Path(place), checkout)  # warm the page cache and the byte code
        costs: dict[tuple[str, Path], list[Cost]] = {(item.name, checkout): [] for item, checkout in turns}
        for _ in range(arguments.runs):
            for item, checkout in turns:
                costs[item.name, checkout].append(measure(item.words, Path(place), checkout))
    medians = {key: statistics.median(cost.cpu_ms for cost in seen) for key, seen in costs.items()}
    before = f"{'before':>8}{'over base':>11}{'ratio':>7}" if arguments.against else ""
    print(f"{'command':34}{before}{'CPU ms':>8}{'over base':>11}{'budget':>8}{'peak MiB':>10}  base")
    for item in everyone:
        now = medians[item.name, REPOSITORY]
        base = medians[item.base, REPOSITORY] if item.base else now
        row = f"{item.name:34}"
        for checkout in checkouts[1:]:
            old = medians.get((item.name, checkout))
            row += f"{old:8.0f}{old - base:+11.0f}{now / old:7.2f}" if old else " " * 26
        over = f"{now - base:+.0f}" if item.base else ""
        peak = max(cost.peak_mib for cost in costs[item.name, REPOSITORY])
        print(f"{row}{now:8.0f}{over:>11}{item.budget_ms or '':>8}{peak:10.0f}  {item.base or ''}")


if __name__ == "__main__":
    main()
