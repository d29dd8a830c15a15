"""343, 345: what a group consumes, for tools of 5.x: its topics, its subscription of one (`AdminBrokerProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.bodies_cluster import TopicList
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_v5 import QuerySubscriptionByConsumer, QueryTopicsByConsumer


@handles(QueryTopicsByConsumer)
def query_topics(broker: Broker, request: QueryTopicsByConsumer, call: Call) -> RemotingCommand:
    topics = tuple(broker.offsets.topics_of(request.group))
    return call.answer(body=TopicList(topic_list=topics, broker_addr=broker.address).to_bytes())


@handles(QuerySubscriptionByConsumer)
def query_subscription(broker: Broker, request: QuerySubscriptionByConsumer, call: Call) -> RemotingCommand:
    subscription = broker.clients.subscription(request.group, request.topic)
    body: dict[str, object] = {"group": request.group}
    if subscription is not None:
        body["subscriptionData"] = subscription.to_json(is_v5=True)
    return call.answer(body=dump_bytes({**body, "topic": request.topic}))
