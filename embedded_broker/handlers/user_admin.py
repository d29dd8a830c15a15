"""3001 to 3005: users of 5.x: creates, changes, deletes one, tells one, lists them, with passwords in plain text.

Source: `AdminBrokerProcessor` of 5.3.3.
"""

from __future__ import annotations

from embedded_broker.acl.rules import PermissionRefused
from embedded_broker.acl.users import Users
from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.model.access import SUPER
from mqctl.protocol.bodies_access import UserInfo
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.declared import replaced
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_v5 import CreateUser, DeleteUser, GetUser, ListUsers, UpdateUser

_NO_USERS = "An system error occurred, please try again later."


def refused_access(_broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    """Returns what the ten requests answer to a refusal of theirs."""
    return Refusal(error.code, error.remark) if isinstance(error, PermissionRefused) else None


def users_of(broker: Broker) -> Users:
    """Returns the users of a broker. Raises Refusal where it has none because nothing is switched on."""
    users = broker.access.users
    if users is None or not users.is_served:
        raise Refusal(ResponseCode.SYSTEM_ERROR, _NO_USERS)
    return users


def _given(name: str, call: Call) -> UserInfo:
    if not name:
        raise Refusal(ResponseCode.INVALID_PARAMETER, "The username is blank")
    return replaced(UserInfo.from_bytes(call.command.body), username=name)


def _only_super(users: Users, call: Call, verb: str, *kinds: UserInfo | None) -> None:
    """Passes when no Super user is concerned, or a Super user asks. Raises Refusal."""
    if any(item is not None and item.user_type == SUPER for item in kinds) and not users.is_super(call.command):
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"The super user can only be {verb} by super user")


@handles(CreateUser, words=refused_access)
def create_user(broker: Broker, request: CreateUser, call: Call) -> RemotingCommand:
    users, given = users_of(broker), _given(request.username, call)
    _only_super(users, call, "create", given)
    users.create(given)
    return call.answer(remark=NO_REMARK_SET)


@handles(UpdateUser, words=refused_access)
def update_user(broker: Broker, request: UpdateUser, call: Call) -> RemotingCommand:
    users, given = users_of(broker), _given(request.username, call)
    _only_super(users, call, "update", given, users.user(request.username))
    users.update(given)
    return call.answer(remark=NO_REMARK_SET)


@handles(DeleteUser, words=refused_access)
def delete_user(broker: Broker, request: DeleteUser, call: Call) -> RemotingCommand:
    users = users_of(broker)
    _only_super(users, call, "delete", users.user(request.username))
    users.delete(request.username)
    return call.answer(remark=NO_REMARK_SET)


@handles(GetUser)
def tell_user(broker: Broker, request: GetUser, call: Call) -> RemotingCommand:
    user = users_of(broker).user(request.username)
    return call.answer(remark=NO_REMARK_SET, body=b"" if user is None else user.to_bytes())


@handles(ListUsers)
def list_users(broker: Broker, request: ListUsers, call: Call) -> RemotingCommand:
    users = users_of(broker).users(request.filter or "")
    return call.answer(remark=NO_REMARK_SET, body=dump_bytes([user.to_json() for user in users]))
