"""Every rule about addresses and names (MQ62x) names its fault in a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import delete_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import cluster_info
from mqctl.client.remoting.deadline import Deadline
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo
from tests.live.doctor.stage import ONE, TWO, Act, Fault, Stage, all_of, prove, staged

Brokers = Mapping[str, BrokerData]


def registered(change: Callable[[Brokers], Brokers], clusters: Mapping[str, tuple[str, ...]] | None = None) -> Act:
    """Has name servers tell other brokers."""

    def act(stage: Stage) -> None:
        with Cluster(stage.cluster.namesrv) as whole:
            info = whole.ask(whole.name_servers.addresses()[0], cluster_info(), Deadline(60_000))
        lists = {**info.cluster_addr_table, **(clusters or {})}
        info_changed = ClusterInfo(broker_addr_table=dict(change(info.broker_addr_table)), cluster_addr_table=lists)
        stage.cluster.fault(106, Answer(0, body=info_changed.to_bytes()))

    return act


def at(address: str) -> Act:
    """A broker more is registered, at this address."""
    ghost = BrokerData(broker_name="broker-x", cluster="DefaultCluster", broker_addrs={0: address})
    return registered(lambda brokers: {**brokers, "broker-x": ghost})


def everybody(**changes: str) -> Act:
    def of(client: str) -> Act:
        return lambda stage: stage.cast.change(client, properties=stage.said(**changes))

    return all_of(of(ONE), of(TWO))


def subscribing(topic: str) -> Act:
    def act(stage: Stage) -> None:
        for client in (ONE, TWO):
            stage.cast.change(client, topics={"Pay": "*", topic: "*"})

    return act


def mute_name_server(stage: Stage) -> None:
    stage.cluster.fault(106, Drop(), server="namesrv-1")


# A broker more is a master without the topics of the others.
MISSING = frozenset({"MQ606"})
FAULTS: dict[str, Fault] = {
    "MQ620": Fault(inject=at("127.0.0.1:1"), beside=MISSING, says={"broker_id": 0}),
    "MQ621": Fault(inject=at("127.0.0.1:1 # the old one"), beside=MISSING, says={"broker_id": 0}),
    "MQ622": Fault(inject=registered(lambda brokers: brokers, {"Other": ("broker-a",)}), says={"cluster_count": 2}),
    "MQ623": Fault(inject=lambda stage: stage.tell_settings("broker-a", brokerIP1="192.0.2.8"), says={"broker_id": 0}),
    "MQ624": Fault(inject=everybody(PROP_NAMESERVER_ADDR="192.0.2.77:9876"), says={"lost_count": 2}),
    "MQ625": Fault(inject=subscribing("Payments"), says={"member_count": 2}),
    "MQ626": Fault(inject=mute_name_server, says={"answering_count": 1}),
    "MQ627": Fault(inject=lambda stage: stage.ask("broker-b", delete_topic("Pay")), says={"missing_count": 1}),
}


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_a_fault_in_a_running_cluster_is_named(stage: Stage, code: str) -> None:
    prove(stage, code, FAULTS[code])
