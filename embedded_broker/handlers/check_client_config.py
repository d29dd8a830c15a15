"""Does a filter expression compile? 46. Only tags are served; SQL92 is refused as with `enablePropertyFilter=false`."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.protocol.bodies_client import ClientConfigCheck
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import CheckClientConfig


@handles(CheckClientConfig, support="partial: SQL92 expressions are refused")
def check_client_config(_broker: Broker, _request: CheckClientConfig, call: Call) -> RemotingCommand:
    subscription = ClientConfigCheck.from_bytes(call.command.body).subscription_data
    if subscription.expression_type in ("", "TAG"):
        return call.answer()
    remark = f"The broker does not support consumer to filter message by {subscription.expression_type}"
    return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
