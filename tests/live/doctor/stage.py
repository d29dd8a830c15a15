"""A healthy running cluster that a test puts a fault into: two brokers, a group of two, offsets at the end.

Members are scripted (`cast`), everything else is real: brokers store, count and answer. Looks are taken with a clock of
the test's own, so that two of them lie minutes apart without a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.admin.broker_queries import broker_settings, runtime_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import delete_kv, put_kv, route
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.question import Question
from mqctl.errors import NotFoundError
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.protocol.bodies_client import ProcessQueueInfo
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.properties import format_settings
from mqctl.rules import Diagnosis, Settings, diagnose
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.gatherer import gather_live
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.cast import Cast, Scripted

BROKERS = ("broker-a", "broker-b")
ONE, TWO = "192.0.2.1@one-a", "192.0.2.2@two-b"
NEARBY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby@405209d4"
LATER_MS = 130_000
HOUR_MS = 3_600_000
Said = dict[str, str]


@dataclass
class Stage:
    """The cluster with its members, and the instants of its looks: `now_ms` is that of the later one."""

    cluster: EmbeddedCluster
    cast: Cast
    now_ms: int
    leaving: list[Peer] = field(default_factory=list)

    def wait_for(self, condition: Callable[[ClusterSnapshot], bool]) -> None:
        """Looks until something is so."""
        wait_until(lambda: condition(self.look()), "the cluster to hear of it", every_s=0.02)

    def ask(self, broker: str, *questions: Question[None]) -> None:
        with Cluster(self.cluster.namesrv) as whole:
            for question in questions:
                whole.ask(self.cluster.broker(broker).address, question, Deadline(60_000))

    def send(self, broker: str, topic: str = "Pay", *, queue_id: int = 0, count: int = 1, tag: str = "A") -> None:
        with Peer(self.cluster.broker(broker).address) as peer:
            for _ in range(count):
                assert peer.call(send(topic, queue_id=queue_id, properties={"TAGS": tag}), b"x").code == 0

    def commit(self, broker: str, offset: int, *, queue_id: int = 0, topic: str = "Pay", group: str = "G") -> None:
        self.ask(broker, commit_offset(group, topic, queue_id, offset))

    def topic(self, broker: str, name: str, queues: int = 2, **parts: object) -> None:
        usual = TopicConfig(name=name, read_queue_count=queues, write_queue_count=queues)
        config = replace(usual, **parts)  # type: ignore[arg-type]
        self.ask(broker, put_topic(config))
        wait_until(lambda: self._routed(broker, config), "every name server to hear of the topic")

    def _routed(self, broker: str, config: TopicConfig) -> bool:
        wanted = (broker, config.read_queue_count, config.write_queue_count, config.perm)
        with Cluster(self.cluster.namesrv) as whole:
            for address in whole.name_servers.addresses():
                try:
                    data = whole.ask(address, route(config.name), Deadline(60_000)).queue_datas
                except NotFoundError:
                    return False
                if wanted not in {(it.broker_name, it.read_queue_nums, it.write_queue_nums, it.perm) for it in data}:
                    return False
        return True

    def tell_runtime(self, broker: str, **values: str) -> None:
        """Has a broker tell other values of itself, through its fault hook."""
        with Cluster(self.cluster.namesrv) as whole:
            table = whole.ask(self.cluster.broker(broker).address, runtime_info(), Deadline(60_000)).table
        self.cluster.fault(28, Answer(0, body=KVTable(table={**table, **values}).to_bytes()), server=broker)

    def tell_settings(self, broker: str, **values: str) -> None:
        """Has a broker tell other settings, through its fault hook."""
        with Cluster(self.cluster.namesrv) as whole:
            settings = whole.ask(self.cluster.broker(broker).address, broker_settings(), Deadline(60_000))
        body = format_settings({**settings, **values})
        self.cluster.fault(26, Answer(0, body=body), server=broker)

    def order(self, topic: str, conf: str | None) -> None:
        """Declares a topic as ordered at every name server, or (None) takes that back."""
        question = put_kv("ORDER_TOPIC_CONFIG", topic, conf) if conf else delete_kv("ORDER_TOPIC_CONFIG", topic)
        with Cluster(self.cluster.namesrv) as whole:
            for address in whole.name_servers.addresses():
                whole.ask(address, question, Deadline(60_000))

    def held(self, **parts: int | bool) -> ProcessQueueInfo:
        """A queue inside a consumer that pulled and consumed a second ago."""
        usual = {"last_pull_timestamp": self.now_ms - 1_000, "last_consume_timestamp": self.now_ms - 1_000}
        return ProcessQueueInfo(**{**usual, **parts})  # type: ignore[arg-type]

    def holds(self, client: str, **parts: int | bool) -> None:
        """Changes the first queue of a member."""
        broker = BROKERS[client == TWO]
        self.cast.change(
            client,
            queues={
                MessageQueue("Pay", broker, 0): self.held(**parts),
                MessageQueue("Pay", broker, 1): self.held(**{key: parts[key] for key in ("locked",) if key in parts}),
            },
        )

    def member(self, client: str, **parts: object) -> Scripted:
        """A healthy member that holds both queues of its broker."""
        broker = BROKERS[client == TWO]
        usual = Scripted(
            client_id=client,
            queues={MessageQueue("Pay", broker, number): self.held() for number in (0, 1)},
            properties=self.said(),
        )
        return replace(usual, **parts)  # type: ignore[arg-type]

    def in_order(self, *clients: str) -> None:
        """Has members consume in order, and hold the locks of the queues of their brokers."""
        for client in clients:
            locked = self.held(locked=True, last_lock_timestamp=self.now_ms)
            queues = {MessageQueue("Pay", BROKERS[client == TWO], number): locked for number in (0, 1)}
            self.cast.change(client, properties=self.said(PROP_CONSUMEORDERLY="true"), queues=queues)

    def said(self, **changes: str) -> Said:
        return {
            "PROP_NAMESERVER_ADDR": self.cluster.namesrv,
            "PROP_CONSUMEORDERLY": "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(self.now_ms - HOUR_MS),
            "PROP_THREADPOOL_CORE_SIZE": "20",
            "consumeThreadMin": "20",
            "consumeThreadMax": "20",
            **changes,
        }

    def look(self, *, before_ms: int = 0, **scope: object) -> ClusterSnapshot:
        """Looks at everything, as of `now_ms` or so long before it."""
        with Cluster(self.cluster.namesrv) as whole:
            return gather_live(
                whole,
                Deadline(60_000),
                now_ms=self.now_ms - before_ms,
                scope=Scope(**scope),  # type: ignore[arg-type]
            )

    def judge(self, earlier: ClusterSnapshot | None = None, settings: Settings | None = None) -> Diagnosis:
        """Looks and judges by every rule."""
        return diagnose(replace(self.look(), earlier=earlier), settings=settings)


@contextmanager
def staged(cluster: EmbeddedCluster) -> Iterator[Stage]:
    """Resets a cluster of two brokers to the healthy scene."""
    cluster.reset()
    with Cast(cluster) as cast:
        stage = Stage(cluster, cast, cluster.now_ms() + LATER_MS)
        for broker in BROKERS:
            stage.topic(broker, "Pay")
            stage.topic(broker, "%RETRY%G", 1)
            stage.ask(broker, put_group(SubscriptionGroupConfig(name="G")))
            for queue_id in (0, 1):
                stage.send(broker, queue_id=queue_id)
                stage.commit(broker, 1, queue_id=queue_id)
        cast.join(stage.member(ONE), stage.member(TWO))
        yield stage


def codes(diagnosis: Diagnosis) -> set[str]:
    return {finding.code for finding in diagnosis.findings}


def numbers(diagnosis: Diagnosis, code: str) -> Mapping[str, object]:
    """Returns the evidence of the first finding of a rule."""
    finding = next(item for item in diagnosis.findings if item.code == code)
    return {item.name: item.value for item in finding.evidence}


Act = Callable[["Stage"], None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault as it is put into the running cluster.

    Attributes:
        before: done before an earlier look; with it the cluster is looked at twice.
        inject: done before the (later) look.
        beside: other rules that may rightly name it as well.
        says: numbers of the finding.
    """

    inject: Act
    before: Act | None = None
    beside: frozenset[str] = frozenset()
    settings: Settings | None = None
    says: dict[str, Any] = field(default_factory=dict)


def all_of(*acts: Act) -> Act:
    """Does one after the other."""

    def act(stage: Stage) -> None:
        for one in acts:
            one(stage)

    return act


def prove(stage: Stage, code: str, fault: Fault) -> None:
    """Puts a fault in, and holds the diagnosis to it: its rule, its numbers, and no other rule than those beside it."""
    earlier = None
    if fault.before is not None:
        fault.before(stage)
        earlier = stage.look(before_ms=LATER_MS)
    fault.inject(stage)
    diagnosis = stage.judge(earlier, fault.settings)
    assert code in codes(diagnosis), diagnosis.findings
    assert codes(diagnosis) - (fault.beside - {code}) == {code}, diagnosis.findings
    figures = numbers(diagnosis, code)
    assert {name: figures[name] for name in fault.says} == fault.says
