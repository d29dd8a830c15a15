"""`lock show` and `order check` against consumers that hold, hang, wait and are gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from threading import Event
from time import monotonic
from typing import Any

import pytest

from embedded_broker import Delay, EmbeddedCluster
from mqctl.client.admin.broker_changes import lock_queues
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.producer.trace import Tracer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.own_messages import REPLAY_ID
from mqctl.model.queue import MessageQueue
from tests.client.consuming import Heard, create_topic, quick, quick_client, send, wait_until
from tests.conftest import Outcome
from tests.live.conftest import Run

QUEUES = [MessageQueue("T", "broker-a", number) for number in range(4)]


@pytest.fixture(params=["4.9.8", "5.3.3"])
def ordered(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param) as cluster:
        create_topic(cluster, "T")
        yield cluster


def locks(mqctl: Run, cluster: EmbeddedCluster) -> dict[int, dict[str, Any]]:
    outcome = mqctl("lock", "show", "-g", "G", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv})
    assert outcome.exit_code == 0, outcome.stderr
    return {row["queue_id"]: row for row in outcome.json["queues"]}


def member(cluster: EmbeddedCluster, listener: Heard, name: str) -> PushConsumer:
    made = PushConsumer("G", quick_client(cluster, instance_name=name), listener, quick(), mode=ConsumeMode.ORDERLY)
    made.subscribe("T")
    return made


def held(consumer: PushConsumer) -> list[MessageQueue]:
    """The queues of T that a consumer has; its retry topic's do not count."""
    return [queue for queue in list(consumer.rebalancing.process_queues) if queue.topic == "T"]


def test_holders_are_named_and_who_waits_for_an_owner_that_is_gone(mqctl: Run, ordered: EmbeddedCluster) -> None:
    with Links() as links:
        question = lock_queues("G", "gone@1", (QUEUES[1],))
        assert links.ask(ordered.broker().address, question, Deadline(60_000)) == {QUEUES[1]}
    with member(ordered, Heard(), "one") as one:
        wait_until(lambda: len(held(one)) == 3, "three queues locked")
        lock_rows = locks(mqctl, ordered)
        assert {number: row["state"] for number, row in lock_rows.items()} == {
            0: "held", 1: "waiting", 2: "held", 3: "held",
        }  # fmt: skip
        assert (lock_rows[0]["holders"], lock_rows[1]["holders"], lock_rows[1]["waiting"]) == (
            one.client_id,
            None,
            one.client_id,
        )
        assert lock_rows[0]["free_time_ms"] - lock_rows[0]["last_lock_time_ms"] == 60_000
        assert lock_rows[1]["free_time_ms"] is None  # nobody tells when an owner that is gone renewed it last


def test_what_mqctl_sent_again_breaks_no_order(mqctl: Run, ordered: EmbeddedCluster) -> None:
    """A replayed copy lies where it was put: no producer re-routed its key."""

    def put(number: int, properties: dict[str, str]) -> Outcome:
        with Producer("PG", quick_client(ordered)) as producer:
            message = OutgoingMessage(topic="T", body=b"x", keys="K", properties=properties)
            producer.send(message, queue=QUEUES[number])
        return mqctl("order", "check", "-t", "T", "-o", "json", env={"MQCTL_NAMESRV": ordered.namesrv})

    assert put(0, {}).exit_code == 0
    assert put(1, {REPLAY_ID: "20261121-091500-3fa2"}).exit_code == 0
    spread = put(1, {})
    assert (spread.exit_code, spread.json["spread_key_count"]) == (1, 1)


def test_an_owner_that_cannot_let_go_is_named(mqctl: Run, ordered: EmbeddedCluster) -> None:
    entered: list[ReceivedMessage] = []
    gate = Event()

    def hangs(message: ReceivedMessage) -> Consumed:
        entered.append(message)
        gate.wait(60)
        return Consumed.SUCCESS

    for queue in QUEUES:
        with Producer("PG", quick_client(ordered)) as producer:
            producer.send(OutgoingMessage(topic="T", body=b"x"), queue=queue)
    try:
        with ExitStack() as members:
            one = members.enter_context(member(ordered, Heard(hangs), "one"))
            wait_until(lambda: len(entered) == len(QUEUES), "a listener that hangs on every queue")
            two = members.enter_context(member(ordered, Heard(), "two"))

            def given_up() -> bool:
                return any(item.dropped and item.try_unlock_times for item in one.rebalancing.process_queues.values())

            wait_until(given_up, "a queue that cannot be let go")
            lock_rows = locks(mqctl, ordered)
            hung = [row for row in lock_rows.values() if row["state"] == "hung"]
            assert hung
            assert all((row["holders"], row["waiting"]) == (one.client_id, two.client_id) for row in hung)
            assert all(row["free_time_ms"] is None and "has not come back" in row["note"] for row in hung)
            gate.set()
    finally:
        gate.set()


def test_a_concurrent_group_takes_no_locks(mqctl: Run, ordered: EmbeddedCluster) -> None:
    consumer = PushConsumer("G", quick_client(ordered), Heard(), quick())
    consumer.subscribe("T")
    with consumer:
        wait_until(lambda: len(held(consumer)) == 4, "all queues")
        outcome = mqctl("lock", "show", "-g", "G", "-o", "json", env={"MQCTL_NAMESRV": ordered.namesrv})
        assert (outcome.json["concurrent"], outcome.json["queues"]) == (True, [])
    assert mqctl("lock", "show", "-g", "nope", env={"MQCTL_NAMESRV": ordered.namesrv}).exit_code == 66


def check(mqctl: Run, cluster: EmbeddedCluster, *words: object) -> Outcome:
    return mqctl("order", "check", "-t", "T", "-o", "json", *words, env={"MQCTL_NAMESRV": cluster.namesrv})


def test_keys_are_counted_where_they_lie_live_and_in_files(mqctl: Run, ordered: EmbeddedCluster) -> None:
    with Producer("PG", quick_client(ordered)) as producer:
        for number in range(60):
            key = f"order-{number % 12}"
            producer.send(OutgoingMessage(topic="T", body=b"x", keys=key), select=by_key(key))
    live = check(mqctl, ordered, "--queues", 4, "--queues", 5)
    assert live.exit_code == 0, live.stderr
    report = live.json
    assert (report["message_count"], report["key_count"], report["spread_key_count"]) == (60, 12, 0)
    assert report["by_hash_share"] == 1.0
    # Five of each key: a queue of k keys could be consumed k times as fast with one thread for each.
    assert sum(row["key_count"] for row in report["key_lanes"]) == 12
    assert all(row["gain"] == row["key_count"] == 5 / row["busiest_share"] / 5 for row in report["key_lanes"])
    assert report["re_routing"][0]["moved_key_count"] == 0
    assert report["re_routing"][1]["moved_message_count"] == 5 * report["re_routing"][1]["moved_key_count"] > 0
    send(ordered, [OutgoingMessage(topic="T", body=b"x", keys="order-1") for _ in range(8)])
    torn = check(mqctl, ordered)
    assert (torn.exit_code, torn.json["spread_key_count"], torn.json["spread"][0]["key"]) == (1, 1, "order-1")
    assert torn.json["spread"][0]["move_count"] >= 6
    store = ordered.broker().store
    ordered.broker().stop()
    files = mqctl("order", "check", "-t", "T", "--store", store, "-o", "json")
    assert files.exit_code == 1
    same = ("message_count", "keyless_count", "key_count", "spread_key_count", "by_hash_share", "re_routing")
    assert {name: files.json[name] for name in same} == {name: torn.json[name] for name in same}
    assert mqctl("order", "check", "-t", "nothing", "--store", store).exit_code == 66


def rebalances(mqctl: Run, cluster: EmbeddedCluster, group: str, *, broken: int) -> list[dict[str, Any]]:
    """Waits until all traces are there: two queues changed hands, and each message was given once, or again."""
    end = monotonic() + 90
    while True:
        report = check(mqctl, cluster, "-g", group)
        traced = report.json["traced"]
        rows: list[dict[str, Any]] = traced["handovers"]
        if len(rows) == 2 and traced["delivery_count"] == 8 + sum(row["again_count"] for row in rows):
            assert (report.exit_code, traced["broken_count"]) == (1 if broken else 0, broken), rows
            return rows
        assert monotonic() < end, (group, traced)


def test_what_rebalances_did_to_the_order_is_seen_in_traces(mqctl: Run) -> None:
    """A concurrent owner works on while the new one begins with the same message; an orderly one is waited for."""
    with EmbeddedCluster() as cluster, ExitStack() as running:
        create_topic(cluster, "T")
        client = quick_client(cluster)
        none = check(mqctl, cluster, "-g", "concurrent")
        assert (none.exit_code, none.json["traced"]["delivery_count"]) == (3, 0)
        entered: dict[str, list[ReceivedMessage]] = {"concurrent": [], "orderly": []}
        heard = {group: Heard() for group in entered}
        gate = Event()
        running.callback(gate.set)

        def hangs(group: str) -> Heard:
            def listener(message: ReceivedMessage) -> Consumed:
                entered[group].append(message)
                gate.wait(60)
                return Consumed.SUCCESS

            return Heard(listener)

        def join(group: str, name: str, listener: Heard) -> PushConsumer:
            traced = replace(client, instance_name=name)
            tracer = running.enter_context(Tracer(group, traced, flush_period_ms=20))
            mode = ConsumeMode(group)
            made = PushConsumer(group, traced, listener, quick(), mode=mode, after_consume=tracer.consumed)
            made.subscribe("T")
            return running.enter_context(made)

        with Producer("PG", client) as producer:
            for queue in QUEUES:
                producer.send(OutgoingMessage(topic="T", body=b"1"), queue=queue)
            for group in entered:
                join(group, "one", hangs(group))
            wait_until(lambda: all(len(messages) == 4 for messages in entered.values()), "every queue in work")
            others = [join(group, "two", heard[group]) for group in entered]
            heard["concurrent"].wait_for(2)
            begun = monotonic()
            wait_until(lambda: monotonic() > begun + 0.01, "traces have milliseconds")
            gate.set()
            wait_until(lambda: all(len(held(member)) == 2 for member in others), "two queues each")
            for queue in QUEUES:
                producer.send(OutgoingMessage(topic="T", body=b"2"), queue=queue)
        rows = rebalances(mqctl, cluster, "concurrent", broken=2)
        assert [(row["unfinished_count"], row["again_count"], row["queue_offset"]) for row in rows] == [(1, 1, 0)] * 2
        assert all(row["overlap_ms"] > 0 for row in rows)
        rows = rebalances(mqctl, cluster, "orderly", broken=0)
        assert {(row["unfinished_count"], row["late_count"], row["overlap_ms"]) for row in rows} == {(0, 0, 0)}
        live = check(mqctl, cluster, "-g", "concurrent").json["traced"]
        cluster.broker().stop()
        files = mqctl(
            "order", "check", "-t", "T", "-g", "concurrent", "--store", cluster.broker().store, "-o", "json"
        ).json["traced"]
        assert [row | {"broker": "broker-a"} for row in files["handovers"]] == live["handovers"]


def test_asynchronous_sends_that_overtake_each_other_are_seen_in_the_store(mqctl: Run) -> None:
    """The sender of asynchronous messages does not wait: the broker stores them as its threads take them."""
    with EmbeddedCluster(virtual_time=True) as cluster:
        create_topic(cluster, "T")
        stored: list[bytes] = []
        with Producer("PG", quick_client(cluster)) as producer:
            cluster.fault(310, Delay(10_000), times=1)
            for body in (b"0", b"1", b"2"):
                sent_ms = producer.instance.clock.now_ms()
                producer.send_async(
                    OutgoingMessage(topic="T", body=body, keys="account-7"),
                    lambda result, error, body=body: stored.append(body),  # type: ignore[misc]
                    queue=QUEUES[0],
                    timeout_ms=60_000,
                )
                wait_until(lambda past=sent_ms: producer.instance.clock.now_ms() > past, "born later")  # type: ignore[misc]
            wait_until(lambda: len(stored) == 2, "those behind it are stored")
            cluster.advance(10_000)
            wait_until(lambda: len(stored) == 3, "all are stored")
        store = cluster.broker().store
        cluster.broker().stop()
        report = mqctl("report", "order", "--store", store, "--no-spark", "-o", "json").json["report"]
    (topic,) = report["topics"]
    assert (stored, topic["inversions"], topic["moves"]) == ([b"1", b"2", b"0"], 1, 0)


def test_another_property_may_be_the_key(mqctl: Run, ordered: EmbeddedCluster) -> None:
    send(ordered, [OutgoingMessage(topic="T", body=b"x", properties={"orderId": "7"}) for _ in range(4)])
    assert check(mqctl, ordered).json["keyless_count"] == 4
    outcome = check(mqctl, ordered, "--key", "orderId")
    assert (outcome.exit_code, outcome.json["key"], outcome.json["spread_key_count"]) == (1, "orderId", 1)
