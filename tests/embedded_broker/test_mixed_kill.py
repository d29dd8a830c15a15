"""kill -9 under everything at once: ordered, delayed, transactional and filtered messages, clients that go on.

A broker process is killed again and again and started on its store and ports. In the end no committed message is lost,
none that was rolled back is delivered, filters let through what they should, keys are heard in order but for suffixes
heard again (counted), and the files say what the broker says.
"""

from __future__ import annotations

import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import time_ns
from typing import Any

import pytest

from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.consumer.subscription import SQL92
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.selectors import by_key
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction
from tests.client.consuming import wait_until
from tests.client.sequences import replayed
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer

COMMIT, ROLLBACK = 8, 12
QUEUES, KEYS, ROUNDS = 4, 12, 3
SETTINGS = (
    "mappedFileSizeCommitLog=262144", "mappedFileSizeConsumeQueue=4000", "enablePropertyFilter=true",
    "messageDelayLevel=1s 1s 1s 1s", "transactionCheckInterval=3600000",
)  # fmt: skip


class Traffic:
    """Four senders, each with its own kind of message, that go on until their connection breaks.

    Attributes:
        acknowledged: bodies by topic, of messages that must be delivered.
        forbidden: bodies of messages that must not be: rolled back, or never ended.
    """

    def __init__(self) -> None:
        self.acknowledged: dict[str, set[str]] = defaultdict(set)
        self.forbidden: set[str] = set()
        self._numbers = defaultdict[str, int](int)
        self._lock = threading.Lock()
        self._left = 0
        self._enough = threading.Event()

    def run(self, broker: subprocess.Popen[str], address: str, wanted: int) -> None:
        """Sends, and kills the broker once `wanted` messages are acknowledged."""
        self._left = wanted
        self._enough.clear()
        kinds = (self._ordered, self._delayed, self._transaction, self._filtered)
        senders = [threading.Thread(target=self._send, args=(kind, address)) for kind in kinds]
        for sender in senders:
            sender.start()
        assert self._enough.wait(120)
        broker.kill()
        for sender in senders:
            sender.join(60)

    def _send(self, kind: Callable[[Peer, int], None], address: str) -> None:
        try:
            with Peer(address) as peer:
                while True:
                    number = self._numbers[kind.__name__]
                    self._numbers[kind.__name__] += 1
                    kind(peer, number)
        except OSError:
            return  # the broker is dead; what was not acknowledged may be stored or not

    def _done(self, topic: str, body: str) -> None:
        with self._lock:
            self.acknowledged[topic].add(body)
            self._left -= 1
        if self._left <= 0:
            self._enough.set()

    def _ordered(self, peer: Peer, number: int) -> None:
        key = f"order-{number % KEYS}"
        queues = [MessageQueue("Ordered", "broker-a", queue_id) for queue_id in range(QUEUES)]
        queue_id = by_key(key)(queues, None).queue_id  # type: ignore[arg-type]
        body = f"{key} {number}"
        assert peer.call(send("Ordered", queue_id=queue_id, properties={"KEYS": key}), body.encode()).code == 0
        self._done("Ordered", body)

    def _delayed(self, peer: Peer, number: int) -> None:
        body = f"later {number}"
        properties = {"DELAY": "1", "UNIQ_KEY": f"D{number}"}
        assert peer.call(send("Delayed", queue_id=0, properties=properties), body.encode()).code == 0
        self._done("Delayed", body)

    def _transaction(self, peer: Peer, number: int) -> None:
        body, how = f"paid {number}", (COMMIT, ROLLBACK, None)[number % 3]
        properties = {"UNIQ_KEY": f"T{number}", "TRAN_MSG": "true", "PGROUP": "GP"}
        with self._lock:
            if how != COMMIT:
                self.forbidden.add(body)
        born_ms = time_ns() // 1_000_000
        sent = peer.call(send("Paid", properties=properties, sys_flag=4, born_ms=born_ms), body.encode())
        assert sent.code == 0, sent.remark
        if how is not None:
            end = EndTransaction(
                producer_group="GP",
                tran_state_table_offset=int(sent.ext("queueOffset") or -1),
                commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
                commit_or_rollback=how,
                msg_id=f"T{number}",
            )
            assert peer.call(end).code == 0
        if how == COMMIT:
            self._done("Paid", body)

    def _filtered(self, peer: Peer, number: int) -> None:
        body = f"a {number % 10} {number}"
        properties = {"a": str(number % 10), "TAGS": f"T{number % 3}"}
        assert peer.call(send("Filtered", properties=properties), body.encode()).code == 0
        if number % 10 < 5:
            self._done("Filtered", body)
        else:
            with self._lock:
                self.forbidden.add(body)


class Ears:
    """What consumers heard: bodies, and queue offsets in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.bodies: dict[str, set[str]] = defaultdict(set)
        self.orders: dict[MessageQueue, list[int]] = defaultdict(list)
        self.by_key: dict[str, list[int]] = defaultdict(list)

    def __call__(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        with self._lock:
            for message in messages:
                body = message.body.decode()
                self.bodies[message.topic].add(body)
                if message.topic == "Ordered":
                    self.orders[message.queue].append(message.queue_offset)
                    self.by_key[message.keys[0]].append(int(body.split()[1]))
        return Consumed.SUCCESS


CONSUMING = ConsumerSettings(
    consume_from=ConsumeFrom.FIRST_OFFSET, threads=4, rebalance_period_ms=300, failure_delay_ms=50, lock_period_ms=300,
    suspend_queue_ms=20, correction_delay_ms=50,
)  # fmt: skip


def client(namesrv: str) -> ClientSettings:
    return ClientSettings(
        name_servers=namesrv, client_ip="127.0.0.1", persist_period_ms=200, route_period_ms=300, heartbeat_period_ms=300
    )


@contextmanager
def lasting_consumers(namesrv: str, ears: Ears) -> Iterator[None]:
    """One consumer with an SQL92 condition and one for the rest; they live through all kills."""
    filtered = PushConsumer("GF", client(namesrv), ears, CONSUMING)
    filtered.subscribe("Filtered", "a BETWEEN 0 AND 4", kind=SQL92)
    others = PushConsumer("GC", client(namesrv), ears, CONSUMING)
    others.subscribe("Delayed")
    others.subscribe("Paid")
    with filtered, others:
        yield


def orderly(namesrv: str, ears: Ears) -> PushConsumer:
    """An orderly consumer. One that ends after its broker cannot commit any more: the next one hears a suffix again."""
    made = PushConsumer("GO", client(namesrv), ears, CONSUMING, mode=ConsumeMode.ORDERLY)
    made.subscribe("Ordered")
    return made


def port(address: str) -> str:
    return address.rpartition(":")[2]


def make_topics(address: str) -> None:
    with Links() as links:
        for name in ("Ordered", "Delayed", "Paid", "Filtered"):
            config = TopicConfig(name=name, read_queue_count=QUEUES, write_queue_count=QUEUES)
            links.ask(address, put_topic(config), Deadline(20_000))


def same_answers(mqctl: Callable[..., Outcome], namesrv: str, store: Path, stop: Callable[[], None]) -> None:
    """Asks the broker, ends it, and asks its files."""
    env = {"MQCTL_NAMESRV": namesrv}
    levels = ("--levels", "1s 1s 1s 1s")
    live = [
        mqctl("delay", "levels", "-o", "json", env=env).json["levels"],
        mqctl("transaction", "list", "--count", "100000", "-o", "json", env=env).json,
        mqctl("order", "check", "-t", "Ordered", "--count", "100000", "-o", "json", env=env).json,
        mqctl("delay", "check", "-o", "json", env=env).exit_code,
    ]
    stop()
    assert mqctl("store", "verify", "--store", store).exit_code == 0
    files = [
        mqctl("delay", "levels", "--store", store, *levels, "-o", "json").json["levels"],
        mqctl("transaction", "list", "--count", "100000", "--store", store, "-o", "json").json,
        mqctl("order", "check", "-t", "Ordered", "--count", "100000", "--store", store, "-o", "json").json,
        mqctl("delay", "check", "--store", store, *levels, "-o", "json").exit_code,
    ]
    places = ("level", "recorded_offset", "min_offset", "max_offset", "waiting_count", "overdue_count")
    assert [[{name: row[name] for name in places} for row in rows if row["max_offset"]] for rows in (live[0],)] == [
        [{name: row[name] for name in places} for row in rows if row["max_offset"]] for rows in (files[0],)
    ]
    assert keys_of(live[1]) == keys_of(files[1])
    for name in ("message_count", "key_count", "spread_key_count", "by_hash_share"):
        assert live[2][name] == files[2][name], name
    assert live[3] == files[3]


def keys_of(listed: Any) -> set[tuple[str, str, str, int]]:
    return {(row["unique_key"], row["state"], row["topic"], row["check_count"]) for row in listed["transactions"]}


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_everything_at_once_survives_kills(
    version: str,
    mqctl: Callable[..., Outcome],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    random, traffic, ears = Random(5), Traffic(), Ears()
    words = ["--data-dir", str(tmp_path), "--as-version", version]
    words += [word for item in SETTINGS for word in ("--set", item)]
    ports: list[str] = []
    with process(*words) as (first, ready):
        namesrv, address = ready["namesrv"], ready["brokers"][0]["address"]
        ports = ["--namesrv-port", port(namesrv), "--broker-port", port(address)]
        make_topics(address)
        with lasting_consumers(namesrv, ears):
            with orderly(namesrv, ears):
                traffic.run(first, address, random.randrange(300, 600))
            for _ in range(ROUNDS - 1):
                with process(*words, *ports) as (running, _again), orderly(namesrv, ears):
                    traffic.run(running, address, random.randrange(300, 600))
            with process(*words, *ports) as (last, _again), orderly(namesrv, ears):
                wait_until(
                    lambda: all(bodies <= ears.bodies[topic] for topic, bodies in traffic.acknowledged.items()),
                    "everything that was acknowledged is heard",
                )
                same_answers(mqctl, namesrv, tmp_path / "broker-a", lambda: stop(last))
    heard = set().union(*ears.bodies.values())
    assert not heard & traffic.forbidden
    again = sum(replayed(offsets) for offsets in ears.orders.values())
    for key, numbers in ears.by_key.items():
        seen = list(dict.fromkeys(numbers))
        assert seen == sorted(seen), key
    record_property("ordered messages heard", sum(len(offsets) for offsets in ears.orders.values()))
    record_property("of them again, as suffixes", again)
    assert again > 0, "kills took offsets with them that were a moment old"
    assert {topic: len(bodies) > 30 for topic, bodies in traffic.acknowledged.items()} == dict.fromkeys(
        ("Ordered", "Delayed", "Paid", "Filtered"), True
    )


def stop(running: subprocess.Popen[str]) -> None:
    running.terminate()
    assert running.wait(60) == 0
