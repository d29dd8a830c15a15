"""A name server as brokers see it: registration in all its forms, from peers that play brokers."""

from __future__ import annotations

import zlib
from struct import pack

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.config import DataVersion, TopicConfig
from mqctl.protocol.bodies_cluster import (
    ClusterInfo,
    KVTable,
    QueueData,
    RegisterBrokerBody,
    TopicConfigTable,
    TopicList,
    TopicRouteData,
)
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import (
    DeleteTopicFromNamesrv,
    GetBrokerClusterInfo,
    GetHasUnitSubTopicList,
    GetHasUnitSubUnUnitTopicList,
    GetRouteInfo,
    GetUnitTopicList,
    PutKVConfig,
    QueryDataVersion,
    RegisterBroker,
    RegisterTopic,
    UnRegisterBroker,
    UpdateNamesrvConfig,
)
from tests.embedded_broker.wire import Peer

_VERSION = DataVersion(7, 1_700_000_000_000)


def registration(
    *, name: str = "played", broker_id: int = 0, port: int = 1, crc: int | None = None, compressed: bool = False
) -> RegisterBroker:
    return RegisterBroker(
        broker_name=name,
        broker_addr=f"127.0.0.1:{port}",
        cluster_name="PlayedCluster",
        ha_server_addr=f"127.0.0.1:{port + 1}",
        broker_id=broker_id,
        compressed=compressed,
        body_crc32=crc or 0,
    )


def body_of(*topics: TopicConfig, version: DataVersion = _VERSION) -> bytes:
    table = TopicConfigTable(data_version=version, topic_config_table={topic.name: topic for topic in topics})
    return RegisterBrokerBody(topic_config_serialize_wrapper=table).to_bytes()


def route_of(peer: Peer, topic: str) -> TopicRouteData | None:
    answer = peer.call(GetRouteInfo(topic=topic))
    return TopicRouteData.from_bytes(answer.body) if answer.code == 0 else None


def queues_of(peer: Peer, topic: str) -> QueueData:
    route = route_of(peer, topic)
    assert route is not None
    return route.queue_datas[0]


_TOPIC = TopicConfig(name="Played", read_queue_count=3, write_queue_count=2, perm=6)


def test_master_and_slave(namesrv: Peer, cluster: EmbeddedCluster) -> None:
    assert namesrv.call(registration(), body_of(_TOPIC)).code == 0
    with Peer(cluster.namesrv) as slave:
        answer = slave.call(registration(broker_id=1, port=5), body_of(TopicConfig(name="Ignored")))
        assert (answer.ext("masterAddr"), answer.ext("haServerAddr")) == ("127.0.0.1:1", "127.0.0.1:2")
        route = route_of(namesrv, "Played")
        assert route is not None
        assert route.broker_datas[0].broker_addrs == {0: "127.0.0.1:1", 1: "127.0.0.1:5"}
        assert route_of(namesrv, "Ignored") is None
    queues = queues_of(namesrv, "Played")
    assert (queues.read_queue_nums, queues.write_queue_nums) == (3, 2)


def test_a_closed_connection_takes_its_broker_along(namesrv: Peer, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.namesrv) as played:
        played.call(registration(), body_of(_TOPIC))
    while route_of(namesrv, "Played") is not None:
        pass  # the close is on its way; the test's timeout is the deadline
    info = ClusterInfo.from_bytes(namesrv.call(GetBrokerClusterInfo()).body)
    assert set(info.broker_addr_table) == {"broker-a"}


def test_a_checksum_that_differs_is_refused(namesrv: Peer) -> None:
    data = body_of(_TOPIC)
    wrong = namesrv.call(registration(crc=1), data)
    assert (wrong.code, wrong.remark) == (ResponseCode.SYSTEM_ERROR, "crc32 not match")
    assert namesrv.call(registration(crc=zlib.crc32(data) & 0x7FFFFFFF), data).code == 0


def compressed(*topics: str) -> bytes:
    def piece(text: str) -> bytes:
        return pack(">i", len(text.encode())) + text.encode()

    head = piece('{"counter":7,"timestamp":5}') + pack(">i", len(topics))
    return zlib.compress(head + b"".join(map(piece, topics)) + piece("[]"), 9)


def test_the_compressed_form(namesrv: Peer) -> None:
    data = compressed("Small 4 8 6 SINGLE_TAG")
    assert data[:2] == b"\x78\xda"
    assert namesrv.call(registration(compressed=True), data).code == 0
    queues = queues_of(namesrv, "Small")
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (4, 8, 6)


@pytest.mark.parametrize(
    "data",
    [b"no zlib", compressed("Too few"), compressed("Not 4 a 6 SINGLE_TAG"), zlib.compress(pack(">i", 1 << 30))],
)
def test_a_compressed_form_that_is_none(namesrv: Peer, data: bytes) -> None:
    assert namesrv.call(registration(compressed=True), data).code == ResponseCode.SYSTEM_ERROR
    assert route_of(namesrv, "TBW102") is not None


def test_a_topic_that_is_no_longer_named_is_kept_and_a_known_version_not_read(namesrv: Peer) -> None:
    namesrv.call(registration(), body_of(_TOPIC))
    other = TopicConfig(name="Other")
    namesrv.call(registration(), body_of(other))
    assert route_of(namesrv, "Other") is None
    namesrv.call(registration(), body_of(other, version=DataVersion(8, 1)))
    assert route_of(namesrv, "Other") is not None
    assert route_of(namesrv, "Played") is not None


def test_the_data_version_is_compared(namesrv: Peer) -> None:
    ask = QueryDataVersion(broker_name="played", broker_addr="127.0.0.1:1", cluster_name="PlayedCluster", broker_id=0)
    version = b'{"counter":7,"timestamp":1700000000000}'
    unknown = namesrv.call(ask, version)
    assert (unknown.ext("changed"), unknown.body) == ("true", b"")
    namesrv.call(registration(), body_of(_TOPIC))
    same = namesrv.call(ask, version)
    assert (same.ext("changed"), same.body) == ("false", version)
    assert namesrv.call(ask, b'{"counter":8,"timestamp":1700000000000}').ext("changed") == "true"


def test_a_broker_takes_its_leave(namesrv: Peer) -> None:
    namesrv.call(registration(), body_of(_TOPIC))
    leave = UnRegisterBroker(broker_name="played", broker_addr="127.0.0.1:1", cluster_name="PlayedCluster", broker_id=0)
    assert namesrv.call(leave).code == 0
    assert route_of(namesrv, "Played") is None


def test_topics_are_dropped_whole_or_by_cluster(namesrv: Peer) -> None:
    shared = TopicConfig(name="TBW102", read_queue_count=1, write_queue_count=1, perm=7)
    namesrv.call(registration(), body_of(shared, _TOPIC))
    namesrv.call(DeleteTopicFromNamesrv(topic="TBW102", cluster_name="PlayedCluster"))
    route = route_of(namesrv, "TBW102")
    assert route is not None
    assert [data.broker_name for data in route.queue_datas] == ["broker-a"]
    namesrv.call(DeleteTopicFromNamesrv(topic="TBW102"))
    assert route_of(namesrv, "TBW102") is None


def test_unit_topics_are_told_by_their_flags(namesrv: Peer) -> None:
    topics = [TopicConfig(name=name, sys_flag=flag) for name, flag in (("Unit", 1), ("UnitSub", 2), ("Both", 3))]
    namesrv.call(registration(), body_of(*topics))

    def names(answer: RemotingCommand) -> set[str]:
        return set(TopicList.from_bytes(answer.body).topic_list)

    assert names(namesrv.call(GetUnitTopicList())) == {"Unit", "Both"}
    assert names(namesrv.call(GetHasUnitSubTopicList())) == {"UnitSub", "Both"}
    assert names(namesrv.call(GetHasUnitSubUnUnitTopicList())) == {"UnitSub"}


def test_order_topics_reach_routes_and_brokers(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    namesrv.call(PutKVConfig(namespace="ORDER_TOPIC_CONFIG", key="TBW102", value="broker-a:4"))
    route = route_of(namesrv, "TBW102")
    assert route is not None
    assert route.order_topic_conf is None  # as a name server of 4.9 is by default
    assert namesrv.call(UpdateNamesrvConfig(), b"orderMessageEnable=true\n").code == 0
    route = route_of(namesrv, "TBW102")
    assert route is not None
    assert route.order_topic_conf == "broker-a:4"
    answer = namesrv.call(registration(), body_of(_TOPIC))
    assert KVTable.from_bytes(answer.body).table == {"TBW102": "broker-a:4"}
    cluster.broker().restart()
    assert cluster.broker().on_loop(lambda broker: broker.topics.configs["TBW102"].order)
    refused = namesrv.call(UpdateNamesrvConfig(), b"kvConfigPath=/tmp/x\n")
    assert refused.code == ResponseCode.NO_PERMISSION


def test_five_takes_single_topics() -> None:
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.namesrv, version=479) as namesrv:
        queues = QueueData(broker_name="broker-a", read_queue_nums=2, write_queue_nums=2)
        stranger = QueueData(broker_name="stranger", read_queue_nums=2, write_queue_nums=2)
        body = TopicRouteData(queue_datas=(queues, stranger)).to_bytes()
        assert namesrv.call(RegisterTopic(topic="Single"), body).code == 0
        route = route_of(namesrv, "Single")
        assert route is not None
        assert [data.broker_name for data in route.queue_datas] == ["broker-a"]
        assert route.broker_datas[0].enable_acting_master is False
