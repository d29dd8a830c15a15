"""QueryRoute and QueryAssignment (`RouteActivity`): which queues there are, and which a consumer asks.

A topic may have 65,536 queues on each broker: the bytes that all of them share are made once, and a long answer is made
in slices, one of all clients at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.ground import MIXED, checked_group, checked_topic
from embedded_broker.proxy.statuses import Refused, ok
from embedded_broker.remoting.slices import SLICE_SECONDS
from mqctl.model.config import PERM_READ, PERM_WRITE

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.parts import Parts
    from mqctl.protocol.bodies_cluster import QueueData

_EVERY_QUEUE = -1
_ALL_TYPES = (pb.MessageType.NORMAL, pb.MessageType.FIFO, pb.MessageType.DELAY, pb.MessageType.TRANSACTION)
_MOST_BYTES = 16 << 20
"""Of an answer, as of a frame on remoting: each of its queues repeats the addresses that the request gives."""
_FEW_QUEUES = 1_024
_LOOK_AT_CLOCK = 256
_QUEUES_FIELD, _ID_FIELD, _QUEUE_FIELD = 2, 2, 1
"""Numbers of `QueryRouteResponse.message_queues` and `QueryAssignmentResponse.assignments`, `MessageQueue.id`,
`Assignment.message_queue`."""


async def query_route(parts: Parts, request: pb.QueryRouteRequest, _caller: Caller) -> bytes:
    """Answers a topic's queues, at the address under which the client reached this parts. Raises Refused."""
    topic = checked_topic(request.topic)
    kind = parts.ground.topic_type(topic)
    accepted = _ALL_TYPES if kind == MIXED else (pb.MessageType.Value(_known(kind)),)
    route = parts.ground.route(topic)

    def queues() -> Iterator[bytes]:
        for data in route:
            for permission, numbers in _permissions(data):
                queue = pb.MessageQueue(permission=permission, accept_message_types=accepted)
                _place(queue.broker, data.broker_name, request.endpoints)
                for message in _numbered(request.topic, queue, numbers):
                    yield _field(_QUEUES_FIELD, message)

    count = sum(max(data.read_queue_nums, data.write_queue_nums) for data in route)
    answer: bytes = pb.QueryRouteResponse(status=ok()).SerializeToString()
    return answer + await _joined(parts, queues(), count)


def _known(kind: str) -> str:
    return "MESSAGE_TYPE_UNSPECIFIED" if kind == "UNSPECIFIED" else kind


def _place(broker: pb.Broker, name: str, endpoints: pb.Endpoints) -> None:
    broker.name = name
    broker.endpoints.CopyFrom(endpoints)
    if not endpoints.addresses:
        broker.endpoints.scheme = pb.AddressScheme.IPv4


def _permissions(data: QueueData) -> Iterator[tuple[pb.Permission, range]]:
    """Yields the queues of each permission: those only read, those only written, then those that are both."""
    reads = data.read_queue_nums if data.perm & PERM_READ else 0
    writes = data.write_queue_nums if data.perm & PERM_WRITE else 0
    both, most = min(reads, writes), max(reads, writes)
    only = pb.Permission.READ if reads > writes else pb.Permission.WRITE
    yield only, range(most - both)
    yield pb.Permission.READ_WRITE, range(most - both, most)


def _numbered(topic: pb.Resource, queue: pb.MessageQueue, numbers: range) -> Iterator[bytes]:
    """Yields a queue's message with each number, its fields in their order."""
    head, tail = pb.MessageQueue(topic=topic).SerializeToString(), queue.SerializeToString()
    for number in numbers:
        own = bytes((_ID_FIELD << 3,)) + _varint(number) if number else b""  # 0 is the default, and left out
        yield head + own + tail


def _field(number: int, data: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


async def _joined(parts: Parts, pieces: Iterator[bytes], count: int) -> bytes:
    """Joins the pieces of an answer; of a long one in slices, when no other is being made. Raises Refused."""
    if count <= _FEW_QUEUES:
        return b"".join(_bounded(pieces))
    async with parts.long_work:
        made, end = [], monotonic() + SLICE_SECONDS
        for number, piece in enumerate(_bounded(pieces)):
            made.append(piece)
            if not number % _LOOK_AT_CLOCK and monotonic() > end:
                await asyncio.sleep(0)
                end = monotonic() + SLICE_SECONDS
        return b"".join(made)


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > _MOST_BYTES:
            raise Refused(pb.Code.BAD_REQUEST, f"the answer would have more than {_MOST_BYTES:,} bytes")
        yield piece


async def query_assignment(parts: Parts, request: pb.QueryAssignmentRequest, _caller: Caller) -> bytes:
    """Answers what a consumer asks for messages: each broker, or each queue of an orderly group. Raises Refused."""
    topic, name = checked_topic(request.topic), checked_group(request.group)
    group = parts.ground.group(name)
    is_ordered = group is not None and group.consume_message_orderly
    readable = parts.ground.readable(topic)
    if not readable:
        raise Refused(pb.Code.FORBIDDEN, "no readable queue")

    def assignments() -> Iterator[bytes]:
        for data in readable:
            queue = pb.MessageQueue(permission=pb.Permission.READ_WRITE)
            _place(queue.broker, data.broker_name, request.endpoints)
            if is_ordered:
                for message in _numbered(request.topic, queue, range(data.read_queue_nums)):
                    yield _field(_QUEUES_FIELD, _field(_QUEUE_FIELD, message))
            else:
                queue.topic.CopyFrom(request.topic)
                queue.id = _EVERY_QUEUE
                yield _field(_QUEUES_FIELD, _field(_QUEUE_FIELD, queue.SerializeToString()))

    count = sum(data.read_queue_nums for data in readable) if is_ordered else len(readable)
    answer: bytes = pb.QueryAssignmentResponse(status=ok()).SerializeToString()
    return answer + await _joined(parts, assignments(), count)
