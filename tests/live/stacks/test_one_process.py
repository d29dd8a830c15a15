"""`stacks dump` of two members that live in one process counts its threads once, and says how to see all calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.received import Consumed
from tests.client.consuming import Heard, quick, quick_client
from tests.live.conftest import Run

HINT = "one frame of each stack is shown; --calls shows all calls"


@pytest.fixture(scope="module", params=["5.3.3"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Stacks are the clients' matter: one release of the brokers is enough."""
    with EmbeddedCluster(brokers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def two(cluster: EmbeddedCluster) -> Iterator[None]:
    """Two members of G in this process, with one thread each, both at a message that they do not finish."""
    over = Event()
    with ExitStack() as stack:
        stack.callback(over.set)
        heard = []
        for name in ("one", "two"):

            def waits(_: object) -> Consumed:
                over.wait(60)
                return Consumed.SUCCESS

            listener = Heard(waits)
            settings = quick(threads=1, await_termination_ms=0)
            consumer = PushConsumer("G", quick_client(cluster, instance_name=name), listener, settings)
            consumer.subscribe("Pay", "*")
            stack.enter_context(consumer)
            heard.append(listener)
        yield


def test_threads_of_one_process_are_counted_once_and_calls_are_offered(live: Run, two: None) -> None:
    dump = ("stacks", "dump", "G", "--dumps", "1")
    machine = live(*dump, "-o", "json")
    assert len(machine.json["instances"]) == 2
    threads = [
        sum(group["thread_count"] for group in item["groups"] if group["role"] == "consume")
        for item in machine.json["instances"]
    ]
    assert threads == [2, 2], machine.stdout
    said = live(*dump).stdout
    assert "(one process)" in said
    assert HINT in said
    assert [line.split()[:2] for line in said.splitlines() if "  wait  " in line] == [["2", "wait"]], said
    assert "(--all shows them)" in said
    both = "in one process (members 127.0.0.1@one, 127.0.0.1@two), 2 wait at "
    assert (said.count("MQ323"), both in said, "as well in" in said) == (1, True, False), said
    assert "the stacks do not show for what (another thread, or native code)" in said
    assert "同一进程（成员 127.0.0.1@one, 127.0.0.1@two）" in live(*dump, "--lang", "zh").stdout
    words = live("doctor", "G", "--stacks", "--only", "MQ323", "--time-scale", "1000").stdout
    assert (words.count("WARNING  MQ323") + words.count("ERROR  MQ323"), both in words) == (1, True), words
    everything = live(*dump, "--all").stdout
    assert "(--all shows them)" not in everything
    assert HINT not in live(*dump, "--calls").stdout
