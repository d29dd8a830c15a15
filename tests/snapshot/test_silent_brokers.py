"""A broker that takes connections and answers nothing is waited for once, whatever is asked of a cluster."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.snapshot.live.gatherer import gather_live, gather_numbers
from mqctl.snapshot.live.lag import gather_live_lag
from tests.client.wire_server import Peer, WireServer, silent
from tests.rules.live_snapshots import NOW

_REFUSED = int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
_PATIENCE_MS = 300


def _asked(silent_count: int, look: str) -> list[set[int]]:
    """What brokers were asked that answer nothing, by broker."""
    servers = [WireServer(silent) for _ in range(silent_count)]
    info = ClusterInfo(
        broker_addr_table={
            f"broker-{number}": BrokerData(
                broker_addrs={0: server.address}, broker_name=f"broker-{number}", cluster="C"
            )
            for number, server in enumerate(servers)
        },
        cluster_addr_table={"C": tuple(f"broker-{number}" for number in range(silent_count))},
    )

    def registered(peer: Peer, command: RemotingCommand) -> None:
        known = command.code == RequestCode.GET_BROKER_CLUSTER_INFO
        peer.send(command.answer(0, body=info.to_bytes()) if known else command.answer(_REFUSED))

    try:
        with (
            WireServer(registered) as name_server,
            Cluster(name_server.address, call_timeout_ms=_PATIENCE_MS) as client,
        ):
            if look == "doctor":
                gather_live(client, Deadline(60_000), now_ms=NOW)
            elif look == "numbers":
                gather_numbers(client, Deadline(60_000), now_ms=NOW, with_consumers=True, with_pop=True)
            else:
                gather_live_lag(client, Deadline(60_000), now_ms=NOW, with_consumers=True, with_pop=True)
        return [{command.code for command in server.requests} for server in servers]
    finally:
        for server in servers:
            server.close()


@pytest.mark.parametrize("look", ["doctor", "numbers", "lag"])
@settings(max_examples=3)
@given(silent_count=st.integers(1, 4))
def test_a_silent_broker_is_asked_one_question(look: str, silent_count: int) -> None:
    assert [len(codes) for codes in _asked(silent_count, look)] == [1] * silent_count
