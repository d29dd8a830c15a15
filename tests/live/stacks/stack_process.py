"""A consumer whose listener does one thing, in a process of its own; it ends when its input does.

Told by one JSON object on its command line: `namesrv`, `group` (or several, `G,H`), `name`, `topic`, `does`, `threads`,
`orderly`, and for a listener that asks a server `url`. Prints a line once the listener is in the state it should be in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from tests.live.stacks import stack_states

TOLD = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}


def main() -> None:
    """Consumes until nobody wants it any more."""
    stack_states.TOLD.update({name: str(value) for name, value in TOLD.items()})
    numbers = iter(range(1_000_000))

    def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        for _ in messages:
            stack_states.DOES[TOLD["does"]](next(numbers))
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
    with ExitStack() as running:
        for group in TOLD["group"].split(","):
            mode = ConsumeMode.ORDERLY if TOLD.get("orderly") else ConsumeMode.CONCURRENT
            consumer = PushConsumer(group, client, listen, settings, mode=mode)
            consumer.subscribe(TOLD["topic"], "*")
            running.enter_context(consumer)
        sys.stdin.read()


if __name__ == "__main__":
    main()
