"""Drives the C++ client inside the wheel `rocketmq` by commands on stdin, one JSON object a line; answers and events go
to stdout in the same form."""

from __future__ import annotations

import json
import sys
from typing import Any

from rocketmq.client import Message, Producer, PullConsumer, PushConsumer


def say(**value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


class Client:
    """One producer and one consumer."""

    producer: Any = None
    consumer: Any = None

    def do_producer(self, namesrv: str, group: str) -> None:
        self.producer = Producer(group)
        self.producer.set_namesrv_addr(namesrv)
        self.producer.start()

    def do_send(self, topic: str, body: str, tag: str = "", keys: str = "", oneway: bool = False) -> Any:
        message = Message(topic)
        message.set_body(body)
        if tag:
            message.set_tags(tag)
        if keys:
            message.set_keys(keys)
        if oneway:
            self.producer.send_oneway(message)
            return None
        result = self.producer.send_sync(message)
        return {"status": result.status.name, "id": result.msg_id, "offset": result.offset}

    def do_send_orderly(self, topic: str, body: str, key: int) -> Any:
        message = Message(topic)
        message.set_body(body)
        result = self.producer.send_orderly(message, key)
        return {"status": result.status.name, "offset": result.offset}

    def do_consumer(self, namesrv: str, group: str, topic: str, tags: str = "*", orderly: bool = False) -> None:
        self.consumer = PushConsumer(group, orderly=orderly)
        self.consumer.set_namesrv_addr(namesrv)

        def received(message: Any) -> None:
            tag = message.tags.decode() if message.tags else None
            say(event="message", body=message.body.decode(), tag=tag, queue=message.queue_id)

        self.consumer.subscribe(topic, received, tags)
        self.consumer.start()

    def do_pull(self, namesrv: str, group: str, topic: str, tags: str = "*") -> list[str]:
        consumer = PullConsumer(group)
        consumer.offset_table = {}  # the class shares one among all its objects
        consumer.set_namesrv_addr(namesrv)
        consumer.start()
        bodies = [message.body.decode() for message in consumer.pull(topic, tags)]
        consumer.shutdown()
        return bodies

    def do_close(self) -> None:
        for part in (self.consumer, self.producer):
            if part is not None:
                part.shutdown()


def main() -> None:
    client = Client()
    say(event="ready")
    for line in sys.stdin:
        command = json.loads(line)
        verb = command.pop("do")
        try:
            say(event="done", do=verb, result=getattr(client, f"do_{verb}")(**command))
        except Exception as error:  # noqa: BLE001 - whatever the client raises is told to the test
            say(event="failed", do=verb, text=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
