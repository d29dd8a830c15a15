"""222, 223, 314, 308, 43, 45: offsets by hand: reset by time, those of clients, copies, corrections, all of them.

Source: `AdminBrokerProcessor`.

5.x with `useServerSideResetOffset` resets in the broker, 4.9 tells the clients.
"""

from __future__ import annotations

from collections.abc import Sequence

from embedded_broker.broker import Broker
from embedded_broker.consumers.clients import ConsumerGroup
from embedded_broker.handlers.durable import confirmed_offsets
from embedded_broker.handlers.queue_tables import EMPTY_TABLE, in_portions
from embedded_broker.log.store import Boundary
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles, sends
from embedded_broker.remoting.slices import Steps, at_once
from mqctl.errors import BadInputError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import (
    ConsumerStatus,
    CorrectionOffsets,
    QueueOffset,
    QueueOffsetList,
    QueueOffsets,
)
from mqctl.protocol.codes import Language, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CloneGroupOffset,
    GetAllConsumerOffset,
    GetAllDelayOffset,
    InvokeBrokerToGetConsumerStatus,
    InvokeBrokerToResetOffset,
    QueryCorrectionOffset,
)
from mqctl.protocol.requests_client import GetConsumerStatus, ResetOffset
from mqctl.store.config_files import DELAY_OFFSETS

_STATUS_TIMEOUT_MS = 5_000
_FEW_QUEUES = 256
# Clients before V3_0_7_SNAPSHOT do not know request 220.
_RESETS_SINCE = 28
_LATEST = _ALL_QUEUES = -1
_NULL_GROUP = (
    'java.lang.NullPointerException: Cannot invoke "org.apache.rocketmq.broker.client.ConsumerGroupInfo.'
    'getChannelInfoTable()" because the return value of "org.apache.rocketmq.broker.client.ConsumerManager.'
    'getConsumerGroupInfo(String)" is null, '
    "org.apache.rocketmq.broker.client.net.Broker2Client.getConsumeStatus(Broker2Client.java:%d)"
)
_NULL_CORRECTION = (
    'java.lang.NullPointerException: Cannot invoke "java.lang.Long.longValue()" because the return value of '
    '"java.util.Map.get(Object)" is null, '
    "org.apache.rocketmq.broker.processor.AdminBrokerProcessor.queryCorrectionOffset(AdminBrokerProcessor.java:2329)"
)
_BEHIND = (1 << 63) - 1

sends(ResetOffset, GetConsumerStatus)


@handles(InvokeBrokerToResetOffset)
def reset_offset(broker: Broker, request: InvokeBrokerToResetOffset, call: Call) -> RemotingCommand | None:
    is_here = broker.release.is_v5 and broker.settings.use_server_side_reset_offset
    steps = _reset_here(broker, request, call) if is_here else _reset_by_members(broker, request, call)
    topic = broker.topics.find(request.topic)
    if topic is None or max(topic.read_queue_count, topic.write_queue_count) <= _FEW_QUEUES:
        return at_once(steps)
    broker.slices.answer(call, steps)
    return None


def _reset_by_members(broker: Broker, request: InvokeBrokerToResetOffset, call: Call) -> Steps:
    topic = broker.topics.find(request.topic)
    if topic is None:
        code = ResponseCode.TOPIC_NOT_EXIST if broker.release.is_v5 else ResponseCode.SYSTEM_ERROR
        remark = f"[reset-offset] reset offset failed, no topic in this broker. topic={request.topic}"
        return call.answer(code, remark=remark)
    table: dict[MessageQueue, int] = {}
    for number in range(topic.write_queue_count):
        yield
        stored = broker.offsets.query(request.group, topic.name, number)
        if stored == _LATEST:
            remark = f"THe consumer group <{request.group}> not exist"
            return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
        if request.timestamp == _LATEST:
            offset_at = broker.storage.max_offset(topic.name, number)
        else:
            offset_at = _by_time(broker, topic.name, number, request.timestamp)
        queue = MessageQueue(topic.name, broker.name, number)
        table[queue] = offset_at if request.is_force or offset_at < stored else stored
    return _tell_members(broker, request, table, call)


def _by_time(broker: Broker, topic: str, number: int, time_ms: int) -> int:
    boundary = Boundary.LOWER if broker.release.is_v5 else Boundary.NEAREST
    return max(0, broker.storage.offset_by_time(topic, number, time_ms, boundary))


def _tell_members(
    broker: Broker, request: InvokeBrokerToResetOffset, table: dict[MessageQueue, int], call: Call
) -> RemotingCommand:
    """The form of what members are told follows the tool that asked: a list for one in C++ (`Broker2Client`)."""
    group = broker.clients.consumers.get(request.group)
    if group is None:
        remark = (
            f"Consumer not online, so can not reset offset, Group: {request.group} Topic: {request.topic} "
            f"Timestamp: {request.timestamp}"
        )
        return call.answer(ResponseCode.CONSUMER_NOT_ONLINE, remark=remark)
    header = ResetOffset(
        topic=request.topic,
        group=request.group,
        timestamp=request.timestamp,
        queue_id=_ALL_QUEUES if broker.release.is_v5 else None,
    )
    plain = body = QueueOffsets(offset_table=table).to_bytes()
    if call.command.language is Language.CPP:
        body = QueueOffsetList(
            offset_table=tuple(
                QueueOffset(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, offset=offset)
                for queue, offset in table.items()
            )
        ).to_bytes()
    for connection, client in group.members.items():
        if client.version < _RESETS_SINCE:
            remark = f"the client does not support this feature. version={client.version}"
            return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
        connection.tell(header.command(opaque=0, oneway=True, body=body, version=broker.release.ordinal))
    return call.answer(remark=NO_REMARK_SET, body=plain)


def _reset_here(broker: Broker, request: InvokeBrokerToResetOffset, call: Call) -> Steps:
    """5.x with useServerSideResetOffset: the broker changes its own table, and tells the next pull of each queue.

    Source: `AdminBrokerProcessor.resetOffsetInner` of 5.3.3. A given offset may be one beyond the end; what an instant
    stands for is not checked, and any instant before 1970 stands for the end.
    """
    topic = broker.topics.find(request.topic)
    if topic is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=f"Topic {request.topic} does not exist")
    if broker.groups.find(request.group) is None:
        remark = f"Group {request.group} does not exist"
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark)
    queue_id = _ALL_QUEUES if request.queue_id is None else request.queue_id
    wanted: dict[int, int] = {}
    if queue_id >= 0 and request.offset is not None and request.offset != _LATEST:
        low, high = broker.storage.min_offset(topic.name, queue_id), broker.storage.max_offset(topic.name, queue_id)
        if not low <= request.offset <= high + 1:
            remark = f"Target offset {request.offset} not in consume queue range [{low}-{high}]"
            return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
        wanted[queue_id] = request.offset
    else:
        for number in [queue_id] if queue_id >= 0 else range(topic.read_queue_count):
            yield
            if request.timestamp < 0:
                wanted[number] = broker.storage.max_offset(topic.name, number)
            else:
                wanted[number] = _by_time(broker, topic.name, number, request.timestamp)
    if not wanted:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="No queues to reset.")
    broker.offsets.check_room(request.group, topic.name, wanted)
    with confirmed_offsets(broker, request.group, topic.name):
        for number, offset in wanted.items():
            broker.offsets.reset(request.group, topic.name, number, offset)

    def encode(portion: Sequence[tuple[int, int]]) -> bytes:
        table = {MessageQueue(topic.name, broker.name, number): offset for number, offset in portion}
        return QueueOffsets(offset_table=table).to_bytes(is_v5=True)

    return call.answer(body=(yield from in_portions(wanted.items(), encode, EMPTY_TABLE)))


@handles(InvokeBrokerToGetConsumerStatus)
def get_consumer_status(broker: Broker, request: InvokeBrokerToGetConsumerStatus, call: Call) -> RemotingCommand | None:
    group = broker.clients.consumers.get(request.group)
    if group is None:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=_NULL_GROUP % (246 if broker.release.is_v5 else 243))
    chosen = [
        (client.client_id, connection)
        for connection, client in group.members.items()
        if not request.client_addr or client.client_id == request.client_addr
    ]
    header = GetConsumerStatus(topic=request.topic, group=request.group)
    command = header.command(opaque=0, version=broker.release.ordinal)
    collected: dict[str, dict[MessageQueue, int]] = {}
    waiting = {connection for _, connection in chosen}

    def finish() -> None:
        call.respond(call.answer(remark=NO_REMARK_SET, body=ConsumerStatus(consumer_table=collected).to_bytes()))

    for client_id, connection in chosen:

        def answered(
            answer: RemotingCommand | None, client_id: str = client_id, connection: object = connection
        ) -> None:
            if answer is not None and answer.code == ResponseCode.SUCCESS:
                try:
                    collected[client_id] = dict(ConsumerStatus.from_bytes(answer.body).message_queue_table)
                except BadInputError:
                    collected[client_id] = {}
            waiting.discard(connection)
            if not waiting:
                finish()

        connection.call(command, _STATUS_TIMEOUT_MS, answered)
    if not chosen:
        finish()
    return None


@handles(CloneGroupOffset)
def clone_offsets(broker: Broker, request: CloneGroupOffset, call: Call) -> RemotingCommand:
    """A blank topic copies nothing, as in 4.9.8."""
    topic = request.topic or ""
    if broker.topics.find(topic) is not None and not _not_wanted(
        broker.clients.consumers.get(request.src_group), topic, offline=request.offline
    ):
        with confirmed_offsets(broker, request.dest_group, topic):
            broker.offsets.clone(request.src_group, topic, request.dest_group)
    return call.answer()


def _not_wanted(group: ConsumerGroup | None, topic: str, *, offline: bool) -> bool:
    subscribed = group.subscriptions if group is not None else {}
    return not offline and bool(subscribed) and topic not in subscribed


@handles(
    QueryCorrectionOffset,
    support="partial: filterGroups are left out of the minimum; a real 4.9.8 broker deletes their offsets",
)
def query_correction(broker: Broker, request: QueryCorrectionOffset, call: Call) -> RemotingCommand:
    left_out = {group.strip() for group in (request.filter_groups or "").split(",")}
    smallest: dict[int, int] = {}
    for group in broker.offsets.groups_of(request.topic):
        if group in left_out:
            continue
        for number, offset in broker.offsets.queues(group, request.topic).items():
            if offset >= broker.storage.min_offset(request.topic, number):
                smallest[number] = min(offset, smallest.get(number, offset))
    # 4.9.8 swaps group and topic in this question, and finds nothing to compare with.
    compares = broker.release.is_v5 and request.compare_group not in left_out
    compared = broker.offsets.queues(request.compare_group, request.topic) if compares else {}
    for number, offset in compared.items():
        if number not in smallest:
            return call.answer(ResponseCode.SYSTEM_ERROR, remark=_NULL_CORRECTION)
        if smallest[number] > offset:
            smallest[number] = _BEHIND
    return call.answer(body=CorrectionOffsets(correction_offsets=dict(sorted(smallest.items()))).to_bytes())


@handles(GetAllConsumerOffset)
def get_all_offsets(broker: Broker, request: GetAllConsumerOffset, call: Call) -> RemotingCommand:
    return call.answer(body=broker.offsets.table().to_bytes(is_v5=broker.release.is_v5))


@handles(GetAllDelayOffset)
def get_delay_offsets(broker: Broker, request: GetAllDelayOffset, call: Call) -> RemotingCommand:
    if broker.release.is_v5 and not broker.schedule.is_running:  # later than 4.9, a slave has in memory what it copies
        copied = broker.replication.copied(DELAY_OFFSETS)
        if copied is not None:
            return call.answer(body=copied)
    return call.answer(body=broker.schedule.table().to_bytes(is_v5=broker.release.is_v5))
