"""318, 319: changes of the name server's properties, and all of them; they live as long as the process.

Source: `DefaultRequestProcessor`.
"""

from __future__ import annotations

from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import format_settings, parse_settings
from mqctl.protocol.requests_namesrv import GetNamesrvConfig, UpdateNamesrvConfig

_BLACK_LIST = frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"})


@handles(UpdateNamesrvConfig, role=NAMESRV, support="partial: the properties are not written to a file")
def update_settings(server: NameServer, _request: UpdateNamesrvConfig, call: Call) -> RemotingCommand:
    changes = parse_settings(call.command.body)
    if _BLACK_LIST & changes.keys():
        return call.answer(ResponseCode.NO_PERMISSION, remark="Can not update config in black list.")
    for name, value in changes.items():
        if name in server.settings:
            server.settings[name] = value
    return call.answer()


@handles(GetNamesrvConfig, role=NAMESRV)
def get_settings(server: NameServer, _request: GetNamesrvConfig, call: Call) -> RemotingCommand:
    return call.answer(body=format_settings(server.settings))
