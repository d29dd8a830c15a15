"""46: does a filter expression compile? (`ClientManageProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.consumers.sql_filters import SQL92, TAG
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.filter.sql_tokens import SqlSyntaxError
from mqctl.protocol.bodies_client import ClientConfigCheck
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import CheckClientConfig


@handles(CheckClientConfig)
def check_client_config(broker: Broker, _request: CheckClientConfig, call: Call) -> RemotingCommand:
    subscription = ClientConfigCheck.from_bytes(call.command.body).subscription_data
    if subscription.expression_type in ("", TAG):
        return call.answer()
    if not broker.settings.enable_property_filter:
        remark = f"The broker does not support consumer to filter message by {subscription.expression_type}"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    if subscription.expression_type != SQL92:
        remark = f"no filter is called {subscription.expression_type}"
        return call.answer(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark=remark)
    try:
        broker.filters.compile(subscription.sub_string)
    except SqlSyntaxError as error:
        return call.answer(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark=str(error))
    return call.answer()
