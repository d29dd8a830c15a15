"""3006 to 3010: ACLs of 5.x: adds entries to one, deletes one or an entry of it, tells one, lists them.

Source: `AdminBrokerProcessor` of 5.3.3. 3006 and 3007 do the same.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.handlers.user_admin import refused_access, users_of
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from mqctl.protocol.bodies_access import AclInfo
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_v5 import CreateAcl, DeleteAcl, GetAcl, ListAcls, UpdateAcl


@handles(CreateAcl, UpdateAcl, words=refused_access)
def put_acl(broker: Broker, request: CreateAcl | UpdateAcl, call: Call) -> RemotingCommand:
    users_of(broker).merge(request.subject, AclInfo.from_bytes(call.command.body))
    return call.answer(remark=NO_REMARK_SET)


@handles(DeleteAcl, words=refused_access)
def delete_acl(broker: Broker, request: DeleteAcl, call: Call) -> RemotingCommand:
    users_of(broker).drop_acl(request.subject, request.policy_type, request.resource)
    return call.answer(remark=NO_REMARK_SET)


@handles(GetAcl)
def tell_acl(broker: Broker, request: GetAcl, call: Call) -> RemotingCommand:
    users = users_of(broker)
    body = users.acl(request.subject).to_bytes() if users.has_acl(request.subject) else b""
    return call.answer(remark=NO_REMARK_SET, body=body)


@handles(ListAcls)
def list_acls(broker: Broker, request: ListAcls, call: Call) -> RemotingCommand:
    acls = users_of(broker).acls(request.subject_filter or "", request.resource_filter or "")
    return call.answer(remark=NO_REMARK_SET, body=dump_bytes([acl.to_json() for acl in acls]))
