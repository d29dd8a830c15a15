"""One client of the C++ library in the wheel `rocketmq`, driven by lines of JSON (words: `node/driver.js`)."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

_HOW = "install the development extra: pip install -e '.[dev]'"
_OUT = os.fdopen(os.dup(1), "w")
_WRITING = threading.Lock()
_SEND_TIMEOUT_MS = 10_000
_CONNECT_SECONDS = 60
_AGAIN_SECONDS = 0.05


def report(event: str, **values: object) -> None:
    with _WRITING:
        _OUT.write(json.dumps({"event": event, **values}) + "\n")
        _OUT.flush()


def _text(value: bytes | None) -> str | None:
    return value.decode() if value else None


def received(message: Any) -> dict[str, object]:
    return {
        "topic": message.topic,
        "body": _text(message.body),
        "tags": _text(message.tags),
        "keys": _text(message.keys),
        "msg_id": message.id,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "reconsume_times": message.reconsume_times,
        "commit_log_offset": message.commit_log_offset,
        "delay_level": message.delay_time_level,
    }


def produce(library: Any, settings: dict[str, Any]) -> None:
    """Sends what it is told to: one message, one without an answer, or by a key to one queue."""
    producer = library.Producer(settings["group"], timeout=_SEND_TIMEOUT_MS)
    producer.set_namesrv_addr(settings["namesrv"])
    sign(producer, settings)
    producer.start()
    report("ready")
    for command in commands():
        message = built(library, command)
        if command["do"] == "oneway":
            producer.send_oneway(message)
            report("sent")
            continue
        if "order_by" in command:
            result = connected(producer.send_orderly, message, command["order_by"])
        else:
            result = connected(producer.send_sync, message)
        report("sent", status=result.status.name, msg_id=result.msg_id, queue_offset=result.offset)
    producer.shutdown()


def sign(client: Any, settings: dict[str, Any]) -> None:
    """Gives a client the keys of an account, where it is told to use one."""
    if "access_key" in settings:
        client.set_session_credentials(settings["access_key"], settings["secret_key"], "ALIYUN")


def connected(send: Callable[..., Any], *what: object) -> Any:
    """Sends, once the library has a connection.

    Its heartbeat thread opens the connection to the broker, and a send that finds it half open waits 3 ms, gives up and
    says that there is no route.
    """
    from rocketmq.exceptions import RocketMQException

    deadline = monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return send(*what)
        except RocketMQException as error:
            if "No route info" not in str(error) or monotonic() > deadline:
                raise
            sleep(_AGAIN_SECONDS)


def built(library: Any, command: dict[str, Any]) -> Any:
    """Returns the message that a command describes."""
    message = library.Message(command["topic"])
    message.set_body(command["body"])
    if command.get("tags"):
        message.set_tags(command["tags"])
    if command.get("keys"):
        message.set_keys(command["keys"])
    if command.get("delay_level"):
        message.set_delay_time_level(command["delay_level"])
    for name, value in command.get("properties", {}).items():
        message.set_property(name, value)
    return message


def push(library: Any, settings: dict[str, Any]) -> None:
    """Reports what it is pushed; refuses the first messages if it was asked to."""
    refusals = settings.get("refusals", 0)

    def consume(message: Any) -> None:
        nonlocal refusals
        report("message", **received(message))
        if refusals > 0:
            refusals -= 1
            raise RefusedMessage

    consumer = library.PushConsumer(settings["group"], orderly=settings.get("orderly", False))
    consumer.set_namesrv_addr(settings["namesrv"])
    sign(consumer, settings)
    consumer.set_instance_name(str(os.getpid()))
    consumer.set_thread_count(1)
    consumer.subscribe(settings["topic"], consume, settings.get("expression", "*"))
    consumer.start()
    report("ready")
    for _ in commands():
        raise ValueError("a push consumer knows no command but stop")
    consumer.shutdown()


def pull(library: Any, settings: dict[str, Any]) -> None:
    """Pulls all there is whenever it is told to."""
    consumer = library.PullConsumer(settings["group"])
    consumer.set_namesrv_addr(settings["namesrv"])
    sign(consumer, settings)
    consumer.start()
    report("ready")
    for _ in commands():
        messages = [received(message) for message in consumer.pull(settings["topic"], settings.get("expression", "*"))]
        report("pulled", messages=messages)
    consumer.shutdown()


class RefusedMessage(Exception):
    """Has the library ask for the message again later."""


def commands() -> Iterator[dict[str, Any]]:
    """Gives the commands up to the one that stops the client."""
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "stop":
            return
        yield command


def main() -> int:
    try:
        from rocketmq import client as library
    except (ImportError, OSError) as error:
        report("error", reason=f"the C++ client of the wheel rocketmq does not load ({error}): {_HOW}")
        return 1
    settings = json.loads(sys.argv[1])
    {"producer": produce, "push": push, "pull": pull}[settings["role"]](library, settings)
    report("stopped")
    # The library ends its threads in destructors of static objects, in no certain order.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
