"""2001, 2002, 2003: limits of reads of cold data by group (`ColdDataCgCtrService` of 5.3.3).

They are kept in memory and answered. No read is counted as cold, nor held up: `coldDataFlowControlEnable` is off by
default, and a file that is read with `pread` says nothing of where it was.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.model.numbers import decimal
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import parse_settings
from mqctl.protocol.requests_v5 import (
    GetColdDataFlowCtrInfo,
    RemoveColdDataFlowCtrConfig,
    UpdateColdDataFlowCtrConfig,
)

_OF_A_GROUP, _OF_ALL = "cgColdReadThreshold", "globalColdReadThreshold"
_BYTES = {_OF_A_GROUP: 3 * 1024 * 1024, _OF_ALL: 100 * 1024 * 1024}
_SUPPORT = "partial: limits are kept and answered, no read is held up"


@handles(UpdateColdDataFlowCtrConfig, support=_SUPPORT)
def limit_cold_reads(broker: Broker, _request: UpdateColdDataFlowCtrConfig, call: Call) -> RemotingCommand:
    """A limit that is no number is passed over."""
    for group, text in parse_settings(call.command.body).items():
        limit = decimal(text)
        if limit is not None:
            broker.groups.cold_read_limits[group] = limit
    return call.answer()


@handles(RemoveColdDataFlowCtrConfig, support=_SUPPORT)
def free_cold_reads(broker: Broker, _request: RemoveColdDataFlowCtrConfig, call: Call) -> RemotingCommand:
    broker.groups.cold_read_limits.pop(call.command.body.decode("utf-8", "replace"), None)
    return call.answer()


@handles(GetColdDataFlowCtrInfo, support=_SUPPORT)
def cold_reads(broker: Broker, _request: GetColdDataFlowCtrInfo, call: Call) -> RemotingCommand:
    limits = {"runtimeTable": {}, "configTable": broker.groups.cold_read_limits, **_BYTES, "globalAcc": 0}
    return call.answer(body=dump_bytes(limits))
