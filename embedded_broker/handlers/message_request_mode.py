"""400: asks for a client's queues; 401: sets whether a group pulls or pops; 402: tells all modes."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.handlers.pop_checks import pop_of
from embedded_broker.pop.assignments import assignments
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_pop import AssignmentQuery, MessageRequestMode
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_pop import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode


@handles(QueryAssignment)
def query_assignment(broker: Broker, _request: QueryAssignment, call: Call) -> None:
    query = AssignmentQuery.from_bytes(call.command.body)
    pop = pop_of(broker)

    def answer(queues: tuple[MessageQueue, ...]) -> None:
        call.respond(call.answer(body=assignments(pop.ground, pop.modes, query, queues).to_bytes()))

    pop.routes.queues(query.topic, answer)


@handles(SetMessageRequestMode)
def set_message_request_mode(broker: Broker, _request: SetMessageRequestMode, call: Call) -> RemotingCommand:
    mode = MessageRequestMode.from_bytes(call.command.body)
    if mode.topic.startswith(RETRY_PREFIX):
        return call.answer(ResponseCode.NO_PERMISSION, remark="retry topic is not allowed to set mode")
    if broker.topics.find(mode.topic) is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=f"topic[{mode.topic}] not exist")
    if broker.groups.find_or_create(mode.consumer_group) is None:
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark="subscription group does not exist")
    pop_of(broker).modes.put(mode)
    return call.answer()


@handles(GetAllMessageRequestMode)
def get_all_message_request_mode(broker: Broker, _request: GetAllMessageRequestMode, call: Call) -> RemotingCommand:
    return call.answer(body=pop_of(broker).modes.table().to_bytes())
