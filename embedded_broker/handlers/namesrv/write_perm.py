"""205, 327: takes a broker out of writing, and puts it back (`DefaultRequestProcessor`)."""

from __future__ import annotations

from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.remoting.handler_table import NAMESRV, Call, handles
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import (
    AddWritePermOfBroker,
    AddWritePermReply,
    WipeWritePermOfBroker,
    WipeWritePermReply,
)


@handles(WipeWritePermOfBroker, role=NAMESRV)
def wipe_write_perm(server: NameServer, request: WipeWritePermOfBroker, call: Call) -> RemotingCommand:
    count = server.routes.change_write_permission(request.broker_name, writable=False)
    return call.answer(reply=WipeWritePermReply(wipe_topic_count=count))


@handles(AddWritePermOfBroker, role=NAMESRV)
def add_write_perm(server: NameServer, request: AddWritePermOfBroker, call: Call) -> RemotingCommand:
    count = server.routes.change_write_permission(request.broker_name, writable=True)
    return call.answer(reply=AddWritePermReply(add_topic_count=count))
