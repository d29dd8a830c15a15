"""Consumer groups by hand: 200 replaces the settings of one, 207 deletes one, 201 and 352 read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.errors import BadInputError
from mqctl.protocol.body import read_group_config, write_group_config
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes, loads
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    DeleteSubscriptionGroup,
    GetAllSubscriptionGroupConfig,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_five import GetSubscriptionGroupConfig


@handles(UpdateAndCreateSubscriptionGroup)
def put_group(broker: Broker, request: UpdateAndCreateSubscriptionGroup, call: Call) -> RemotingCommand:
    try:
        config = read_group_config(loads(call.command.body))
    except BadInputError as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
    known = broker.groups.get(config.name)
    attributes = _altered(known.attributes if known is not None else {}, config.attributes)
    broker.groups.put(replace(config, attributes=attributes if broker.release.five else {}))
    return call.answer()


def _altered(known: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Applies `{"+name": "value", "-name": ""}` to the attributes of a group (`AttributeUtil` of 5.3.3).

    Whoever reads settings from the wire leaves out the `+`, so a name without a sign is one to be set.
    """
    attributes = dict(known)
    for name, value in changes.items():
        if name.startswith("-"):
            attributes.pop(name[1:], None)
        else:
            attributes[name] = value
    return attributes


@handles(DeleteSubscriptionGroup)
def delete_group(broker: Broker, request: DeleteSubscriptionGroup, call: Call) -> RemotingCommand:
    broker.groups.delete(request.group_name)
    if request.clean_offset if broker.release.five else request.remove_offset:
        broker.offsets.forget_group(request.group_name)
    if broker.settings.auto_delete_unused_stats:
        broker.stats.forget_group(request.group_name)
    return call.answer()


@handles(GetAllSubscriptionGroupConfig)
def get_all_groups(broker: Broker, request: GetAllSubscriptionGroupConfig, call: Call) -> RemotingCommand:
    return call.answer(body=broker.groups.table().to_bytes(five=broker.release.five))


@handles(GetSubscriptionGroupConfig)
def get_group(broker: Broker, request: GetSubscriptionGroupConfig, call: Call) -> RemotingCommand:
    config = broker.groups.get(request.group)
    if config is None:
        remark = f"No group in this broker. group={request.group}"
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark)
    return call.answer(body=dump_bytes(write_group_config(config, broker.release.five)))
