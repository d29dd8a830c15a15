"""Sends beside deliveries that are due, bit maps beside tags, ordered threads: on the machine's own clock.

`python -m benchmarks.deep_live [--messages N]` runs broker and client in one process. N messages of a delay level are
due at once while one producer sends synchronously; half of N messages are pulled through an SQL92 subscription with bit
maps beside tags, decoding included; an orderly consumer with 64 threads has 64 queues whose messages take 20 ms each.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from threading import Event, Lock

from benchmarks.deep_broker import TOPIC, _cpu_s, _message
from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, SubscriptionData
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import Heartbeat, PullMessage, PullMessageReply
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

GROUP, SQL = "GC", "a BETWEEN 1 AND 5"
THREADS, EACH, WORK_S = 64, 40, 0.02
MAPS = {"enablePropertyFilter": "true", "enableConsumeQueueExt": "true", "enableCalcFilterBitMap": "true"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    count: int = parser.parse_args().messages
    logging.getLogger("embedded_broker").setLevel(logging.ERROR)
    taken_s, sends, worst_ms, median_ms = _beside_sends(count)
    print(
        f"{count} delayed messages due at once: delivered in {taken_s:.1f} s; {sends} sends meanwhile, "
        f"p50 {median_ms:.1f} ms, the slowest {worst_ms:.0f} ms"
    )
    tags, sql = _with_bit_maps(count // 2)
    print(f"{count // 4} of {count // 2} messages pulled: {tags:.2f} s by tags, {sql:.2f} s by SQL92 with bit maps, "
          f"{sql / tags:.2f} times")  # fmt: skip
    print(f"64 orderly threads on 64 queues: busy {_busy():.0%} of the time")


def _beside_sends(count: int) -> tuple[float, int, float, float]:
    def fill(broker: Broker) -> None:
        for _ in range(2_000):
            broker.intake.put(_message(broker, "DELAY\x011"))

    with EmbeddedCluster(settings={"messageDelayLevel": "25s"}) as cluster, Peer(cluster.broker().address) as peer:
        began = time.monotonic()
        for _ in range(count // 2_000):
            cluster.broker().on_loop(fill)

        # All wait for 25 s: what became due first waits here until everything is due.
        def hold(broker: Broker) -> None:
            for state in broker.schedule._levels.values():
                if state.timer is not None:
                    state.timer.cancel()

        cluster.broker().on_loop(hold)
        time.sleep(max(0.0, began + 60 - time.monotonic()))
        latencies: list[float] = []
        began = time.monotonic()
        cluster.broker().on_loop(lambda broker: [broker.schedule._wait(s, 0) for s in broker.schedule._levels.values()])
        delivered = 0
        while delivered < count:
            at = time.monotonic()
            assert peer.call(send("Other"), b"x").code == 0
            latencies.append(time.monotonic() - at)
            if len(latencies) % 50 == 0:
                delivered = cluster.broker().on_loop(lambda broker: broker.storage.max_offset(TOPIC, 0))
        taken_s = time.monotonic() - began
    latencies.sort()
    return taken_s, len(latencies), latencies[-1] * 1000, latencies[len(latencies) // 2] * 1000


def _with_bit_maps(count: int) -> tuple[float, float]:
    def fill(broker: Broker) -> None:
        broker.groups.find_or_create(GROUP)
        for number in range(count):
            kind = number % 10
            broker.intake.put(_message(broker, f"a\x01{kind}\x02TAGS\x01T{kind}\x02UNIQ_KEY\x01K{number}"))

    def drained(settings: dict[str, str], kind: str) -> float:
        with EmbeddedCluster(settings=settings) as cluster:
            cluster.broker().on_loop(lambda broker: broker.topics.find_or_create(TOPIC, 1))
            with Peer(cluster.broker().address) as peer:
                text = SQL if kind == "SQL92" else "T1||T2||T3||T4||T5"
                wanted = SubscriptionData(topic=TOPIC, sub_string=text, expression_type=kind, sub_version=1)
                data = ConsumerData(group_name=GROUP, subscription_data_set=(wanted,))
                peer.call(Heartbeat(), HeartbeatData(client_id="c", consumer_data_set=(data,)).to_bytes())
                time.sleep(0.01)  # a message of the subscription's own millisecond is looked at without its bit map
                cluster.broker().on_loop(fill)
                return _cpu_s(lambda: _drain(peer, count, kind, text))

    return drained({}, "TAG"), drained(MAPS, "SQL92")


def _drain(peer: Peer, count: int, kind: str, text: str) -> None:
    offset = got = 0
    while offset < count:
        answer = peer.call(
            PullMessage(
                consumer_group=GROUP,
                topic=TOPIC,
                queue_id=0,
                queue_offset=offset,
                max_msg_nums=32,
                sys_flag=0 if kind == "SQL92" else 4,
                commit_offset=0,
                suspend_timeout_millis=0,
                subscription=text,
                sub_version=1,
                expression_type=kind,
            )
        )
        got += len(decode_messages(answer.body))
        offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
    if got != count // 2:
        raise SystemExit(f"{got} messages by {kind}, {count // 2} were to come")


def _busy() -> float:
    def fill(broker: Broker) -> None:
        broker.topics.find_or_create("Ordered", THREADS)
        for number in range(THREADS * EACH):
            message = _message(broker, "")
            message.topic, message.queue_id = "Ordered", number % THREADS
            broker.intake.put(message)

    lock, done = Lock(), Event()
    spans: list[tuple[float, float]] = []

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        began = time.monotonic()
        time.sleep(WORK_S)
        with lock:
            spans.append((began, time.monotonic()))
            if len(spans) == THREADS * EACH:
                done.set()
        return Consumed.SUCCESS

    with EmbeddedCluster() as cluster:
        cluster.broker().on_loop(fill)
        client = ClientSettings(name_servers=cluster.namesrv, client_ip="127.0.0.1")
        settings = ConsumerSettings(consume_from=ConsumeFrom.FIRST_OFFSET, threads=THREADS)
        consumer = PushConsumer(GROUP, client, listener, settings, mode=ConsumeMode.ORDERLY)
        consumer.subscribe("Ordered")
        with consumer:
            if not done.wait(120):
                raise SystemExit(f"{len(spans)} of {THREADS * EACH} messages were heard")
    wall = max(end for _, end in spans) - min(begin for begin, _ in spans)
    return sum(end - begin for begin, end in spans) / (THREADS * wall)


if __name__ == "__main__":
    main()
