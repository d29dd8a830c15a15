"""100, 101, 102, 219: keys and values of the name server (`DefaultRequestProcessor` and `KVConfigManager`).

All of them together are bounded; real name servers take what comes.
"""

from __future__ import annotations

from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import (
    DeleteKVConfig,
    GetKVConfig,
    GetKVConfigReply,
    GetKVListByNamespace,
    PutKVConfig,
)


@handles(PutKVConfig, role=NAMESRV)
def put_kv_config(server: NameServer, request: PutKVConfig, call: Call) -> RemotingCommand:
    server.kv_config.put(request.namespace, request.key, request.value)
    return call.answer()


@handles(GetKVConfig, role=NAMESRV)
def get_kv_config(server: NameServer, request: GetKVConfig, call: Call) -> RemotingCommand:
    value = server.kv_config.get(request.namespace, request.key)
    if value is None:
        remark = f"No config item, Namespace: {request.namespace} Key: {request.key}"
        return call.answer(ResponseCode.QUERY_NOT_FOUND, remark=remark)
    return call.answer(reply=GetKVConfigReply(value=value))


@handles(DeleteKVConfig, role=NAMESRV)
def delete_kv_config(server: NameServer, request: DeleteKVConfig, call: Call) -> RemotingCommand:
    server.kv_config.delete(request.namespace, request.key)
    return call.answer()


@handles(GetKVListByNamespace, role=NAMESRV)
def get_kv_list(server: NameServer, request: GetKVListByNamespace, call: Call) -> RemotingCommand:
    table = server.kv_config.namespace(request.namespace)
    if table is None:
        return call.answer(ResponseCode.QUERY_NOT_FOUND, remark=f"No config item, Namespace: {request.namespace}")
    return call.answer(body=KVTable(table=table).to_bytes())
