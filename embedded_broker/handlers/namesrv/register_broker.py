"""103, 104, 322, 904: brokers come, stay and go (`DefaultRequestProcessor` and `RouteInfoManager`).

904 is the light heartbeat of 5.x.
"""

from __future__ import annotations

import zlib
from struct import Struct
from struct import error as StructError

from embedded_broker.namesrv.kv_config import ORDER_TOPICS
from embedded_broker.namesrv.nameserver import BROKER_TIMEOUT_MS, NameServer
from embedded_broker.namesrv.routes import BrokerRegistration
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.errors import RefusedError
from mqctl.model.config import MOST_QUEUES, DataVersion, TopicConfig
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.protocol.bodies_cluster import KVTable, RegisterBrokerBody, TopicConfigTable
from mqctl.protocol.body import BodyError, read_data_version, write_data_version
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import FastjsonError, dump_bytes, loads
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import (
    BrokerHeartbeat,
    QueryDataVersion,
    QueryDataVersionReply,
    RegisterBroker,
    RegisterBrokerReply,
    UnRegisterBroker,
)

_INT = Struct(">i")
_WHOLE_BODY_SINCE = 37
"""Version ordinal (3.0.11) from which the body is a broker body; before, it is the topic table alone."""

_INFLATED_BYTES = 64 * 1024 * 1024


@handles(RegisterBroker, role=NAMESRV, support="partial: filter servers are not kept")
def register_broker(server: NameServer, request: RegisterBroker, call: Call) -> RemotingCommand:
    command = call.command
    if request.body_crc32 and zlib.crc32(command.body) & 0x7FFFFFFF != request.body_crc32:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="crc32 not match")
    broker = BrokerRegistration(
        cluster=request.cluster_name,
        name=request.broker_name,
        broker_id=request.broker_id,
        address=request.broker_addr,
        ha_address=request.ha_server_addr,
        timeout_ms=request.heartbeat_timeout_millis or BROKER_TIMEOUT_MS,
        body_crc=request.body_crc32,
        has_acting_master=bool(request.enable_acting_master),
    )
    topics: list[TopicConfig] | None = None
    version = server.routes.repeated(broker)
    known = version is not None
    if version is None:
        version, topics = _topics(request, command)
        _check_counts(topics)
        known = server.routes.knows(broker, version)
        if known and not server.release.is_v5:  # 5.x puts back a topic that was deleted here only
            topics = None
    master = server.routes.register(broker, call.connection, version, topics, only_missing=known)
    server.watch(call.connection)
    live = server.routes.live.get(master) if master else None
    reply = RegisterBrokerReply(ha_server_addr=live.ha_address, master_addr=master) if live else RegisterBrokerReply()
    orders = server.kv_config.namespace(ORDER_TOPICS)
    return call.answer(reply=reply, body=b"" if orders is None else KVTable(table=orders).to_bytes())


def _topics(request: RegisterBroker, command: RemotingCommand) -> tuple[DataVersion, list[TopicConfig]]:
    if not command.body:
        return DataVersion(), []
    if command.version < _WHOLE_BODY_SINCE:
        table = TopicConfigTable.from_bytes(command.body)
    elif request.compressed:
        return _compressed_topics(command.body)
    else:
        table = RegisterBrokerBody.from_bytes(command.body).topic_config_serialize_wrapper
    return table.data_version, list(table.topic_config_table.values())


def _check_counts(topics: list[TopicConfig]) -> None:
    """Raises RefusedError for a count of queues that no broker has: clients would make a list of so many."""
    for topic in topics:
        for field, count in (("readQueueNums", topic.read_queue_count), ("writeQueueNums", topic.write_queue_count)):
            if not 0 <= count <= MOST_QUEUES:
                reason = f"{field} of topic {topic.name[:200]} is {count}, at most {MOST_QUEUES} are taken"
                raise RefusedError("broker not registered", reason=reason)


def _compressed_topics(body: bytes) -> tuple[DataVersion, list[TopicConfig]]:
    """Reads the compressed form: `name readQueues writeQueues perm filterType` per topic, order and flags lost."""
    try:
        inflater = zlib.decompressobj()
        data = inflater.decompress(body, _INFLATED_BYTES)
        if inflater.unconsumed_tail:
            raise BodyError("A registration cannot be read", reason=f"it is larger than {_INFLATED_BYTES} bytes")
        text, at = _piece(data, 0)
        version = read_data_version(loads(text))
        (count,) = _INT.unpack_from(data, at)
        at += 4
        topics = []
        for _ in range(count):
            text, at = _piece(data, at)
            name, *words, kind = str(text, "utf-8", "replace").split(" ")[:5]
            read, write, perm = (decimal(word, high=MOST_INT32) for word in words)
            if read is None or write is None or perm is None:
                raise BodyError("A compressed registration cannot be read", reason=f"{text[:200]!r} is no topic")
            topics.append(
                TopicConfig(name=name, read_queue_count=read, write_queue_count=write, perm=perm, filter_type=kind)
            )
    except (zlib.error, StructError, ValueError, FastjsonError) as error:
        raise BodyError("A compressed registration cannot be read", reason=str(error)) from error
    return version, topics


def _piece(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = _INT.unpack_from(data, at)
    end = at + 4 + size
    if size < 0 or end > len(data):
        raise BodyError("A compressed registration cannot be read", reason=f"a length says {size}")
    return data[at + 4 : end], end


@handles(UnRegisterBroker, role=NAMESRV)
def unregister_broker(server: NameServer, request: UnRegisterBroker, call: Call) -> RemotingCommand:
    server.routes.unregister(request.broker_name, request.broker_addr, request.broker_id)
    return call.answer()


@handles(QueryDataVersion, role=NAMESRV)
def query_data_version(server: NameServer, request: QueryDataVersion, call: Call) -> RemotingCommand:
    live = server.routes.live.get(request.broker_addr)
    version = read_data_version(loads(call.command.body))
    changed = live is None or live.data_version != version
    if live is None:
        return call.answer(reply=QueryDataVersionReply(changed=True))
    if not changed:
        live.seen_ms = server.clock.now_ms()
    body = dump_bytes(write_data_version(live.data_version, server.release.is_v5))
    return call.answer(reply=QueryDataVersionReply(changed=changed), body=body)


@handles(BrokerHeartbeat, role=NAMESRV, support="partial: only its time counts, no controller listens")
def broker_heartbeat(server: NameServer, request: BrokerHeartbeat, call: Call) -> RemotingCommand:
    live = server.routes.live.get(request.broker_addr)
    if live is not None:
        live.seen_ms = server.clock.now_ms()
    return call.answer()
