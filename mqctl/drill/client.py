"""`python -m mqctl.drill.client`: a producer or a consumer of a drill, in a process of its own.

What happens is written at once and by one `write`, so that a process that is killed has said all that it did. The
process ends when its input does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep, time_ns
from typing import BinaryIO

import msgspec

from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.pop_consumer import PopConsumer
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage, SendResult, SendStatus
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.packing import ProducerSettings
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from mqctl.client.remoting.answers import AnswerError
from mqctl.drill.client_lines import NOWHERE, READY, SEND, DrillTask, body_of
from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.local.actor import client_settings, consumer_settings, pop_settings, with_key
from mqctl.local.scenario import ConsumerDeclared
from mqctl.model.delay_level import DEFAULT_TABLE
from mqctl.model.numbers import decimal
from mqctl.protocol.acl import Credentials
from mqctl.protocol.codes import V5_3_3, ResponseCode

_OPEN_CODES = frozenset({ResponseCode.SYSTEM_ERROR, ResponseCode.SERVICE_NOT_AVAILABLE})
"""Answers after which the message may be stored all the same."""
_ROUTE_S = 0.05


def say(line: str) -> None:
    """Writes a line of at most PIPE_BUF bytes, whole and at once, whichever thread it comes from."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def now_us() -> int:
    """Returns epoch microseconds."""
    return time_ns() // 1000


def settings_of(task: DrillTask) -> ClientSettings:
    """Returns a client's settings with all periods at the time scale, signed when the task says how."""
    client = client_settings(task.namesrv, task.time_scale, name=task.name)
    links = client.links
    if task.access_key and task.secret_key:
        links = replace(links, credentials=Credentials(task.access_key, task.secret_key))
    if task.mode.startswith("pop"):
        links = replace(links, version=V5_3_3)
    return replace(client, links=links)


class DrillSender:
    """Sends numbered messages one after the other, each order at its rate."""

    def __init__(self, task: DrillTask) -> None:
        self._task = task
        self._numbers = count()
        self._delay_us = 0
        if task.sends == "delayed":
            self._delay_us = (DEFAULT_TABLE.delay_ms(task.delay_level) or 0) * 1000
        once = ProducerSettings(retries=0, send_timeout_ms=3_000)
        self._transactions = TransactionProducer(task.group, settings_of(task), self._check, once)
        self._plain = Producer(task.group, settings_of(task), once)
        self.orders: SimpleQueue[tuple[int, int]] = SimpleQueue()

    def run(self) -> None:
        """Serves orders for ever."""
        sender = self._transactions if self._task.sends == "transactional" else self._plain
        with sender:
            say(READY.decode())
            running: list[tuple[float, int, float]] = []
            while True:
                try:
                    messages, rate = self.orders.get(block=not running)
                    running.append((monotonic(), messages, 1 / rate if rate else 0.0))
                except Empty:
                    pass
                running.sort()
                if running:
                    due, left, pause = running.pop(0)
                    sleep(max(0.0, min(due - monotonic(), _ROUTE_S)))
                    if due <= monotonic():
                        self._one(next(self._numbers))
                        due, left = due + pause, left - 1
                    if left:
                        running.append((due, left, pause))

    def _one(self, number: int) -> None:
        task = self._task
        key = number % task.keys if task.sends == "keyed" else -1
        message = OutgoingMessage(
            topic=task.topic,
            body=body_of(task.name, number, key, task.body_bytes),
            delay_level=task.delay_level if task.sends == "delayed" else 0,
        )
        transactional = task.sends == "transactional"
        say(f"s {now_us()} {number} {key} {self._delay_us} {int(transactional)}")
        began_us = now_us()
        try:
            if transactional:
                sent = self._transactions.send(message, lambda _, __: self._decide(number)).sent
                if sent.status is not SendStatus.SEND_OK:
                    say(f"u {now_us()} {number} {int(sent.status)}")
                return
            if key >= 0:
                result = self._plain.send(with_key(message, str(key)), select=by_key(str(key)))
            else:
                result = self._plain.send(message)
        except MqctlError as error:
            say(f"{_fate(error)} {now_us()} {number} {error.code if isinstance(error, AnswerError) else -1}")
            sys.stderr.write(f"{task.name} {number}: {error}\n")
            sleep(_ROUTE_S)
            return
        if result.status is not SendStatus.SEND_OK:
            say(f"u {now_us()} {number} {int(result.status)}")
            return
        at_us = now_us()
        say(f"a {at_us} {number} {key} {self._place(result)} {at_us - began_us}")

    def _place(self, result: SendResult) -> str:
        """A delayed message lies in a queue of the schedule first."""
        if self._delay_us:
            return NOWHERE
        return f"{result.queue.topic} {result.queue.broker_name} {result.queue.queue_id} {result.queue_offset}"

    def _decide(self, number: int) -> LocalTransactionState:
        say(f"a {now_us()} {number} -1 {NOWHERE} -1")
        every = self._task.rolls_back
        if every and number % every == every - 1:
            say(f"r {now_us()} {number}")
            return LocalTransactionState.ROLLBACK
        if number % 10 == 1:
            return LocalTransactionState.UNKNOWN
        say(f"t {now_us()} {number}")
        return LocalTransactionState.COMMIT

    def _check(self, message: ReceivedMessage) -> LocalTransactionState:
        number = decimal(message.body.split(b" ")[1])
        assert number is not None  # of our own making
        every = self._task.rolls_back
        if every and number % every == every - 1:
            return LocalTransactionState.ROLLBACK
        say(f"t {now_us()} {number}")
        return LocalTransactionState.COMMIT


def _fate(error: MqctlError) -> str:
    if isinstance(error, AnswerError):
        return "u" if error.code in _OPEN_CODES else "f"
    return "f" if isinstance(error, NotFoundError | UsageError) else "u"


def consumer_of(task: DrillTask) -> PushConsumer:
    """Makes the consumer of a task."""
    declared = ConsumerDeclared(
        name=task.name,
        group=task.group,
        topics={task.topic: "*"},
        threads=task.threads,
        model="broadcasting" if task.mode == "broadcast" else "clustering",
        mode="orderly" if task.mode in ("orderly", "pop-orderly") else "concurrent",
        invisible_s=60 if task.mode.startswith("pop") else None,
    )
    settings = consumer_settings(declared, task.time_scale)
    settings = replace(settings, local_offset_dir=Path(task.directory or "."))
    again = Consumed.RECONSUME_LATER if declared.mode == "concurrent" else Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT

    def listen(messages: Sequence[ReceivedMessage], _: ConsumeContext) -> Consumed:
        later = False
        for message in messages:
            if task.work_ms:
                sleep(task.work_ms / 1000)
            producer, number, key = message.body.decode().split(" ", 3)[:3]
            is_refused = bool(task.fails) and (decimal(number) or 0) % task.fails == 0 and not message.reconsume_times
            place = f"{message.queue.topic} {message.queue.broker_name} {message.queue.queue_id} {message.queue_offset}"
            say(f"d {now_us()} {producer} {number} {key} {place} {int(is_refused)}")
            later |= is_refused
        return again if later else Consumed.SUCCESS

    client = settings_of(task)
    if task.mode.startswith("pop"):
        made: PushConsumer = PopConsumer(
            task.group, client, listen, settings, pops=pop_settings(declared, task.time_scale)
        )
    else:
        mode = ConsumeMode("key-ordered" if task.mode == "key-ordered" else declared.mode)
        made = PushConsumer(task.group, client, listen, settings, mode=mode)
    made.subscribe(task.topic, "*")
    return made


def run_client(stream: BinaryIO) -> None:
    """Plays the part until the input ends or says `stop`."""
    task = msgspec.json.decode(stream.readline(), type=DrillTask)
    if task.role == "producer":
        sender = DrillSender(task)
        Thread(target=sender.run, name="sender", daemon=True).start()
        for line in stream:
            word, *numbers = line.decode().split()
            if word != SEND:
                break
            sender.orders.put((decimal(numbers[0]) or 0, decimal(numbers[1]) or 0))
    else:
        member = consumer_of(task)
        member.start()
        say(READY.decode())
        if stream.readline():
            member.shutdown()
    os._exit(0)


if __name__ == "__main__":
    run_client(sys.stdin.buffer)
