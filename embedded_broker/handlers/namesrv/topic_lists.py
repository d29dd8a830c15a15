"""206, 224, 304, 311, 312, 313: lists of topics (`DefaultRequestProcessor`)."""

from __future__ import annotations

from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.protocol.bodies_cluster import TopicList
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import (
    GetAllTopicList,
    GetHasUnitSubTopicList,
    GetHasUnitSubUnUnitTopicList,
    GetSystemTopicListFromNs,
    GetTopicsByCluster,
    GetUnitTopicList,
)


def _list(call: Call, topics: tuple[str, ...], *, broker_addr: str | None = None) -> RemotingCommand:
    return call.answer(body=TopicList(topic_list=topics, broker_addr=broker_addr).to_bytes())


@handles(GetAllTopicList, role=NAMESRV)
def get_all_topics(server: NameServer, _request: GetAllTopicList, call: Call) -> RemotingCommand:
    return _list(call, tuple(server.routes.topics))


@handles(GetTopicsByCluster, role=NAMESRV)
def get_topics_by_cluster(server: NameServer, request: GetTopicsByCluster, call: Call) -> RemotingCommand:
    return _list(call, server.routes.topics_of_cluster(request.cluster))


@handles(GetSystemTopicListFromNs, role=NAMESRV)
def get_system_topics(server: NameServer, _request: GetSystemTopicListFromNs, call: Call) -> RemotingCommand:
    clusters = server.routes.clusters()
    names = tuple(name for cluster, brokers in clusters.items() for name in (cluster, *brokers))
    some_broker = next(
        (address for known in server.routes.brokers.values() for address in known.addresses.values()), None
    )
    return _list(call, names, broker_addr=some_broker)


@handles(GetUnitTopicList, role=NAMESRV)
def get_unit_topics(server: NameServer, _request: GetUnitTopicList, call: Call) -> RemotingCommand:
    return _list(call, server.routes.unit_topics())


@handles(GetHasUnitSubTopicList, role=NAMESRV)
def get_unit_sub_topics(server: NameServer, _request: GetHasUnitSubTopicList, call: Call) -> RemotingCommand:
    return _list(call, server.routes.unit_sub_topics(only_not_unit=False))


@handles(GetHasUnitSubUnUnitTopicList, role=NAMESRV)
def get_unit_sub_ununit_topics(
    server: NameServer, _request: GetHasUnitSubUnUnitTopicList, call: Call
) -> RemotingCommand:
    return _list(call, server.routes.unit_sub_topics(only_not_unit=True))
