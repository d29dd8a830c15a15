"""Offsets of a group with members: each way moves exactly as planned, is proven, or says why it was not made."""

from __future__ import annotations

from collections import Counter

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer_settings import ConsumeMode
from tests.client.consuming import Heard, wait_until
from tests.live.conftest import Run
from tests.live.members import member
from tests.live.test_offsets import BEFORE, DO, RESET, offsets

MODES = [ConsumeMode.CONCURRENT, ConsumeMode.ORDERLY]
_COMMIT, _RESET = 15, 222
ENDS = {("broker-a", 0): 5, ("broker-a", 1): 0, ("broker-b", 0): 5, ("broker-b", 1): 0}


@pytest.fixture(params=["told", "server"])
def cluster(request: pytest.FixtureRequest, cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Brokers that tell members, of each release, and brokers that change offsets themselves (5.x)."""
    five = cluster.on_loop(lambda running: running.broker("broker-a").release.five)
    if request.param == "server" and not five:
        pytest.skip("4.9 knows no server-side reset")
    if five:
        setting = {"useServerSideResetOffset": "true" if request.param == "server" else "false"}
        for name in ("broker-a", "broker-b"):
            cluster.broker(name).stop()
            cluster.broker(name).start(settings=setting)
    return cluster


def keeps_up(live: Run, heard: Heard) -> None:
    """Waits until the members have consumed and committed everything."""
    heard.wait_for(4)
    wait_until(lambda: offsets(live) == ENDS, "committed")


def method(cluster: EmbeddedCluster) -> str:
    return cluster.on_loop(
        lambda running: "server" if running.broker("broker-a").settings.use_server_side_reset_offset else "callback"
    )


@pytest.mark.parametrize("mode", MODES)
def test_members_go_back_to_the_earliest_and_consume_all_of_it_again(
    live: Run, cluster: EmbeddedCluster, mode: ConsumeMode
) -> None:
    with member(cluster, mode=mode) as heard:
        keeps_up(live, heard)
        before = len(heard.messages)
        done = live(*RESET, "--to-earliest", *DO)
        assert (done.exit_code, done.json["method"], done.json["state"]) == (0, method(cluster), "confirmed"), done
        assert {row["new"] for row in done.json["queues"]} == {0}
        heard.wait_for(before + 10)
        wait_until(lambda: offsets(live) == ENDS, "committed again")
        again = Counter((message.queue.broker_name, message.queue_offset) for message in heard.messages[before:])
        assert again == Counter({(name, offset): 1 for name in ("broker-a", "broker-b") for offset in range(5)})


@pytest.mark.parametrize("mode", MODES)
def test_members_skip_to_the_latest(live: Run, cluster: EmbeddedCluster, mode: ConsumeMode) -> None:
    with member(cluster, mode=mode, takes=False) as heard:
        heard.wait_for(2)
        assert offsets(live) == BEFORE or mode is ConsumeMode.CONCURRENT
        if mode is ConsumeMode.CONCURRENT:  # what fails goes to the retry topic, and the queue goes on
            return
        done = live(*RESET, "--to-latest", *DO)
        assert (done.exit_code, done.json["method"], offsets(live)) == (0, method(cluster), ENDS), done
