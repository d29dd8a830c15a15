"""QueryRoute and QueryAssignment (`RouteActivity`): which queues there are, and which a consumer asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.ground import MIXED, checked_group, checked_topic
from embedded_broker.proxy.statuses import Refused, ok
from mqctl.model.config import PERM_READ, PERM_WRITE

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.parts import Parts
    from mqctl.protocol.bodies_cluster import QueueData

_EVERY_QUEUE = -1
_ALL_TYPES = (pb.MessageType.NORMAL, pb.MessageType.FIFO, pb.MessageType.DELAY, pb.MessageType.TRANSACTION)


async def query_route(parts: Parts, request: pb.QueryRouteRequest, _caller: Caller) -> pb.QueryRouteResponse:
    """Answers a topic's queues, at the address under which the client reached this parts. Raises Refused."""
    topic = checked_topic(request.topic)
    response = pb.QueryRouteResponse(status=ok())
    kind = parts.ground.topic_type(topic)
    accepted = _ALL_TYPES if kind == MIXED else (pb.MessageType.Value(_known(kind)),)
    for data in parts.ground.route(topic):
        for number, permission in enumerate(_permissions(data)):
            queue = response.message_queues.add(id=number, permission=permission, accept_message_types=accepted)
            queue.topic.CopyFrom(request.topic)
            _place(queue.broker, data.broker_name, request.endpoints)
    return response


def _known(kind: str) -> str:
    return "MESSAGE_TYPE_UNSPECIFIED" if kind == "UNSPECIFIED" else kind


def _place(broker: pb.Broker, name: str, endpoints: pb.Endpoints) -> None:
    broker.name = name
    broker.endpoints.CopyFrom(endpoints)
    if not endpoints.addresses:
        broker.endpoints.scheme = pb.AddressScheme.IPv4


def _permissions(data: QueueData) -> list[pb.Permission]:
    """Returns the permission of each queue: those only read, those only written, then those that are both."""
    reads = data.read_queue_nums if data.perm & PERM_READ else 0
    writes = data.write_queue_nums if data.perm & PERM_WRITE else 0
    both = min(reads, writes)
    only = [pb.Permission.READ] * (reads - both) + [pb.Permission.WRITE] * (writes - both)
    return [*only, *([pb.Permission.READ_WRITE] * both)]


async def query_assignment(
    parts: Parts, request: pb.QueryAssignmentRequest, _caller: Caller
) -> pb.QueryAssignmentResponse:
    """Answers what a consumer asks for messages: each broker, or each queue of an orderly group. Raises Refused."""
    topic, name = checked_topic(request.topic), checked_group(request.group)
    group = parts.ground.group(name)
    response = pb.QueryAssignmentResponse(status=ok())
    for data in parts.ground.readable(topic):
        is_ordered = group is not None and group.consume_message_orderly
        for number in range(data.read_queue_nums) if is_ordered else (_EVERY_QUEUE,):
            queue = response.assignments.add().message_queue
            queue.topic.CopyFrom(request.topic)
            queue.id, queue.permission = number, pb.Permission.READ_WRITE
            _place(queue.broker, data.broker_name, request.endpoints)
    if not response.assignments:
        raise Refused(pb.Code.FORBIDDEN, "no readable queue")
    return response
