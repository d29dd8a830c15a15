"""26, 25: all properties of the broker; changes of some (`AdminBrokerProcessor`)."""

from __future__ import annotations

import json

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import format_settings, parse_settings
from mqctl.protocol.requests_admin import GetBrokerConfig, GetBrokerConfigReply, UpdateBrokerConfig

_BLACK_LIST = frozenset({"configBlackList", "brokerConfigPath", "rocketmqHome"})


@handles(GetBrokerConfig, support="partial: properties that are not in use are told with their defaults")
def get_broker_config(broker: Broker, request: GetBrokerConfig, call: Call) -> RemotingCommand:
    version = json.dumps({"counter": broker.settings_version, "timestamp": broker.stats.boot_ms}, separators=(",", ":"))
    root = str(broker.directory)
    paths = {"rocketmqHome": root, "storePathRootDir": root, "storePathCommitLog": str(broker.directory / "commitlog")}
    settings = {**broker.settings.configuration(is_v5=broker.release.is_v5), **paths}
    return call.answer(reply=GetBrokerConfigReply(version=version), body=format_settings(settings))


@handles(UpdateBrokerConfig, support="partial: changes last until the broker stops; no file is rewritten")
def update_broker_config(broker: Broker, request: UpdateBrokerConfig, call: Call) -> RemotingCommand:
    changes = parse_settings(call.command.body)
    if _BLACK_LIST & changes.keys():
        return call.answer(ResponseCode.NO_PERMISSION, remark="Can not update config in black list.")
    broker.change_settings(changes)
    return call.answer()
