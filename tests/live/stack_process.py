"""A consumer whose listener does one thing, in a process of its own; it ends when its input does.

Told by one JSON object on its command line: `namesrv`, `group`, `name`, `topic`, `does`, `threads`, and for a listener
that asks a server `url`. Prints a line once the listener is in the state it is meant to be in.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence

from mqctl.client.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.instance import ClientSettings
from mqctl.client.push_consumer import PushConsumer
from mqctl.client.received import ConsumeContext, Consumed, ReceivedMessage

TOLD = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
FIRST, SECOND = threading.Lock(), threading.Lock()
MET = threading.Barrier(2)


def ready() -> None:
    """Says that the state is reached."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def sleeps(number: int) -> None:
    ready()
    time.sleep(600)


def asks_a_slow_server(number: int) -> None:
    ready()
    with urllib.request.urlopen(TOLD["url"], timeout=600) as answer:
        answer.read()


def deadlocks(number: int) -> None:
    mine, other = (FIRST, SECOND) if number % 2 else (SECOND, FIRST)
    with mine:
        MET.wait()
        ready()
        with other:
            pass


def waits_for_a_lock(number: int) -> None:
    if number == 0:
        with FIRST:
            ready()
            time.sleep(600)
    ready()
    with FIRST:
        pass


def burns(number: int) -> None:
    ready()
    end = time.monotonic() + 600
    total = 0
    while time.monotonic() < end:
        total += sum(n * n for n in range(1000))


def one_hangs(number: int) -> None:
    """The first message holds the offset; the others are done at once."""
    if number == 0:
        ready()
        threading.Event().wait(600)


def is_content(number: int) -> None:
    ready()


DOES: dict[str, Callable[[int], None]] = {
    "sleep": sleeps,
    "http": asks_a_slow_server,
    "deadlock": deadlocks,
    "lock": waits_for_a_lock,
    "burn": burns,
    "hang": one_hangs,
    "content": is_content,
}


def main() -> None:
    """Consumes until nobody wants it any more."""
    numbers = iter(range(1_000_000))

    def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        for _ in messages:
            DOES[TOLD["does"]](next(numbers))
        return Consumed.SUCCESS

    client = ClientSettings(
        name_servers=TOLD["namesrv"],
        client_ip="127.0.0.1",
        instance_name=TOLD["name"],
        persist_period_ms=100,
        route_period_ms=300,
        heartbeat_period_ms=300,
    )
    settings = ConsumerSettings(
        consume_from=ConsumeFrom.FIRST_OFFSET,
        threads=TOLD.get("threads", 2),
        rebalance_period_ms=300,
        await_termination_ms=0,
    )
    consumer = PushConsumer(TOLD["group"], client, listen, settings)
    consumer.subscribe(TOLD["topic"], "*")
    with consumer:
        sys.stdin.read()


if __name__ == "__main__":
    main()
