"""Controller mode of 5.x is absent: its requests are refused, its settings have no effect (docs/limits.md)."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.requests_admin import GetBrokerConfig
from tests.embedded_broker.wire import Peer

EPOCHS = 1007
OF_CONTROLLERS = (902, 903, *range(1001, 1019))
SETTINGS = {"enableControllerMode": "true", "controllerAddr": "127.0.0.1:1"}


def answered(address: str, code: int) -> tuple[int, str | None]:
    with Peer(address) as peer:
        opaque = peer.next_opaque()
        peer.socket.sendall(encode(RemotingCommand(code=code, opaque=opaque)))
        answer = peer.answer_to(opaque)
    return answer.code, answer.remark


@pytest.mark.both_releases
@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_name_servers_and_brokers_refuse_what_controllers_serve(version: str) -> None:
    with EmbeddedCluster(version=version, slaves=1, settings=SETTINGS) as cluster:
        brokers = [cluster.broker(name).address for name in ("broker-a", "broker-a-s")]
        name_servers = [cluster.namesrv] if version == "5.3.3" else []  # older ones say nothing
        for address in (*name_servers, *brokers):
            answers = {code: answered(address, code) for code in OF_CONTROLLERS}
            if version == "5.3.3" and address in brokers:
                assert answers.pop(EPOCHS) == (1, "this request only for controllerMode ")
            assert answers == {code: (3, f" request type {code} not supported") for code in answers}
        with Peer(brokers[0]) as peer:
            config = peer.call(GetBrokerConfig()).body.decode()
    lines = config.splitlines()
    assert {"brokerRole=ASYNC_MASTER", "brokerId=0"} <= set(lines)
    assert ("enableControllerMode=true" in lines) is (version == "5.3.3")  # told, and without effect
