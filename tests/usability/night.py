"""The cluster of the night shift: 2,000 groups behind whose consumers are gone, and a few that live among them.

Built in two steps on one store: what is three hours old is stored by a cluster whose clock stands there, then the same
brokers start with the clock of today. `python -m tests.usability.night` keeps one running for whoever wants to look.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from embedded_broker import EmbeddedCluster
from embedded_broker.cluster import RunningCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic, send_back
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.client.consuming import Heard, quick, quick_client
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

DEAD = 2_000
STREAMS = 10
LONG_NAME = "reporting-of-all-departments-" + "x" * 90
AGO_MS = 3 * 3_600_000
_ORDER_EVERY_S = 0.8
"""The slow group takes one a second."""
_ORDERS_UNTIL_ANEW = 600
_BROKERS = ("broker-a", "broker-b")
_TOPICS = {"orders": 4, "payments": 2, "invoices": 4}


def dead(number: int) -> str:
    """Returns the name of a group whose consumers are gone."""
    return f"svc-{number:04}"


@contextmanager
def night(directory: Path) -> Iterator[EmbeddedCluster]:
    """Runs the cluster, its consumers in this process."""
    with EmbeddedCluster(brokers=_BROKERS, data_dir=directory, virtual_time=True) as cluster:
        cluster.on_loop(_back)
        _store_the_past(cluster)
    _add_groups(directory)
    with EmbeddedCluster(brokers=_BROKERS, data_dir=directory) as cluster, ExitStack() as stack:
        _live(cluster, stack)
        yield cluster


def _back(running: RunningCluster) -> None:
    """Turns the clock back: a virtual one only goes forward by itself."""
    running.clock._now_ms -= AGO_MS  # type: ignore[attr-defined]


def _ask(cluster: EmbeddedCluster, *questions: Question[None]) -> None:
    with Links() as links:
        for broker in cluster.brokers.values():
            for question in questions:
                links.ask(broker.address, question, Deadline(60_000))


def _store_the_past(cluster: EmbeddedCluster) -> None:
    queues = {**_TOPICS, **{f"stream-{number}": 1 for number in range(STREAMS)}}
    _ask(
        cluster,
        *(
            put_topic(TopicConfig(name=name, read_queue_count=count, write_queue_count=count))
            for name, count in queues.items()
        ),
    )
    for broker in cluster.brokers.values():
        with Peer(broker.address) as peer:
            for number in range(STREAMS):
                for _ in range(60):
                    assert peer.call(send(f"stream-{number}"), b"old").code == 0


def _add_groups(directory: Path) -> None:
    """Writes the groups into the tables of the stopped brokers, as a broker that has had them for years."""
    for broker in _BROKERS:
        config = directory / broker / "config"
        groups = json.loads((config / "subscriptionGroup.json").read_text())
        topics = json.loads((config / "topics.json").read_text())
        offsets = json.loads((config / "consumerOffset.json").read_text())
        one_group = next(iter(groups["subscriptionGroupTable"].values()))
        one_topic = topics["topicConfigTable"]["stream-0"]
        for number, name in enumerate([*(dead(number) for number in range(DEAD)), LONG_NAME]):
            groups["subscriptionGroupTable"][name] = {**one_group, "groupName": name}
            topics["topicConfigTable"][f"%RETRY%{name}"] = {**one_topic, "topicName": f"%RETRY%{name}"}
            offsets["offsetTable"][f"stream-{number % STREAMS}@{name}"] = {"0": number % 60}
            offsets["offsetTable"][f"%RETRY%{name}@{name}"] = {"0": 0}
        for file, table in (("subscriptionGroup", groups), ("topics", topics), ("consumerOffset", offsets)):
            (config / f"{file}.json").write_text(json.dumps(table))


def _live(cluster: EmbeddedCluster, stack: ExitStack) -> None:
    """Adds what is of today: messages by key, a slow group, one whose members differ, a delayed and a half message."""
    client = quick_client(cluster)
    names = ("order-service", "billing", "audit")
    _ask(cluster, *(put_group(SubscriptionGroupConfig(name=name)) for name in names))
    _ask(cluster, *(commit_offset("order-service", "orders", number, 0) for number in range(_TOPICS["orders"])))
    with Producer("shop", client) as shop:
        for number in range(400):
            shop.send(OutgoingMessage(topic="orders", body=b"%d" % number, keys=f"ORD-{number}", tags="paid"))
        for number in range(40):
            tag = "card" if number % 3 else "cash"
            shop.send(OutgoingMessage(topic="payments", body=b"%d" % number, keys=f"PAY-{number}", tags=tag))
        shop.send(OutgoingMessage(topic="orders", body=b"later", keys="ORD-LATER", delay_level=16))
        for number in range(3):
            sent = shop.send(OutgoingMessage(topic="invoices", body=b"bad", keys=f"INV-{number}"))
            address = cluster.broker(sent.queue.broker_name).address
            back = send_back("audit", physical_offset=_physical(sent.offset_id), delay_level=-1)
            with Links() as links:
                links.ask(address, back, Deadline(60_000))
    bank = TransactionProducer("bank", client, lambda *_: LocalTransactionState.UNKNOWN)
    stack.enter_context(bank)
    bank.send(
        OutgoingMessage(topic="payments", body=b"half", keys="PAY-HALF"), lambda *_: LocalTransactionState.UNKNOWN
    )
    over = Event()
    stack.callback(over.set)

    def slowly(_: ReceivedMessage) -> Consumed:
        over.wait(2)
        return Consumed.SUCCESS

    for name in ("one", "two"):
        _member(stack, cluster, "order-service", name, Heard(slowly), {"orders": "paid"})
    for name, tag in (("one", "card"), ("two", "card || cash")):
        _member(stack, cluster, "billing", name, Heard(), {"payments": tag})


def _physical(offset_id: str) -> int:
    return int(offset_id[-16:], 16)


def _member(
    stack: ExitStack, cluster: EmbeddedCluster, group: str, name: str, heard: Heard, topics: dict[str, str]
) -> None:
    settings = quick(threads=1, await_termination_ms=100, reset_delay_ms=100)
    consumer = PushConsumer(group, quick_client(cluster, instance_name=name), heard, settings)
    for topic, expression in topics.items():
        consumer.subscribe(topic, expression)
    stack.enter_context(consumer)


def _go_on(cluster: EmbeddedCluster, over: Event) -> None:
    """Sends a little more than the slow group can take, and what waits anew before it is over: the night goes on."""
    client = quick_client(cluster, instance_name="night")
    with (
        Producer("shop", client) as shop,
        TransactionProducer("bank", client, lambda *_: LocalTransactionState.UNKNOWN) as bank,
    ):
        number = 400
        while not over.wait(_ORDER_EVERY_S):
            shop.send(OutgoingMessage(topic="orders", body=b"%d" % number, keys=f"ORD-{number}", tags="paid"))
            number += 1
            if number % _ORDERS_UNTIL_ANEW == 0:
                later = OutgoingMessage(topic="orders", body=b"later", keys=f"ORD-LATER-{number}", delay_level=16)
                shop.send(later)
                half = OutgoingMessage(topic="payments", body=b"half", keys=f"PAY-HALF-{number}")
                bank.send(half, lambda *_: LocalTransactionState.UNKNOWN)


def main() -> None:
    """Keeps a cluster running until the input ends; says where it is."""
    began = time.process_time()
    with TemporaryDirectory() as directory, night(Path(directory)) as cluster:
        sys.stdout.write(f"{cluster.namesrv} {cluster.data_dir} {time.process_time() - began:.1f}\n")
        sys.stdout.flush()
        over = Event()
        sender = Thread(target=_go_on, args=(cluster, over))
        sender.start()
        sys.stdin.read()
        over.set()
        sender.join()


if __name__ == "__main__":
    main()
