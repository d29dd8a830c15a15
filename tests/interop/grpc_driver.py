"""Clients of the Python library for gRPC in one process, driven by lines of JSON; the words are in `kinds.py`."""

from __future__ import annotations

import json
import os
import sys
import threading
from time import time
from typing import Any

_OUT = os.fdopen(os.dup(1), "w")
_WRITING = threading.Lock()


def report(event: str, **values: object) -> None:
    with _WRITING:
        _OUT.write(json.dumps({"event": event, **values}) + "\n")
        _OUT.flush()


def received(message: Any) -> dict[str, object]:
    return {
        "topic": message.topic,
        "body": message.body.decode(),
        "tag": message.tag,
        "keys": sorted(message.keys),
        "properties": dict(message.properties),
        "message_id": message.message_id,
        "attempt": message.delivery_attempt,
    }


class Clients:
    """All clients of the process by name."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from rocketmq.v5.client import ClientConfiguration, Credentials

        keys = Credentials(settings.get("access_key", ""), settings.get("secret_key", ""))
        self._configuration = ClientConfiguration(settings["endpoints"], keys)
        self._tls = settings.get("tls", False)
        self._clients: dict[str, Any] = {}
        self._held: dict[str, list[Any]] = {}

    def do(self, command: dict[str, Any]) -> bool:
        """Does one command; returns whether there may be another."""
        getattr(self, f"_{command['do']}")(command)
        goes_on: bool = command["do"] != "stop"
        return goes_on

    def _producer(self, command: dict[str, Any]) -> None:
        from rocketmq.grpc_protocol import TransactionResolution
        from rocketmq.v5.producer.producer import Producer, TransactionChecker

        class Checker(TransactionChecker):  # type: ignore[misc]
            def check(self, message: Any) -> Any:
                body = message.body.decode()
                report("checked", body=body)
                # A broker may ask before it was told: the answer is what it is told.
                return TransactionResolution.Value("ROLLBACK" if body == "rollback" else command["check"])

        checker = Checker() if command.get("check") else None
        self._start("producer", Producer(self._configuration, command["topics"], checker, tls_enable=self._tls))

    def _simple(self, command: dict[str, Any]) -> None:
        from rocketmq.v5.consumer.simple.simple_consumer import SimpleConsumer

        subscription = {command["topic"]: self._filter(command)}
        consumer = SimpleConsumer(
            self._configuration, command["group"], subscription, await_duration=5, tls_enable=self._tls
        )
        self._start(command["name"], consumer)

    def _push(self, command: dict[str, Any]) -> None:
        from rocketmq.v5.consumer.push.message_listener import ConsumeResult, MessageListener
        from rocketmq.v5.consumer.push.push_consumer import PushConsumer

        class Listener(MessageListener):  # type: ignore[misc]
            def __init__(self) -> None:
                self.failures = command.get("failures", 0)

            def consume(self, message: Any) -> Any:
                report("message", name=command["name"], **received(message))
                if self.failures or message.body.decode() == command.get("failing"):
                    self.failures = max(0, self.failures - 1)
                    return ConsumeResult.FAILURE
                return ConsumeResult.SUCCESS

        subscription = {command["topic"]: self._filter(command)}
        consumer = PushConsumer(self._configuration, command["group"], Listener(), subscription, tls_enable=self._tls)
        self._start(command["name"], consumer)

    @staticmethod
    def _filter(command: dict[str, Any]) -> Any:
        from rocketmq.grpc_protocol import FilterType
        from rocketmq.v5.model.filter_expression import FilterExpression

        kind = FilterType.SQL if command.get("sql") else FilterType.TAG
        return FilterExpression(command.get("expression", "*"), kind)

    def _start(self, name: str, client: Any) -> None:
        client.startup()
        self._clients[name] = client
        report("ready")

    def _send(self, command: dict[str, Any]) -> None:
        from rocketmq.v5.model.message import Message

        message = Message()
        message.topic, message.body = command["topic"], command["body"].encode()
        if "tag" in command:
            message.tag = command["tag"]
        for key in command.get("keys", ()):
            message.keys = key
        for name, value in command.get("properties", {}).items():
            message.add_property(name, value)
        if "message_group" in command:
            message.message_group = command["message_group"]
        if "delay_ms" in command:
            message.delivery_timestamp = int(time() + command["delay_ms"] / 1000)
        producer = self._clients["producer"]
        transaction: Any = producer.begin_transaction() if "transaction" in command else None
        receipt = producer.send(message, transaction)
        if command.get("transaction") == "commit":
            transaction.commit()
        elif command.get("transaction") == "rollback":
            transaction.rollback()
        report("sent", message_id=receipt.message_id, handle=receipt.recall_handle)

    def _recall(self, command: dict[str, Any]) -> None:
        report("recalled", message_id=self._clients["producer"].recall_message(command["topic"], command["handle"]))

    def _receive(self, command: dict[str, Any]) -> None:
        messages = self._clients[command["name"]].receive(command.get("most", 16), command.get("invisible_s", 15))
        self._held[command["name"]] = messages
        report("received", messages=[received(message) for message in messages])

    def _ack(self, command: dict[str, Any]) -> None:
        for message in self._held.pop(command["name"], ()):
            self._clients[command["name"]].ack(message)
        report("acked")

    def _invisible(self, command: dict[str, Any]) -> None:
        for message in self._held[command["name"]]:
            self._clients[command["name"]].change_invisible_duration(message, command["seconds"])
        report("changed")

    def _stop(self, _command: dict[str, Any]) -> None:
        for client in self._clients.values():
            client.shutdown()
        report("stopped")


def main() -> None:
    clients = Clients(json.loads(sys.argv[1]))
    report("ready")
    for line in sys.stdin:
        try:
            if not clients.do(json.loads(line)):
                break
        except Exception as error:  # noqa: BLE001 - whatever the library raises is reported
            report("failed", reason=f"{type(error).__name__}: {error}")
    os._exit(0)  # threads of the library outlive its shutdown


if __name__ == "__main__":
    main()
