"""Random stores of pops, a few of those that the command judges, and the moment in which messages come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_pop import pop, popped
from tests.embedded_broker.wire import Peer
from tests.reliability.pop_stores import judge, judge_killed, look_at


@pytest.mark.parametrize("seed", [5, 32, 118, 227])
def test_a_random_store_holds_what_it_is_judged_to_hold(tmp_path: Path, seed: int) -> None:
    judged = judge(seed, tmp_path)
    assert judged.is_right, "\n".join([f"{judged.live} {judged.stored} {judged.true}", *judged.world.log])
    assert any(ledger.handed for ledger in judged.world.groups.values())


@pytest.mark.long
@pytest.mark.parametrize("seed", [9, 11])
def test_a_store_that_a_kill_left_holds_what_the_next_start_finds(tmp_path: Path, seed: int) -> None:
    stored, true, world = judge_killed(seed, tmp_path)
    assert stored == true, "\n".join(world.log)
    assert stored


def test_messages_that_come_back_are_counted_once_at_every_moment() -> None:
    with EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(20):
            assert peer.call(send("T", queues=1), b"x").code == 0
            ((_, receipt),) = popped(pop(peer, max_msg_nums=1, invisible_time=3_000))
        states = [look_at(cluster)["G"]]
        while cluster.now_ms() < receipt.due_ms + 10_000:
            cluster.advance(500)
            states.append(look_at(cluster)["G"])
    assert {sum(counts) for counts in states} == {20}, states
    assert (states[0], states[-1]) == ([0, 20, 0, 0], [0, 0, 0, 20])
