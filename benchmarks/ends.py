"""Ends of queues that are far away: one request at a time, against what reports and commands do.

`python -m benchmarks.ends [--queues N] [--delay-ms MS]`: a store of N queues behind a URL whose every request takes MS
(an object store answers in 10 to 50), and a topic of N queues on a broker that takes MS for each answer. Ratios are of
one run, side by side; the delays are made, so they say nothing about a network's bandwidth.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from embedded_broker import Delay, EmbeddedCluster
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import sure_bounds
from mqctl.spark.scan.planning import open_store, queue_bounds
from mqctl.spark.scan.remote import AT_ONCE, begin_look, leave
from tests.spark.async_files import Line, behind_url
from tests.store.builder import StoreBuilder, message

_LIMIT_MS = 600_000
_MAX, _MIN = 30, 31


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=200)
    parser.add_argument("--delay-ms", type=int, default=20)
    given = parser.parse_args()
    _store(given.queues, given.delay_ms)
    for queues in (4, given.queues):
        _broker(queues, given.delay_ms)


def _timed(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


def _store(queues: int, delay_ms: int) -> None:
    builder = StoreBuilder()
    for number in range(queues * 3):
        builder.append(message(f"Topic{number % queues}", 0))
    taken = []
    with tempfile.TemporaryDirectory() as place:
        store = builder.write(Path(place) / "store")
        for is_async in (False, True):
            line = Line(delay_s=delay_ms / 1000)
            begin_look(str(is_async))
            with behind_url(store, line, is_async=is_async) as url:
                opened = open_store(url)
                taken.append(_timed(partial(queue_bounds, opened)))
        leave()
    one, many = taken
    print(f"{queues} queues behind a URL, {line.requests} requests of {delay_ms} ms: {one:.2f} s one at a time, "
          f"{many:.2f} s with {AT_ONCE} under way, {one / many:.1f} times as fast")  # fmt: skip


def _broker(queues: int, delay_ms: int) -> None:
    with EmbeddedCluster() as cluster, Cluster(cluster.namesrv) as admin:
        address = cluster.broker().address
        config = TopicConfig(name="Wide", read_queue_count=queues, write_queue_count=queues)
        admin.ask(address, put_topic(config), Deadline(_LIMIT_MS))
        for code in (_MAX, _MIN):
            cluster.fault(code, Delay(delay_ms))
        numbers = range(queues)
        questions = [ask.min_offset("Wide", number) for number in numbers]
        questions += [ask.max_offset("Wide", number) for number in numbers]

        def in_turn() -> None:
            for question in questions:
                admin.ask(address, question, Deadline(_LIMIT_MS))

        def two_flights() -> None:
            asking = Asking(admin, Deadline(_LIMIT_MS))
            for half in (questions[:queues], questions[queues:]):
                asking.put((number, address, question) for number, question in enumerate(half))

        def one_flight() -> None:
            places = {MessageQueue("Wide", "broker-a", number): address for number in numbers}
            sure_bounds(Asking(admin, Deadline(_LIMIT_MS)), places)

        single, two, one = map(_timed, (in_turn, two_flights, one_flight))
    print(
        f"{queues} queues of a topic on a broker, {2 * queues} answers of {delay_ms} ms: {single:.2f} s one at a time, "
        f"{two:.2f} s as two flights, {one:.2f} s as one: {single / one:.1f} and {two / one:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
