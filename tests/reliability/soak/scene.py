"""One cluster of a soak: a broker process of one release, everybody who uses it, and what is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import urlopen

import psutil

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.instance import ClientSettings
from mqctl.model.names import HALF_TOPIC, TRANSACTION_GROUP, dlq_topic
from tests.conftest import REPOSITORY
from tests.embedded_broker.test_process import ControlPeer, process
from tests.reliability.soak import mix
from tests.reliability.soak.administration import Administration, Rudeness, create_topics
from tests.reliability.soak.consuming import Consumers
from tests.reliability.soak.ledger import Ledger
from tests.reliability.soak.pace import Pacer
from tests.reliability.soak.sending import Senders

PLANTS = ("connections", "memory", "threads", "disk", "latency")
_DRAIN_S = 45
_SLOWER_MS = 30
_PER_CHANGE = 32 * mix.QUEUES * 3
"""Repeats that one change of a group's members may cost: a pull of each queue, three members."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How large things are.

    Attributes:
        rate: messages or batches a second, for each release.
        log_bytes: size of a commit log file.
        kept_files: commit log files that retention leaves.
        turn_s: seconds between the rarer events: members that come or go, administration.
        plant: leaks to be planted, out of PLANTS.
    """

    rate: float
    log_bytes: int
    kept_files: int
    turn_s: float
    plant: frozenset[str] = frozenset()

    def settings(self) -> list[str]:
        """Returns the broker's properties as words of its command line."""
        items = (
            f"mappedFileSizeCommitLog={self.log_bytes}", "mappedFileSizeConsumeQueue=6000", "maxHashSlotNum=2000",
            "maxIndexNum=4000", "messageDelayLevel=1s 1s 1s 1s 1s 1s", "enablePropertyFilter=true",
            # Ends are on disk before the next round of checks: otherwise a producer is asked, and commits, twice.
            "transactionCheckInterval=2000", "transactionTimeOut=500", "transactionOpBatchInterval=100",
            "mappedFileSizeTimerLog=5216", "autoDeleteUnusedStats=true",
        )  # fmt: skip
        return [word for item in items for word in ("--set", item)]


class Scene:
    """A release under load.

    Attributes:
        name: the release.
        processes: those watched, by subject.
    """

    def __init__(self, release: str, ready: Mapping[str, Any], broker: psutil.Process, shape: Shape) -> None:
        self.name = release
        self.ledger = Ledger()
        self._shape = shape
        self._namesrv = str(ready["namesrv"])
        self._address, self._broker_name = str(ready["brokers"][0]["address"]), str(ready["brokers"][0]["name"])
        self._store = Path(ready["brokers"][0]["store"])
        self._control = ControlPeer(dict(ready))
        self._exporter, self._scrape = self._export()
        self.processes = {f"broker {release}": broker, f"exporter {release}": psutil.Process(self._exporter.pid)}
        self._cluster = Cluster(self._namesrv)
        create_topics(self._cluster, self._address)
        client = ClientSettings(
            name_servers=self._namesrv, client_ip="127.0.0.1", persist_period_ms=1_000, route_period_ms=5_000,
            heartbeat_period_ms=3_000,
        )  # fmt: skip
        is_v5 = release.startswith("5")
        self.senders = Senders(client, self._address, self.ledger, is_v5=is_v5)
        self.consumers = Consumers(client, self._address, self.ledger)
        self.rudeness = Rudeness(self._address)
        self.administration = Administration(self._cluster, self._namesrv, self._address, self.consumers, is_v5=is_v5)
        self._sending, self._others = Pacer(self.ledger), Pacer(self.ledger)
        self._seen = (monotonic(), 0)
        self._slow_ms = 0

    def _export(self) -> tuple[subprocess.Popen[str], str]:
        """Starts `mqctl export prometheus` and returns where it serves."""
        words = [sys.executable, "-m", "mqctl", "export", "prometheus", "--listen", "127.0.0.1:0", "--every", "1s"]
        env = {**os.environ, "HOME": str(self._store), "MQCTL_NAMESRV": self._namesrv}
        running = subprocess.Popen(words, cwd=REPOSITORY, env=env, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        line = running.stderr.readline()
        return running, line.split(" at ", 1)[1].split(";")[0]

    # Life

    def start(self) -> None:
        """Starts the load."""
        self.consumers.start()
        self.senders.start()
        turn_s, plant = self._shape.turn_s, self._shape.plant
        self._sending.every(1 / self._shape.rate, f"{self.name} send", self.senders.turn)
        self._sending.every(turn_s, f"{self.name} visit", self.senders.visit)
        every = self._others.every
        every(0.001, f"{self.name} lite pull", self.consumers.poll)
        every(0.001, f"{self.name} pull by hand", self.consumers.pull_by_hand)
        every(turn_s / 2, f"{self.name} pull in vain", self.consumers.pull_in_vain)
        every(turn_s * 2, f"{self.name} change members", self.consumers.change)
        every(turn_s, f"{self.name} administration", self.administration.round)
        every(turn_s * 3, f"{self.name} reset", self.administration.reset)
        every(turn_s / 2, f"{self.name} vanish", self.rudeness.vanish)
        if "connections" in plant:
            every(0.2, f"{self.name} keep", self.rudeness.keep)

    def finish(self) -> None:
        """Ends sending, waits until all is delivered, and ends the rest."""
        self._sending.stop()
        deadline = monotonic() + _DRAIN_S
        while self.ledger.outstanding() and monotonic() < deadline:
            self._others.ending.wait(0.1)
        self._others.stop()

    def close(self) -> None:
        """Ends what is left; the broker is not ours."""
        self._sending.stop()
        self._others.stop()
        self.consumers.close()
        self.senders.close()
        self.rudeness.close()
        self._control.close()
        self._cluster.close()
        self._exporter.kill()
        self._exporter.communicate()

    # What is looked at

    def sample(self) -> dict[str, float]:
        """Looks at everything of this release, and has what is past its time deleted."""
        if "latency" in self._shape.plant:
            self._slow_ms += _SLOWER_MS
            self._control.do("clear_faults")
            answer = self._control.do("fault", code=310, action="delay", ms=self._slow_ms)
            assert answer["ok"], answer
        if "disk" not in self._shape.plant:
            answer = self._control.do("expire_log", name=self._broker_name, keep=self._shape.kept_files)
            assert answer["ok"], answer
        with urlopen(self._scrape, timeout=60) as scraped:
            scraped.read()
        values = {f"{subject} {name}": value for subject, one in self.processes.items() for name, value in looks(one)}
        values |= {f"{self.name} {name}": value for name, value in (*self._tables(), *self._flow())}
        values[f"store {self.name} disk_kib"] = disk_kib(self._store)
        return values

    def _tables(self) -> Iterator[tuple[str, float]]:
        """Asks the broker for the size of its tables, and for what waits in it."""
        cluster_ask, address = self._cluster.ask, self._address
        yield "topics entries", len(cluster_ask(address, ask.topic_configs()))
        yield "groups entries", len(cluster_ask(address, ask.group_configs()))
        yield "offsets entries", len(cluster_ask(address, ask.all_consumer_offsets()).offset_table)
        info = cluster_ask(address, ask.runtime_info()).table
        delays = [value.split(",") for name, value in info.items() if name.startswith("scheduleMessageOffset_")]
        yield "delayed waiting", sum(int(end) - int(begin) for begin, end in delays)
        yield "timers waiting", float(info.get("timerOffsetBehind", 0))
        halves = cluster_ask(address, ask.max_offset(HALF_TOPIC, 0))
        yield (
            "halves waiting",
            halves - (cluster_ask(address, ask.consumer_offset(TRANSACTION_GROUP, HALF_TOPIC, 0)) or 0),
        )

    def _flow(self) -> Iterator[tuple[str, float]]:
        sends, deliveries, delivered = self.ledger.take_latencies()
        before, before_count = self._seen
        self._seen = monotonic(), delivered
        for what, taken in (("send", sends), ("delivery", deliveries)):
            yield f"{what} p50_ms", taken.percentile(0.5)
            yield f"{what} p99_ms", taken.percentile(0.99)
        yield "deliveries per_second", (delivered - before_count) / max(0.001, self._seen[0] - before)

    # What has to hold at the end

    def problems(self) -> list[str]:
        """Returns what was not as it has to be: losses, repeats, wrong deliveries, failures."""
        ledger = self.ledger
        problems_seen = [f"lost: {line}" for line in ledger.missing()]
        problems_seen += [
            f"{group} got {count} {kind} that are not for it" for (group, kind), count in ledger.wrong.items()
        ]
        allowed = {mix.CHANGING: self.consumers.changes * _PER_CHANGE}
        problems_seen += [
            f"{group} got {count} {kind} messages again"
            for (group, kind), count in ledger.repeats.items()
            if group not in mix.MAY_REPEAT or count > allowed.get(group, count)
        ]
        dead = self._cluster.ask(self._address, ask.max_offset(dlq_topic(mix.RETRYING), 0))
        if dead != ledger.acknowledged[mix.DEAD]:
            problems_seen.append(f"{dead} dead letters of {ledger.acknowledged[mix.DEAD]}")
        return [f"{self.name}: {line}" for line in (*problems_seen, *ledger.problems)]


def looks(process: psutil.Process) -> list[tuple[str, float]]:
    """Returns what a process holds now."""
    return [
        ("rss_kib", process.memory_info().rss / 1024),
        ("handles", float(process.num_fds())),
        ("threads", float(process.num_threads())),
        ("sockets", float(len(process.net_connections()))),
    ]


def disk_kib(directory: Path) -> float:
    """Returns the blocks that files below a directory take, sparse ones by what is in them."""
    total = 0
    for path, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(Path(path, name)).st_blocks // 2
            except FileNotFoundError:
                continue  # deleted while we look
    return float(total)


@contextmanager
def scene(release: str, root: Path, shape: Shape) -> Iterator[Scene]:
    """Starts a broker process of a release, and everybody around it."""
    with ExitStack() as stack:
        words = ("--data-dir", str(root / release), "--as-version", release, "--control", *shape.settings())
        running, ready = stack.enter_context(process(*words))
        made = Scene(release, ready, psutil.Process(running.pid), shape)
        stack.callback(made.close)
        made.start()
        yield made
