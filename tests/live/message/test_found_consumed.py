"""`message get` of one message says who is past it; where nobody says so at once, the message is shown anyway."""

from __future__ import annotations

import pytest

from embedded_broker import Answer, EmbeddedCluster
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

_ALL_OFFSETS = 43


@pytest.fixture
def found(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """One message has the key `only`; G has not come to it."""
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay", properties={"KEYS": "only"}), b"x").code == 0
    return cluster


def test_the_groups_of_a_single_message_are_shown_with_it(live: Run, found: EmbeddedCluster) -> None:
    one = live("message", "get", "only", "-t", "Pay")
    assert one.exit_code == 0, one.stderr
    assert "CONSUMER GROUP" in one.stdout
    assert [line for line in one.stdout.splitlines() if line.startswith("G ")], one.stdout
    assert "who consumed it: mqctl message trace " in one.stdout
    assert live("message", "get", "only", "-t", "Pay", "-o", "json").json["messages"][0]["keys"] == "only"
    several = live("message", "get", "k0", "-t", "Pay")
    assert "CONSUMER GROUP" not in several.stdout
    found.fault(_ALL_OFFSETS, Answer(code=1, remark="busy"))
    untold = live("message", "get", "only", "-t", "Pay")
    found.clear_faults()
    assert (untold.exit_code, "CONSUMER GROUP" in untold.stdout, "KEYS = only" in untold.stdout) == (0, False, True)
