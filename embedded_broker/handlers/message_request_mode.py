"""400: asks for a client's queues; 401: sets whether a group pulls or pops; 402: tells all modes."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_broker.broker import Broker
from embedded_broker.handlers.pop_checks import FEW_QUEUES, pop_of
from embedded_broker.handlers.queue_tables import in_portions
from embedded_broker.pop.assignments import assigned, mode_of
from embedded_broker.pop.service import Pop
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.slices import Steps, at_once
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import QueueData
from mqctl.protocol.bodies_pop import Assignment, AssignmentQuery, Assignments, MessageRequestMode
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_pop import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode


@handles(QueryAssignment)
def query_assignment(broker: Broker, _request: QueryAssignment, call: Call) -> None:
    query = AssignmentQuery.from_bytes(call.command.body)
    pop = pop_of(broker)

    def answer(readable: tuple[QueueData, ...]) -> None:
        steps = _assigned(pop, query, readable, call)
        if sum(data.read_queue_nums for data in readable) <= FEW_QUEUES:
            call.resume(lambda: at_once(steps))
        else:
            call.resume(lambda: broker.slices.answer(call, steps))

    pop.routes.readable(query.topic, answer)


def _assigned(pop: Pop, query: AssignmentQuery, readable: tuple[QueueData, ...], call: Call) -> Steps:
    """Makes the answer; without queues where the broker cannot say: the client keeps what it has."""
    mode = mode_of(pop.ground, pop.modes, query)
    queues = yield from assigned(pop.ground, mode.mode, mode.pop_share_queue_num, query, readable)
    if queues is None:
        return call.answer(body=Assignments().to_bytes())

    def encode(portion: Sequence[MessageQueue]) -> bytes:
        made = tuple(Assignment(message_queue=queue, mode=mode.mode) for queue in portion)
        return Assignments(message_queue_assignments=made).to_bytes()

    return call.answer(body=(yield from in_portions(queues, encode, b'"messageQueueAssignments":[]')))


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
