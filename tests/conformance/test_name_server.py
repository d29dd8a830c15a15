"""What name servers answer: routes in both forms of JSON, key and value tables, unknown topics and codes."""

from __future__ import annotations

import pytest

from mqctl.protocol.bodies_cluster import KVTable, TopicList, TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand, SerializeType, encode
from mqctl.protocol.requests_namesrv import (
    DeleteKVConfig,
    GetAllTopicList,
    GetKVConfig,
    GetKVListByNamespace,
    GetRouteInfo,
    GetTopicsByCluster,
    PutKVConfig,
)
from tests.conformance.conftest import Site, eventually
from tests.embedded_broker.wire import Peer

_FAQ = {
    False: "See http://rocketmq.apache.org/docs/faq/ for further details.",
    True: "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
}


@pytest.mark.parametrize(
    ("version", "standard_only", "quoted"), [(0, None, False), (393, None, False), (401, None, True), (0, True, True)]
)
@pytest.mark.parametrize("serialize_type", list(SerializeType))
def test_a_route_in_the_json_that_the_client_can_read(
    site: Site, namesrv: Peer, topic: str, version: int, standard_only: bool | None, quoted: bool,
    serialize_type: SerializeType,
) -> None:  # fmt: skip
    eventually(lambda: namesrv.call(GetRouteInfo(topic=topic)).code == 0)
    with Peer(site.namesrv, version=version, serialize_type=serialize_type) as peer:
        answer = peer.call(GetRouteInfo(topic=topic, accept_standard_json_only=standard_only))
    # Name servers of 5.x answer in their own default form.
    assert (answer.code, answer.serialize_type) == (0, SerializeType.JSON if site.is_v5 else serialize_type)
    assert (b'"brokerAddrs":{"0":"' if quoted else b'"brokerAddrs":{0:"') in answer.body
    assert answer.body.startswith(b'{"brokerDatas":[{"brokerAddrs":')
    route = TopicRouteData.from_bytes(answer.body)
    (data,) = [data for data in route.broker_datas if data.broker_name == site.broker_name]
    assert (data.cluster, data.broker_addrs[0]) == (site.cluster, site.broker)


def test_no_route(site: Site, namesrv: Peer, group: str) -> None:
    answer = namesrv.call(GetRouteInfo(topic=group))
    assert (answer.code, answer.body) == (ResponseCode.TOPIC_NOT_EXIST, b"")
    assert answer.remark == f"No topic route info in name server for the topic: {group}\n{_FAQ[site.is_v5]}"


def test_keys_and_values_of_a_namespace(namesrv: Peer, group: str) -> None:
    missing = namesrv.call(GetKVListByNamespace(namespace=group))
    assert missing.code == ResponseCode.QUERY_NOT_FOUND
    assert namesrv.call(PutKVConfig(namespace=group, key="k1", value="v 1 中")).code == 0
    assert namesrv.call(PutKVConfig(namespace=group, key="k2", value="old")).code == 0
    assert namesrv.call(PutKVConfig(namespace=group, key="k2", value="new")).code == 0
    assert namesrv.call(GetKVConfig(namespace=group, key="k1")).ext("value") == "v 1 中"
    table = KVTable.from_bytes(namesrv.call(GetKVListByNamespace(namespace=group)).body).table
    assert table == {"k1": "v 1 中", "k2": "new"}
    for key in ("k1", "k2"):
        assert namesrv.call(DeleteKVConfig(namespace=group, key=key)).code == 0
    assert namesrv.call(GetKVConfig(namespace=group, key="k1")).code == ResponseCode.QUERY_NOT_FOUND


def test_topics_are_listed(site: Site, namesrv: Peer, topic: str) -> None:
    def listed() -> bool:
        everywhere = TopicList.from_bytes(namesrv.call(GetAllTopicList()).body).topic_list
        here = TopicList.from_bytes(namesrv.call(GetTopicsByCluster(cluster=site.cluster)).body).topic_list
        return topic in everywhere and topic in here

    eventually(listed)
    assert "TBW102" in TopicList.from_bytes(namesrv.call(GetAllTopicList()).body).topic_list


def test_an_unknown_code_is_answered_by_5_and_passed_over_by_4(site: Site, namesrv: Peer) -> None:
    namesrv.socket.sendall(encode(RemotingCommand(code=99_999, opaque=77)))
    assert namesrv.call(GetRouteInfo(topic="TBW102")).code == 0  # by another thread: it may overtake
    if site.is_v5:
        answer = namesrv.answer_to(77)
        assert (answer.code, answer.remark) == (3, " request type 99999 not supported")
    else:
        assert all(command.opaque != 77 for command in namesrv.unasked)
