"""Every rule about brokers, routes and topics names its fault in a running cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from embedded_broker import Alter, Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import delete_group, put_broker_settings, put_group
from mqctl.client.admin.broker_queries import all_consumer_offsets
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import cluster_info, wipe_write_permission
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.protocol.bodies_client import HeartbeatData, ProducerData
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo, ConsumerOffsetTable
from mqctl.protocol.codes import Language
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import Heartbeat
from mqctl.protocol.requests_namesrv import UpdateNamesrvConfig
from mqctl.rules import Settings
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.doctor.stage import BROKERS, LATER_MS, Act, Fault, Stage, all_of, prove, staged

# What faults of groups put in as well.


def speaking_another_language(stage: Stage) -> None:
    """A member that says it is written in C++."""
    stage.cast.join(stage.member("192.0.2.3@cpp", queues={}), language=Language.CPP)


def abandoned(stage: Stage) -> None:
    """The group has an offset on a topic that no member wants."""
    for broker in BROKERS:
        stage.topic(broker, "Old")
    stage.send("broker-a", "Old", count=5)
    stage.commit("broker-a", 1, topic="Old")


def retry_waiting(stage: Stage) -> None:
    stage.send("broker-a", "%RETRY%G", count=2)
    stage.commit("broker-a", 0, topic="%RETRY%G")


def dead_letter(perm: int) -> Act:
    def act(stage: Stage) -> None:
        stage.topic("broker-a", "%DLQ%G", 1, perm=6)
        stage.send("broker-a", "%DLQ%G")
        stage.topic("broker-a", "%DLQ%G", 1, perm=perm)

    return act


def ordered(stage: Stage) -> None:
    """A topic with an order configuration, of which brokers hear with their next registration: at once."""
    stage.order("Pay", "broker-a:2;broker-b:2")
    for name in BROKERS:
        stage.cluster.broker(name).on_loop(lambda broker: broker.register_again())
    stage.wait_for(
        lambda snapshot: all(
            config.order for broker in snapshot.brokers for config in broker.topics if config.name == "Pay"
        )
    )


def ordered_wrongly(stage: Stage) -> None:
    """Name servers that give producers an order configuration with more queues than a broker has."""
    stage.order("Pay", "broker-a:8;broker-b:2")
    with Cluster(stage.cluster.namesrv) as whole:
        for address in whole.name_servers.addresses():
            with Peer(address) as peer:
                assert peer.call(UpdateNamesrvConfig(), b"orderMessageEnable=true\n").code == 0


def lists_nobody(stage: Stage) -> None:
    """The second of two name servers has just been started, and no broker has registered with it."""
    stage.cluster.fault(106, Answer(0, body=ClusterInfo().to_bytes()), server="namesrv-1")
    stage.cluster.fault(105, Answer(17, "No topic route info"), server="namesrv-1")


def listed_by_one_only(stage: Stage) -> None:
    """The second of two name servers took a registration for known and lists no topic Pay of broker-b."""

    def without_b(_: RemotingCommand, answer: RemotingCommand) -> RemotingCommand:
        route = json.loads(answer.body)
        for part in ("queueDatas", "brokerDatas"):
            route[part] = [item for item in route[part] if item["brokerName"] != "broker-b"]
        return replace(answer, body=json.dumps(route).encode())

    stage.cluster.fault(105, Alter(answer=without_b), server="namesrv-1", where={"topic": "Pay"})


def lost_to_half(stage: Stage) -> None:
    """The order configuration is gone, and so is one of the brokers."""
    stage.order("Pay", None)
    stage.cluster.broker("broker-b").kill()
    stage.wait_for(lambda snapshot: {queues.broker_name for queues in snapshot.routes()["Pay"].queues} == {"broker-a"})


# Faults of brokers.


def telling(**values: str) -> Act:
    return lambda stage: stage.tell_runtime("broker-a", **values)


def setting(**values: str) -> Act:
    return lambda stage: stage.ask("broker-a", put_broker_settings(values))


def topic_everywhere(name: str, **parts: object) -> Act:
    def act(stage: Stage) -> None:
        for broker in BROKERS:
            stage.topic(broker, name, **parts)  # type: ignore[arg-type]

    return act


def other_brokers(change: Callable[[Stage, BrokerData], BrokerData]) -> Act:
    """Has name servers tell something else of broker-a."""

    def act(stage: Stage) -> None:
        with Cluster(stage.cluster.namesrv) as whole:
            address = whole.name_servers.addresses()[0]
            info = whole.ask(address, cluster_info(), Deadline(60_000))
        table = {**info.broker_addr_table, "broker-a": change(stage, info.broker_addr_table["broker-a"])}
        info_changed = ClusterInfo(broker_addr_table=table, cluster_addr_table=info.cluster_addr_table)
        stage.cluster.fault(106, Answer(0, body=info_changed.to_bytes()))

    return act


def slave(stage: Stage, data: BrokerData) -> BrokerData:
    """The other broker, in the role of a slave that has next to nothing."""
    addresses = {**data.broker_addrs, 1: stage.cluster.broker("broker-b").address}
    return BrokerData(broker_name=data.broker_name, cluster=data.cluster, broker_addrs=addresses)


def without_master(stage: Stage, data: BrokerData) -> BrokerData:
    return BrokerData(broker_name=data.broker_name, cluster=data.cluster, broker_addrs={1: data.broker_addrs[0]})


def without_broker_b(stage: Stage) -> None:
    """Name servers have forgotten a broker, as when it was killed."""
    with Cluster(stage.cluster.namesrv) as whole:
        info = whole.ask(whole.name_servers.addresses()[0], cluster_info(), Deadline(60_000))
    table = {name: data for name, data in info.broker_addr_table.items() if name != "broker-b"}
    info_changed = ClusterInfo(broker_addr_table=table, cluster_addr_table=info.cluster_addr_table)
    stage.cluster.fault(106, Answer(0, body=info_changed.to_bytes()))


def renamed(stage: Stage, data: BrokerData) -> BrokerData:
    """Has broker-a the address of broker-b, as after a change of names."""
    return BrokerData(
        cluster=data.cluster, broker_name=data.broker_name, broker_addrs={0: stage.cluster.broker("broker-b").address}
    )


def deserted(stage: Stage) -> None:
    """Name servers know no broker."""
    stage.cluster.fault(106, Answer(0, body=ClusterInfo().to_bytes()))


def wiped(count: int | None) -> Act:
    """Wipes a broker's write permission at so many name servers."""

    def act(stage: Stage) -> None:
        with Cluster(stage.cluster.namesrv) as whole:
            for address in whole.name_servers.addresses()[:count]:
                whole.ask(address, wipe_write_permission("broker-a"), Deadline(60_000))

    return act


def unknown_group(stage: Stage) -> None:
    stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="Gone")))
    stage.commit("broker-a", 1, group="Gone")
    stage.ask("broker-a", delete_group("Gone", with_offsets=False))


def unknown_topic(stage: Stage) -> None:
    """Offsets of a topic that is not there, as 4.9 keeps them when it deletes one; 5.x takes them away with it."""
    with Cluster(stage.cluster.namesrv) as whole:
        table = whole.ask(stage.cluster.broker("broker-a").address, all_consumer_offsets(), Deadline(60_000))
    offsets = ConsumerOffsetTable(offset_table={**table.offset_table, "Gone@G": {0: 7}})
    stage.cluster.fault(43, Answer(0, body=offsets.to_bytes()), server="broker-a")


def shrunk_too_early(stage: Stage) -> None:
    stage.topic("broker-a", "Wide", 4)
    stage.topic("broker-b", "Wide", 4)
    stage.send("broker-a", "Wide", queue_id=3, count=5)
    for broker in BROKERS:
        stage.topic(broker, "Wide", read_queue_count=2, write_queue_count=4)


def sent_into_the_blue(stage: Stage) -> None:
    with Peer(stage.cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Fresh"), b"x").code == 0


def hot(stage: Stage) -> None:
    stage.topic("broker-a", "Hot", 4)
    stage.topic("broker-b", "Hot", 4)
    stage.send("broker-a", "Hot", queue_id=1, count=9)
    stage.send("broker-a", "Hot", queue_id=2)


def producing(stage: Stage) -> None:
    peer = Peer(stage.cluster.broker("broker-a").address)
    data = HeartbeatData(client_id="192.0.2.9@p", producer_data_set=(ProducerData(group_name="P"),))
    assert peer.call(Heartbeat(), data.to_bytes()).code == 0
    stage.leaving.append(peer)


def leaving(stage: Stage) -> None:
    for peer in stage.leaving:
        peer.socket.close()
    stage.wait_for(lambda snapshot: not any(broker.producers for broker in snapshot.brokers))


ROUTES = frozenset({"MQ605", "MQ608"})
FAULTS: dict[str, Fault] = {
    "MQ110": Fault(
        inject=telling(commitLogDiskRatio="0.97"), says={"disk_used_share": 0.97}, beside=frozenset({"MQ714"})
    ),
    "MQ111": Fault(inject=telling(pageCacheLockTimeMills="1500"), says={"lock_ms": 1_500}),
    "MQ112": Fault(
        inject=telling(sendThreadPoolQueueHeadWaitTimeMills="250", sendThreadPoolQueueSize="40"),
        says={"wait_ms": 250, "waiting_count": 40},
    ),
    "MQ113": Fault(inject=telling(dispatchBehindBytes=str(100 << 20)), says={"behind_bytes": 100 << 20}),
    "MQ114": Fault(inject=telling(putLatency99="80"), says={"append_ms": 80}),
    "MQ115": Fault(
        inject=all_of(
            telling(remainTransientStoreBufferNumbs="0"),
            lambda stage: stage.tell_settings("broker-a", transientStorePoolEnable="true"),
        ),
        says={"buffer_count": 0},
    ),
    "MQ119": Fault(inject=telling(recordsSetAside_rmq_sys_wheel_timer="3"), says={"record_count": 3}),
    "MQ116": Fault(
        inject=all_of(telling(commitLogMaxOffset=str(1 << 30)), other_brokers(slave)),
        # The slave is played by a broker that has a name of its own, and is a master.
        beside=frozenset({"MQ619", "MQ136", "MQ139", "MQ140"}),
        says={},
    ),
    "MQ144": Fault(
        inject=all_of(
            telling(commitLogMinOffset=str(1 << 30), commitLogMaxOffset=str((1 << 30) + 4_096)), other_brokers(slave)
        ),
        beside=frozenset({"MQ619", "MQ136", "MQ139", "MQ140"}),
        says={},
    ),
    "MQ201": Fault(inject=unknown_group, says={"topic_count": 1}, beside=frozenset({"MQ401"})),
    "MQ301": Fault(inject=hot, settings=Settings(hot_queue_min_count=5), says={"message_count": 9}),
    "MQ506": Fault(
        before=ordered,
        inject=lost_to_half,
        beside=frozenset({"MQ505", "MQ606", "MQ604", "MQ309", "MQ404", "MQ617"}),
        says={"missing_count": 1},
    ),
    "MQ507": Fault(
        before=ordered,
        inject=topic_everywhere("Pay", queues=3),
        # Members of 4.x get no offset of the new, empty queues from 5.x brokers.
        beside=frozenset({"MQ505", "MQ309", "MQ415"}),
        says={"earlier_queue_count": 4, "queue_count": 6},
    ),
    "MQ508": Fault(inject=ordered_wrongly, says={"broker_count": 1}, beside=frozenset({"MQ505"})),
    "MQ629": Fault(
        inject=topic_everywhere("Drained", write_queue_count=0),
        says={"read_queue_count": 4},
        beside=frozenset({"MQ602"}),
    ),
    "MQ635": Fault(inject=lists_nobody, says={"missing_count": 2, "broker_count": 2}),
    # Its table is younger than a minute: what both looks saw counts.
    "MQ636": Fault(
        before=listed_by_one_only,
        inject=lambda stage: None,
        says={"topic_count": 1, "name_server_count": 1},
        beside=frozenset({"MQ608"}),
    ),
    "MQ601": Fault(inject=shrunk_too_early, says={"message_count": 5}),
    "MQ602": Fault(
        inject=topic_everywhere("Shrinking", read_queue_count=4, write_queue_count=2), says={"write_queue_count": 2}
    ),
    "MQ603": Fault(inject=topic_everywhere("Closed", perm=4), says={"perm": 4}),
    "MQ604": Fault(inject=unknown_topic, says={"group_count": 1}, beside=frozenset({"MQ404"})),
    "MQ605": Fault(inject=wiped(None), says={"topic_count": 2}),
    "MQ606": Fault(inject=lambda stage: stage.topic("broker-a", "Half", 1), says={"missing_count": 1}),
    "MQ607": Fault(
        inject=all_of(topic_everywhere("Uneven"), lambda stage: stage.topic("broker-a", "Uneven", 7)),
        says={"most_queue_count": 7, "least_queue_count": 2},
    ),
    "MQ608": Fault(inject=wiped(1), beside=ROUTES, says={"name_server_count": 2}),
    "MQ609": Fault(inject=other_brokers(without_master), beside=frozenset({"MQ606", "MQ136"}), says={"slave_count": 1}),
    "MQ617": Fault(
        before=lambda stage: None,
        inject=without_broker_b,
        beside=frozenset({"MQ606"}),
        says={"held_count": 2, "ordered_count": 0},
    ),
    "MQ619": Fault(inject=other_brokers(renamed), beside=ROUTES | {"MQ116"}, says={"name_count": 2}),
    "MQ618": Fault(
        inject=deserted,
        says={"name_server_count": 2},
    ),
    "MQ610": Fault(inject=setting(brokerPermission="4"), beside=frozenset({"MQ605"})),
    "MQ614": Fault(inject=sent_into_the_blue, says={"broker_count": 2, "queue_count": 4}),
    "MQ615": Fault(before=producing, inject=leaving, says={"earlier_count": 1, "window_ms": LATER_MS}),
    "MQ716": Fault(inject=telling(timerReadBehind="15", timerOffsetBehind="40"), says={"behind_ms": 15_000}),
}


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_a_fault_in_a_running_cluster_is_named(stage: Stage, code: str) -> None:
    prove(stage, code, FAULTS[code])
