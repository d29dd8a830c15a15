"""200, 225, 207, 201, 352, 353: consumer groups by hand: replaces the settings of one or many, deletes one, reads them.

Source: `AdminBrokerProcessor`.

Offsets go along with a group when `removeOffset` (4.9) or `cleanOffset` (5.x) says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.tables.attributes import AttributeRefused, altered
from mqctl.errors import BadInputError
from mqctl.model.config import PERM_READ, SubscriptionGroupConfig
from mqctl.protocol.bodies_cluster import GroupForbidden
from mqctl.protocol.body import read_group_config, write_group_config
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes, loads
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    DeleteSubscriptionGroup,
    GetAllSubscriptionGroupConfig,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_v5 import (
    CreateSubscriptionGroupList,
    GetSubscriptionGroupConfig,
    UpdateGroupForbidden,
)


@handles(UpdateAndCreateSubscriptionGroup)
def put_group(broker: Broker, request: UpdateAndCreateSubscriptionGroup, call: Call) -> RemotingCommand:
    return _put(broker, call, lambda node: [node])


@handles(CreateSubscriptionGroupList)
def put_groups(broker: Broker, request: CreateSubscriptionGroupList, call: Call) -> RemotingCommand:
    return _put(broker, call, lambda node: node.get("groupConfigList") if isinstance(node, dict) else None)


def _put(broker: Broker, call: Call, items_of: Callable[[object], object]) -> RemotingCommand:
    """Replaces the settings of groups; which topics they may not read stays."""
    try:
        items = items_of(loads(call.command.body))
        if not isinstance(items, list):
            raise BadInputError("The groups cannot be read", reason="there is no list of them")
        configs = [_config(broker, node) for node in items]
    except AttributeRefused as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"java.lang.RuntimeException: {error.message}")
    except BadInputError as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
    for config in configs:
        broker.groups.put(config)
    return call.answer()


def _config(broker: Broker, node: object) -> SubscriptionGroupConfig:
    """Reads a group's settings. Raises AttributeRefused, BadInputError."""
    config = read_group_config(node)
    given = node.get("attributes") if isinstance(node, dict) and broker.release.is_v5 else None
    changes = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    known = broker.groups.find(config.name)
    attributes = altered(known.attributes if known is not None else None, changes, {})
    return replace(config, attributes=attributes, forbidden=known.forbidden if known is not None else {})


@handles(UpdateGroupForbidden)
def forbid_topic(broker: Broker, request: UpdateGroupForbidden, call: Call) -> RemotingCommand:
    """Has a group not pull a topic, or lets it; that it may takes back what it was forbidden of all topics."""
    config = broker.groups.find(request.group)
    if config is not None and request.readable is not None:
        forbidden = {} if request.readable else {**config.forbidden, request.topic: PERM_READ}
        if forbidden != config.forbidden:
            config = broker.groups.put(replace(config, forbidden=forbidden))
    readable = config is None or not config.forbidden.get(request.topic, 0) & PERM_READ
    body = GroupForbidden(group=request.group, readable=readable, topic=request.topic).to_bytes(is_v5=True)
    return call.answer(remark="", body=body)


@handles(DeleteSubscriptionGroup)
def delete_group(broker: Broker, request: DeleteSubscriptionGroup, call: Call) -> RemotingCommand:
    broker.groups.delete(request.group_name)
    if request.clean_offset if broker.release.is_v5 else request.remove_offset:
        broker.offsets.forget_group(request.group_name)
    if broker.settings.auto_delete_unused_stats:
        broker.stats.forget_group(request.group_name)
    return call.answer()


@handles(GetAllSubscriptionGroupConfig)
def get_all_groups(broker: Broker, request: GetAllSubscriptionGroupConfig, call: Call) -> RemotingCommand:
    return call.answer(body=broker.groups.table().to_bytes(is_v5=broker.release.is_v5))


@handles(GetSubscriptionGroupConfig)
def get_group(broker: Broker, request: GetSubscriptionGroupConfig, call: Call) -> RemotingCommand:
    """A broker that creates groups by itself creates the one that is asked for."""
    config = broker.groups.find_or_create(request.group)
    if config is None:
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark="No group in this broker")
    return call.answer(body=dump_bytes(write_group_config(config, broker.release.is_v5)))
