"""The scenario engine: starts what a scenario declares, breaks what it says, and takes everything away again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Self

import msgspec

from mqctl.client.admin.broker_queries import consumer_ids, runtime_info, topic_configs
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, StorageError
from mqctl.local.actor import ActorTask, shrunk
from mqctl.local.breaking import Breaking
from mqctl.local.downstream import Downstream
from mqctl.local.faults import When
from mqctl.local.grpc_consumer import check_library
from mqctl.local.looks import Seen, doctor_words, namesrv_by_room, unmet
from mqctl.local.planting import Planting
from mqctl.local.processes import Child, held_back
from mqctl.local.scenario import ClusterDeclared, ConsumerDeclared, DoctorRun, Scenario
from mqctl.local.state import Ready
from mqctl.model.command_line import shell_words
from mqctl.model.numbers import decimal
from mqctl.store.own_files import write_whole
from mqctl.text import encoded, joined, sentence

_JOIN_SECONDS = 60
_REBALANCE_MS = 20_000
_LOCK_LIVES_MS = 60_000
_POLL_S = 0.1
_GRPC_PERIODS = {
    "defaultInvisibleTimeMills": 60_000,
    "renewAheadTimeMillis": 10_000,
    "renewSchedulePeriodMillis": 5_000,
}
_ORDER: tuple[When, ...] = ("first", "consuming", "last", "back")
Tell = Callable[[str], None]


def _silent(line: str) -> None:
    """Tells nobody."""


class Stage:
    """A scenario that runs. Use as a context manager, or `start`, `settle` and `stop`.

    Args:
        directory: where its stores and logs go; it is removed at the end.
        tell: told of each step, one line each.

    Attributes:
        clusters: what the processes of the brokers announced, in the order of the file.
        stores: store directory by broker.
        consumers: processes by name.
    """

    def __init__(self, scenario: Scenario, directory: Path, tell: Tell = _silent) -> None:
        self.scenario = scenario
        self.directory = directory
        self.clusters: list[Ready] = []
        self.stores: dict[str, Path] = {}
        self.consumers: dict[str, Child] = {}
        self._when: When = "first"
        self._tell = tell
        self._children: list[Child] = []
        self._downstream = Downstream(scenario.downstream_ms)
        self._listeners = directory / "listeners.py"

    # Who is where

    @property
    def namesrv(self) -> str:
        """Name servers of the first cluster, `host:port;host:port`."""
        return self.namesrv_of(0)

    def namesrv_of(self, number: int) -> str:
        """Returns the name servers that the brokers of a cluster register with."""
        return self.clusters[0 if self.scenario.clusters[number].joins else number].namesrv

    @property
    def environment(self) -> dict[str, str]:
        """What commands need to find the cluster, as its first look does now, and to share its time scale."""
        looks = [look for look in self.scenario.looks if look.when == self._when and not look.store]
        namesrv = self._asked_by(looks[0]) if looks else self.namesrv
        return {"MQCTL_NAMESRV": namesrv, "MQCTL_TIME_SCALE": f"{self.scenario.time_scale:g}"}

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run for it."""
        return tuple(child.pid for child in self._children if child.alive)

    def doctor_words(self, doctor_run: DoctorRun) -> list[str]:
        """Returns the command line of a look, without `mqctl`."""
        return doctor_words(doctor_run, self.scenario.time_scale, self._asked_by(doctor_run), self.stores)

    def _asked_by(self, doctor_run: DoctorRun) -> str:
        servers = self.namesrv_of(doctor_run.cluster)
        by_room = namesrv_by_room(self.scenario.clusters[doctor_run.cluster], servers)
        return by_room[doctor_run.room] if doctor_run.room else servers

    def address_of(self, cluster: int, room: str | None) -> str:
        """Returns where a client asks for name servers: its room's address service, or the servers themselves."""
        return self.clusters[cluster].nsaddr.get(room or "", self.namesrv_of(cluster))

    # Life

    def start(self, until: When = "last") -> Self:
        """Starts and plants everything, in the order of `When`.

        Args:
            until: the last of the parts to be played; `advance` goes on with the others.

        Raises:
            MqctlError: something could not be started or planted; nothing is left running.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._start(until)
        except OSError as error:
            self.stop()
            raise StorageError(
                sentence("local-could-not-make", "could not make {directory}", directory=self.directory),
                reason=error.strerror or str(error),
            ) from error
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self, until: When) -> None:
        scenario = self.scenario
        if any(item.client == "grpc" for item in scenario.consumers):
            check_library()
        self._downstream.start()
        write_whole(self._listeners, (files("mqctl.local") / "behaviours.py").read_bytes(), durable=False)
        for number, declared in enumerate(scenario.clusters):
            self._start_cluster(number, declared)
        names = ", ".join(broker for cluster in scenario.clusters for broker in cluster.brokers)
        self._tell(f"brokers {names}; name server {self.namesrv}")
        for number, declared in enumerate(scenario.clusters):
            if not declared.joins:
                self.planting(number).topics_and_groups()
        for when in _ORDER[: _ORDER.index(until) + 1]:
            self.advance(when)

    def planting(self, number: int) -> Planting:
        """Returns what plants on a cluster and on those that have joined it."""
        namesrv = self.namesrv_of(number)
        together = [ready for other, ready in enumerate(self.clusters) if self.namesrv_of(other) == namesrv]
        addresses = {
            broker.name: broker.address for ready in together for broker in ready.brokers if broker.broker_id == 0
        }
        return Planting(self.scenario, number, namesrv, addresses)

    def advance(self, when: When) -> None:
        """Plays the next part. Raises what asking brokers and starting processes raises."""
        self._when = when
        scenario = self.scenario
        breaking = Breaking(self)
        if when == "consuming":
            self._wait_for_slaves()
        for fault in scenario.faults:
            if fault.when == when:
                breaking.strike(fault)
        for messages in scenario.messages:
            if messages.when == when:
                self.planting(messages.cluster).send(messages)
        for offset in scenario.offsets:
            if offset.when == when:
                self.planting(offset.cluster).move(offset)
        joining = [consumer for consumer in scenario.consumers if consumer.when == when]
        for consumer in joining:
            self._start_consumer(consumer)
        for consumer in joining:
            self.consumers[consumer.name].first_line()
        if when == "first":
            self._start_streams()
            self._wait_for_members()

    def _start_cluster(self, number: int, declared: ClusterDeclared) -> None:
        usual = {
            "flushConsumerOffsetInterval": 5_000,
            "transactionTimeOut": 6_000,
            "transactionCheckInterval": 60_000,
            "registerNameServerPeriod": 30_000,
            "haSendHeartbeatInterval": 5_000,
        }
        scale = self.scenario.time_scale
        settings = {name: str(shrunk(value, scale)) for name, value in usual.items()}
        settings |= {"namesrvAddr": self.clusters[0].namesrv} if declared.joins else {}
        periods = _GRPC_PERIODS if declared.grpc else {}
        settings |= {name: str(shrunk(value, scale)) for name, value in periods.items()}
        settings |= {"haTimeScale": str(max(1, round(scale)))} if declared.slaves else {}
        settings |= declared.settings
        data_dir = self.directory / "stores" / str(number)
        words = ["--brokers", ",".join(declared.brokers), "--cluster", declared.name, "--data-dir", str(data_dir)]
        words += ["--lock-live-ms", str(shrunk(_LOCK_LIVES_MS, scale))]
        words += ["--as-version", declared.version, "--name-servers", str(declared.name_servers)]
        words += ["--rooms", ",".join(declared.rooms)] if declared.rooms else []
        words += ["--slaves", str(declared.slaves)] if declared.slaves else []
        words += ["--grpc"] if declared.grpc else []
        words += ["--isolated-rooms"] if declared.isolated_rooms else []
        words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        child = self._child(f"brokers-{number}", "embedded_broker", [*words, "--control", "--until-eof"])
        self.clusters.append(msgspec.json.decode(child.first_line(), type=Ready))
        self.stores |= {broker.name: Path(broker.store) for broker in self.clusters[-1].brokers}

    def _start_consumer(self, declared: ConsumerDeclared) -> None:
        task = ActorTask(
            namesrv=self.address_of(declared.cluster, declared.room),
            time_scale=self.scenario.time_scale,
            consumer=declared,
            endpoint=self.clusters[declared.cluster].grpc if declared.client == "grpc" else None,
            downstream=self._downstream.address,
            listeners=str(self._listeners),
        )
        self.consumers[declared.name] = self._actor(declared.name, task)
        self._tell(f"consumer {declared.name} of {declared.group}: {_wants(declared)}")

    def _start_streams(self) -> None:
        for number, declared in enumerate(self.scenario.streams):
            task = ActorTask(
                namesrv=self.address_of(declared.cluster, declared.room),
                time_scale=self.scenario.time_scale,
                stream=declared,
            )
            self._actor(f"stream-{number}", task).first_line()

    def _actor(self, name: str, task: ActorTask) -> Child:
        return self._child(name, "mqctl.local.actor", [msgspec.json.encode(task, enc_hook=encoded).decode()])

    def _child(self, name: str, module: str, words: list[str]) -> Child:
        with held_back():  # one that is started and not in the list would outlive its stage
            child = Child(name, module, words, self.directory)
            self._children.append(child)
        return child

    def _wait_for_members(self) -> None:
        """Waits until every broker knows every member, and then for them to take their queues."""
        members = [item for item in self.scenario.consumers if item.when == "first"]
        end = Deadline(_JOIN_SECONDS * 1000)
        for member in members:
            others = {item.name for item in members if (item.group, item.cluster) == (member.group, member.cluster)}
            planting = self.planting(member.cluster)
            with Cluster(self.namesrv_of(member.cluster)) as cluster:
                for address in planting.addresses_of(member.topics):
                    while len(cluster.ask(address, consumer_ids(member.group), end)) < len(others):
                        if end.remaining_s < 1:
                            raise DeadlineError(
                                sentence(
                                    "local-not-complete-within",
                                    "{group} was not complete within {limit_ms}",
                                    group=member.group,
                                    limit_ms=_JOIN_SECONDS * 1000,
                                )
                            )
                        sleep(_POLL_S)
        if members:
            sleep(2 * shrunk(_REBALANCE_MS, self.scenario.time_scale) / 1000)

    def _wait_for_slaves(self) -> None:
        """Waits until slaves have their masters' logs and topics: one that loses its master before serves nobody."""
        end = Deadline(_JOIN_SECONDS * 1000)
        for number, declared in enumerate(self.scenario.clusters):
            topics = {item.name for item in self.scenario.topics if item.cluster == number}
            slaves = [broker for broker in self.clusters[number].brokers if broker.broker_id]
            with Cluster(self.namesrv_of(number)) as cluster:
                for broker in slaves:
                    while not topics <= cluster.ask(broker.address, topic_configs(), end).keys():
                        if end.remaining_s < 1:
                            raise DeadlineError(
                                sentence(
                                    "local-did-not-copy-master",
                                    "{broker} of {declared} did not copy its master's topics",
                                    broker=broker.name,
                                    declared=declared.name,
                                )
                            )
                        sleep(_POLL_S)
                ends = {name: log for (name, broker_id), log in _log_ends(cluster, end).items() if broker_id == 0}
                while slaves and any(log < ends[name] for (name, _), log in _log_ends(cluster, end).items()):
                    if end.remaining_s < 1:
                        raise DeadlineError(
                            sentence(
                                "local-slaves-did-not-get",
                                "slaves of {declared} did not get their masters' logs",
                                declared=declared.name,
                            )
                        )
                    sleep(_POLL_S)

    def settle(self, seconds: float | None = None) -> None:
        """Waits until `doctor` shows what every look at the part that was played last declares.

        Args:
            seconds: how long at most; None for what the scenario declares.

        Raises:
            DeadlineError: it does not; the reason names what is missing, and what is there undeclared.
        """
        limit_s = self.scenario.settle_s if seconds is None else seconds
        end = Deadline(round(limit_s * 1000))
        while left := self._unmet():
            if end.expired:
                raise DeadlineError(
                    sentence(
                        "local-scenario-did-not-reach",
                        "the scenario {scenario} did not reach its declared state within {limit_ms}",
                        scenario=self.scenario.name,
                        limit_ms=round(limit_s * 1000),
                    ),
                    reason=joined("; ", (str(seen) for seen in left)),
                    remedy=sentence(
                        "local-look",
                        "look at it: {value}",
                        value=shell_words(["mqctl", *self.doctor_words(left[0].look)]),
                    ),
                )
            sleep(_POLL_S)

    def _unmet(self) -> list[Seen]:
        looks = {look: self._asked_by(look) for look in self.scenario.looks if look.when == self._when}
        return list(unmet(looks, self.scenario.time_scale, self.stores))

    def clear(self) -> None:
        """Removes what a stage in this directory left behind that was killed."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self) -> None:
        """Ends every process and removes the directory; harmless when nothing runs."""
        while self._children:
            child = self._children.pop()
            if child.name in self.consumers or child.name.startswith("stream-"):
                child.kill()
            else:
                child.end()
        self._downstream.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _log_ends(cluster: Cluster, limit: Deadline) -> dict[tuple[str, int], int]:
    """Returns where each broker's log ends, by name and id; -1 where that is not told yet."""
    return {
        (broker.broker_name, broker.broker_id): decimal(
            cluster.ask(broker.address, runtime_info(), limit).table.get("commitLogMaxOffset"), -1
        )
        or 0
        for broker in cluster.brokers(limit)
    }


def _wants(consumer: ConsumerDeclared) -> str:
    return ", ".join(f"{topic} {expression}" for topic, expression in consumer.topics.items())
