"""A consumer in a process of its own, told by one JSON object on its command line; it ends when its input does."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from mqctl.allocation.rooms import room_rule
from mqctl.allocation.strategies import Average, NearbyRoom
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage


def heard(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
    """Reports every message and is content with all of them."""
    for message in messages:
        sys.stdout.write(json.dumps({"body": message.body.decode(), "tag": message.tags}) + "\n")
    sys.stdout.flush()
    return Consumed.SUCCESS


def main() -> None:
    """Consumes until nobody wants it any more."""
    told_settings = json.loads(sys.argv[1])
    client = ClientSettings(
        name_servers=told_settings["namesrv"],
        client_ip="127.0.0.1",
        instance_name=told_settings["name"],
        room=told_settings.get("room"),
        persist_period_ms=100,
        route_period_ms=300,
        heartbeat_period_ms=300,
    )
    settings = ConsumerSettings(
        consume_from=ConsumeFrom.FIRST_OFFSET, threads=2, rebalance_period_ms=300, failure_delay_ms=50
    )
    rule = room_rule("prefix:-")
    nearby = NearbyRoom(Average(), rule.broker_room, rule.client_room)
    strategy = nearby if told_settings.get("nearby") else Average()
    consumer = PushConsumer(told_settings["group"], client, heard, settings, strategy=strategy)
    for topic, expression in told_settings["topics"].items():
        consumer.subscribe(topic, expression)
    with consumer:
        sys.stdin.read()


if __name__ == "__main__":
    main()
