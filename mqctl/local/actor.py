"""`python -m mqctl.local.actor JSON`: one consumer or producer of a scenario, in a process of its own.

It prints one line when it has joined, and ends when its input does: that of a process whose starter was killed does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count, cycle
from pathlib import Path
from threading import Event, Thread
from types import ModuleType

import msgspec

from mqctl.allocation.choice import strategy_of
from mqctl.allocation.rooms import room_rule
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.popping import PopSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key, in_room
from mqctl.errors import MqctlError
from mqctl.local.behaviours import Handle
from mqctl.local.scenario import ConsumerDeclared, StreamDeclared
from mqctl.model.member import MessageModel
from mqctl.model.message import SHARDING_KEY
from mqctl.protocol.codes import V5_3_3

JOINED = "joined"
ROOM_RULE = "prefix:-"


class ActorTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is told.

    Attributes:
        namesrv: `host:port;host:port`, or the URL of an address service.
        endpoint: `host:port` of the gRPC endpoint, for a consumer that speaks gRPC.
        downstream: the server that listeners ask who wait for one.
        listeners: file with the listeners' code, a copy of `mqctl.local.behaviours`: an application's code lies outside
            of mqctl, and so it shows in stacks.
    """

    namesrv: str
    time_scale: float
    consumer: ConsumerDeclared | None = None
    stream: StreamDeclared | None = None
    endpoint: str | None = None
    downstream: str | None = None
    listeners: str = ""


def shrunk(duration_ms: int, time_scale: float) -> int:
    """Returns a period of RocketMQ's at a scenario's time scale."""
    return max(1, round(duration_ms / time_scale))


def client_settings(namesrv: str, time_scale: float, *, name: str, room: str | None = None) -> ClientSettings:
    """Returns Java's settings of a client with all periods at the time scale."""
    usual = ClientSettings(name_servers=namesrv)
    return ClientSettings(
        name_servers=namesrv,
        client_ip="127.0.0.1",
        instance_name=name,
        room=room,
        route_period_ms=shrunk(usual.route_period_ms, time_scale),
        heartbeat_period_ms=shrunk(usual.heartbeat_period_ms, time_scale),
        address_service_period_ms=shrunk(usual.address_service_period_ms, time_scale),
        persist_period_ms=shrunk(usual.persist_period_ms, time_scale),
    )


def consumer_settings(declared: ConsumerDeclared, time_scale: float) -> ConsumerSettings:
    """Returns Java's settings of a consumer with all periods at the time scale."""
    usual = ConsumerSettings()
    return ConsumerSettings(
        message_model=MessageModel[declared.model.upper()],
        consume_from=ConsumeFrom.FIRST_OFFSET,
        threads=declared.threads,
        max_reconsume_times=declared.max_reconsume_times,
        pull_threshold_for_queue=declared.pull_threshold,
        consume_timeout_ms=shrunk(declared.consume_timeout_min * 60_000, time_scale),
        rebalance_period_ms=shrunk(usual.rebalance_period_ms, time_scale),
        lock_period_ms=shrunk(usual.lock_period_ms, time_scale),
        lock_valid_ms=shrunk(usual.lock_valid_ms, time_scale),
        continuous_ms=shrunk(usual.continuous_ms, time_scale),
        unlock_delay_ms=shrunk(usual.unlock_delay_ms, time_scale),
        reset_delay_ms=shrunk(usual.reset_delay_ms, time_scale),
        suspend_queue_ms=shrunk(usual.suspend_queue_ms, time_scale),
        pull_expiry_ms=shrunk(usual.pull_expiry_ms, time_scale),
        failure_delay_ms=shrunk(usual.failure_delay_ms, time_scale),
        correction_delay_ms=shrunk(usual.correction_delay_ms, time_scale),
        retry_locally_delay_ms=shrunk(usual.retry_locally_delay_ms, time_scale),
        broker_suspend_ms=shrunk(usual.broker_suspend_ms, time_scale),
    )


def pop_settings(declared: ConsumerDeclared, time_scale: float) -> PopSettings:
    """Returns how a declared consumer pops, with all periods at the time scale."""
    usual = PopSettings()
    return PopSettings(
        invisible_ms=shrunk((declared.invisible_s or 0) * 1_000, time_scale),
        wait_ms=shrunk(usual.wait_ms, time_scale),
        retry_pauses_ms=tuple([shrunk(pause_ms, time_scale) for pause_ms in usual.retry_pauses_ms]),
        ordered=declared.mode == "orderly",
    )


def consumer(task: ActorTask, declared: ConsumerDeclared) -> PushConsumer:
    """Makes the consumer that is declared."""
    handle = listener(task, declared)

    def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        for message in messages:
            outcome = handle(message)
            if outcome is not Consumed.SUCCESS:
                return outcome
        return Consumed.SUCCESS

    name = declared.instance or declared.name
    client = client_settings(task.namesrv, task.time_scale, name=name, room=declared.room)
    settings = consumer_settings(declared, task.time_scale)
    if declared.invisible_s is not None:
        from mqctl.client.consumer.pop_consumer import PopConsumer

        client = replace(client, links=replace(client.links, version=V5_3_3))
        made: PushConsumer = PopConsumer(
            declared.group, client, listen, settings, pops=pop_settings(declared, task.time_scale)
        )
    else:
        made = PushConsumer(
            declared.group,
            client,
            listen,
            settings,
            mode=ConsumeMode(declared.mode),
            strategy=strategy_of(declared.strategy, room_rule(ROOM_RULE)),
        )
    for topic, expression in declared.topics.items():
        made.subscribe(topic, expression)
    return made


def listener(task: ActorTask, declared: ConsumerDeclared) -> Handle:
    """Returns what the application does with a message."""
    handle: Handle = _application(task.listeners).handler(declared.does, declared.slow_ms, task.downstream)
    return handle


def _application(file: str) -> ModuleType:
    """Loads the listeners as a module of their own."""
    spec = spec_from_file_location(Path(file).stem, file)
    assert spec is not None
    assert spec.loader is not None  # a file that ends in .py has one
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _stream(task: ActorTask, declared: StreamDeclared, ended: Event) -> None:
    """Sends until told otherwise; a send that fails is one of the things that a fault does."""
    keys = keys_in_turn(declared.sharding_keys)
    near = in_room(declared.room, room_rule(ROOM_RULE)) if declared.room else None
    client = client_settings(task.namesrv, task.time_scale, name=declared.producer, room=declared.room)
    with Producer(declared.producer, client) as producer:
        _joined()
        for number in count():
            tag = declared.tags[number % len(declared.tags)] if declared.tags else None
            message = OutgoingMessage(topic=declared.topic, body=b"%d" % number, tags=tag)
            key = next(keys, None)
            try:
                if key is None:
                    producer.send(message, select=near)
                else:
                    producer.send(with_key(message, key), select=by_key(key))
            except MqctlError as error:
                sys.stderr.write(f"{declared.producer}: {error}\n")
            if ended.wait(declared.every_ms / 1000):
                return


def _joined() -> None:
    sys.stdout.write(f"{JOINED}\n")
    sys.stdout.flush()


def run_actor(text: str) -> None:
    """Plays the part until the input ends; threads that are stuck by design are left behind."""
    part = msgspec.json.decode(text, type=ActorTask)
    if part.consumer is not None and part.endpoint is not None:
        from mqctl.local.grpc_consumer import start_grpc_consumer

        start_grpc_consumer(part.consumer, part.endpoint, listener(part, part.consumer))
        _joined()
        _until_input_ends()
    elif part.consumer is not None:
        member = consumer(part, part.consumer)
        member.start()
        _joined()
        _until_input_ends()
    elif part.stream is not None:
        Thread(target=_stream, args=(part, part.stream, Event()), name="producer", daemon=True).start()
        _until_input_ends()
    os._exit(0)


def _until_input_ends() -> None:
    while os.read(sys.stdin.fileno(), 1_024):
        pass


def keys_in_turn(weights: Mapping[str, int]) -> Iterator[str]:
    """Yields keys for ever, each as often in a round as its weight says; nothing without weights."""
    return cycle([key for key, weight in weights.items() for _ in range(weight)])


def with_key(message: OutgoingMessage, key: str) -> OutgoingMessage:
    """Returns the message with a sharding key, which is its index key as well unless it has one."""
    return replace(message, keys=message.keys or key, properties={**message.properties, SHARDING_KEY: key})


if __name__ == "__main__":
    run_actor(sys.argv[1])
