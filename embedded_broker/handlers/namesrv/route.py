"""105, 106, 216, 217, 901: where topics live, and who is there (`DefaultRequestProcessor`)."""

from __future__ import annotations

from dataclasses import replace

from embedded_broker.namesrv.kv_config import ORDER_TOPICS
from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.release import FURTHER_READING
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.model.names import MEMBER_TOPIC_PREFIX
from mqctl.protocol.bodies_cluster import BrokerMemberGroupBody, TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.declared import replaced
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.requests_namesrv import (
    DeleteTopicFromNamesrv,
    GetBrokerClusterInfo,
    GetBrokerMemberGroup,
    GetRouteInfo,
    RegisterTopic,
)

_STANDARD_JSON_SINCE = 401


@handles(GetRouteInfo, role=NAMESRV, fast=True)
def get_route_info(server: NameServer, ext: dict[str, str], call: Call) -> RemotingCommand:
    answer = _route_info(server, ext, call)
    # ClientRequestProcessor of 5.x answers in its own default form, whatever that of the request.
    return replace(answer, serialize_type=SerializeType.JSON) if server.release.is_v5 else answer


def _route_info(server: NameServer, ext: dict[str, str], call: Call) -> RemotingCommand:
    is_v5 = server.release.is_v5
    topic = ext.get("topic", "null")  # a request without topic is answered like one for the topic `null`
    shows_acting = server.settings.get("supportActingMaster") == "true" and not topic.startswith(MEMBER_TOPIC_PREFIX)
    route = server.routes.route(topic, is_v5=is_v5, shows_acting=shows_acting)
    if route is None:
        remark = f"No topic route info in name server for the topic: {topic}{FURTHER_READING[is_v5]}"
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=remark)
    if server.settings["orderMessageEnable"] == "true":
        order = server.kv_config.get(ORDER_TOPICS, topic)
        if order is not None:
            route = replaced(route, order_topic_conf=order)
    standard = call.command.version >= _STANDARD_JSON_SINCE or ext.get("acceptStandardJsonOnly", "").lower() == "true"
    return call.answer(body=route.to_bytes(is_v5=is_v5, browser_compatible=standard))


@handles(GetBrokerClusterInfo, role=NAMESRV)
def get_broker_cluster_info(server: NameServer, _request: GetBrokerClusterInfo, call: Call) -> RemotingCommand:
    is_v5 = server.release.is_v5
    return call.answer(body=server.routes.cluster_info(is_v5=is_v5).to_bytes(is_v5=is_v5))


@handles(GetBrokerMemberGroup, role=NAMESRV)
def get_broker_member_group(server: NameServer, request: GetBrokerMemberGroup, call: Call) -> RemotingCommand:
    members = server.routes.members(request.cluster_name, request.broker_name)
    return call.answer(body=BrokerMemberGroupBody(broker_member_group=members).to_bytes(is_v5=True))


@handles(DeleteTopicFromNamesrv, role=NAMESRV)
def delete_topic(server: NameServer, request: DeleteTopicFromNamesrv, call: Call) -> RemotingCommand:
    server.routes.delete_topic(request.topic, request.cluster_name)
    return call.answer()


@handles(RegisterTopic, role=NAMESRV)
def register_topic(server: NameServer, request: RegisterTopic, call: Call) -> RemotingCommand:
    server.routes.put_queues(request.topic, TopicRouteData.from_bytes(call.command.body).queue_datas)
    return call.answer()
