from __future__ import annotations

from pathlib import Path

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_cluster import ClusterInfo, KVTable, TopicList, TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.requests_namesrv import (
    AddWritePermOfBroker,
    DeleteKVConfig,
    GetAllTopicList,
    GetBrokerClusterInfo,
    GetKVConfig,
    GetKVListByNamespace,
    GetRouteInfo,
    GetSystemTopicListFromNs,
    GetTopicsByCluster,
    PutKVConfig,
    WipeWritePermOfBroker,
)
from tests.embedded_broker.wire import Peer


def test_the_broker_has_registered_its_built_in_topics(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="TBW102")).body)
    (queues,) = route.queue_datas
    (data,) = route.broker_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.write_queue_nums, queues.perm) == ("broker-a", 8, 8, 7)
    assert data.broker_addrs == {0: cluster.broker().address}
    assert data.cluster == "DefaultCluster"


def test_a_route_answer_has_the_form_the_version_asks_for(namesrv: Peer) -> None:
    address = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="TBW102")).body).broker_datas[0].broker_addrs[0]
    assert f'"brokerAddrs":{{"0":"{address}"}}'.encode() in namesrv.call(GetRouteInfo(topic="TBW102")).body
    namesrv.version = 393
    assert f'"brokerAddrs":{{0:"{address}"}}'.encode() in namesrv.call(GetRouteInfo(topic="TBW102")).body
    request = GetRouteInfo(topic="TBW102", accept_standard_json_only=True)
    assert f'"brokerAddrs":{{"0":"{address}"}}'.encode() in namesrv.call(request).body


def test_an_unknown_topic_is_refused_in_the_words_of_the_release(namesrv: Peer) -> None:
    answer = namesrv.call(GetRouteInfo(topic="nope"))
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("No topic route info in name server for the topic: nope\nSee http://rocketmq")


def test_cluster_info_and_topic_lists(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    answer = namesrv.call(GetBrokerClusterInfo())
    assert b'"brokerAddrs":{0:' in answer.body
    info = ClusterInfo.from_bytes(answer.body)
    assert info.cluster_addr_table == {"DefaultCluster": ("broker-a",)}
    topics = TopicList.from_bytes(namesrv.call(GetAllTopicList()).body).topic_list
    assert {"TBW102", "SCHEDULE_TOPIC_XXXX", "DefaultCluster", "broker-a", "OFFSET_MOVED_EVENT"} <= set(topics)
    of_cluster = TopicList.from_bytes(namesrv.call(GetTopicsByCluster(cluster="DefaultCluster")).body)
    assert set(of_cluster.topic_list) == set(topics)
    assert TopicList.from_bytes(namesrv.call(GetTopicsByCluster(cluster="other")).body).topic_list == ()
    system = TopicList.from_bytes(namesrv.call(GetSystemTopicListFromNs()).body)
    assert set(system.topic_list) == {"DefaultCluster", "broker-a"}
    assert system.broker_addr == cluster.broker().address


def test_key_value_configuration_is_kept_in_its_file(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    assert namesrv.call(GetKVConfig(namespace="NS", key="k")).code == ResponseCode.QUERY_NOT_FOUND
    namesrv.call(PutKVConfig(namespace="NS", key="k", value="v 1 中"))
    assert namesrv.call(GetKVConfig(namespace="NS", key="k")).ext("value") == "v 1 中"
    cluster.stop_name_server()
    cluster.start_name_server()
    with Peer(cluster.namesrv) as again:
        table = KVTable.from_bytes(again.call(GetKVListByNamespace(namespace="NS")).body).table
        assert table == {"k": "v 1 中"}
        again.call(DeleteKVConfig(namespace="NS", key="k"))
        assert again.call(GetKVConfig(namespace="NS", key="k")).code == ResponseCode.QUERY_NOT_FOUND
    assert (Path(cluster.data_dir) / "namesrv" / "kvConfig.json").read_bytes() == b'{"configTable":{"NS":{}}}'


def test_write_permission_is_wiped_and_given_back(namesrv: Peer) -> None:
    count = len(TopicList.from_bytes(namesrv.call(GetAllTopicList()).body).topic_list)
    wiped = namesrv.call(WipeWritePermOfBroker(broker_name="broker-a"))
    assert wiped.ext("wipeTopicCount") == str(count)
    route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="TBW102")).body)
    assert route.queue_datas[0].perm == 5
    assert namesrv.call(AddWritePermOfBroker(broker_name="broker-a")).ext("addTopicCount") == str(count)
    route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="TBW102")).body)
    assert route.queue_datas[0].perm == 6


def test_a_stopped_broker_leaves_the_route_and_comes_back(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    address = cluster.broker().address
    cluster.broker().stop()
    assert namesrv.call(GetRouteInfo(topic="TBW102")).code == ResponseCode.TOPIC_NOT_EXIST
    cluster.broker().start()
    route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="TBW102")).body)
    assert route.broker_datas[0].broker_addrs == {0: address}


def test_a_killed_broker_leaves_the_route_with_its_connection(cluster: EmbeddedCluster, namesrv: Peer) -> None:
    cluster.broker().kill()
    assert namesrv.call(GetRouteInfo(topic="TBW102")).code == ResponseCode.TOPIC_NOT_EXIST
