"""What members of a live group carry, by `allocation simulate`, `group lag` and `doctor`, which agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus, ProcessQueueInfo
from tests.client.consuming import quick_client
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run, change

_PULL = 11

PAY = {broker: [MessageQueue("Pay", broker, number) for number in (0, 1)] for broker in ("broker-a", "broker-b")}


def ordered(client_id: str, broker: str) -> Scripted:
    """An orderly member with 20 threads, a full cache, and the retry queue that it holds as well."""
    full = ProcessQueueInfo(commit_offset=3, cached_msg_count=1_000, locked=True)
    retry = MessageQueue("%RETRY%G", broker, 0)
    return Scripted(
        client_id=client_id,
        queues={**dict.fromkeys(PAY[broker], full), retry: ProcessQueueInfo(locked=True)},
        rates={"Pay": ConsumeStatus(consume_ok_tps=10.0, consume_rt=100.0)},
        properties={"PROP_THREADPOOL_CORE_SIZE": "20", "PROP_CONSUMEORDERLY": "true"},
    )


def test_n6_threads_are_counted_against_the_queues_that_get_messages(live: Run, cluster: EmbeddedCluster) -> None:
    with Cast(cluster) as cast:
        cast.join(ordered("one", "broker-a"), ordered("two", "broker-b"))
        judged = live("doctor", "-g", "G", "--only", "MQ305", "-o", "json").json
        advised = live("group", "lag", "-g", "G", "-t", "Pay", "--advise", "--window", "100ms", "-o", "json").json
        shown = live("group", "lag", "-g", "G", "-t", "Pay", "--advise", "--window", "100ms").stdout
    assert [row["evidence"] for row in judged["findings"]] == [{"thread_count": 20, "queue_count": 2}] * 2
    assert [row["parallelism"] for row in advised["groups"]] == [4]
    assert "CALLS AT ONCE" in shown


def test_n6_what_brokers_hand_out_is_not_called_consumed(live: Run, cluster: EmbeddedCluster) -> None:
    heads = live("group", "lag", "-g", "G").stdout.splitlines()[0]
    assert "HANDED OUT/S" in heads and " OUT/S" not in heads.replace("HANDED OUT/S", "")


def test_n1_instances_beyond_the_queues_help_neither_by_advice_nor_by_simulation(
    live: Run, cluster: EmbeddedCluster
) -> None:
    words = ("allocation", "simulate", "-g", "G", "-t", "Pay", "--add-clients", "7", "-o", "json")
    with Cast(cluster) as cast:
        members = [f"m{number}" for number in range(4)]
        queues = [queue for broker in PAY.values() for queue in broker]
        cast.join(
            *(
                Scripted(
                    client_id=client,
                    queues={queue: ProcessQueueInfo(commit_offset=0, cached_msg_count=50)},
                    rates={"Pay": ConsumeStatus(consume_ok_tps=50.0, consume_rt=100.0)},
                    properties={"PROP_THREADPOOL_CORE_SIZE": "1", "PROP_CONSUMEORDERLY": "false"},
                )
                for client, queue in zip(members, queues, strict=True)
            )
        )
        report = live(*words).json
        advice = live("group", "lag", "-g", "G", "-t", "Pay", "--advise", "--window", "100ms", "-o", "json").json
    before, after = report["rooms"]
    assert (before["capacity_tps"], after["capacity_tps"], after["enough"]) == (40.0, 40.0, False)
    (remedy,) = [row for row in advice["groups"][0]["remedies"] if row["what"] == "instances"]
    assert remedy["effect"] in ("no", "unknown"), remedy


@contextmanager
def going_on(cluster: EmbeddedCluster, pause_s: float = 0.2) -> Iterator[None]:
    """The group commits a message of each queue again and again, as members do that work."""
    ended = Event()

    def commit() -> None:
        for offset in range(4, 100):
            for broker, queues in PAY.items():
                for queue in queues:
                    change(cluster, broker, commit_offset("G", "Pay", queue.queue_id, offset))
            if ended.wait(pause_s):
                return

    thread = Thread(target=commit)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def keys_of(group: dict[str, Any]) -> dict[str, Any]:
    (remedy,) = [row for row in group["remedies"] if row["what"] == "keys"]
    return dict(remedy)


def test_the_keys_that_wait_say_what_a_thread_for_each_of_them_would_do(live: Run, cluster: EmbeddedCluster) -> None:
    """Two orderly members with two queues each at 10 messages a second and thread; one key has a third of a queue."""
    with Producer("PG", quick_client(cluster)) as producer:
        for queues in PAY.values():
            for queue in queues:
                for number in range(180):
                    key = f"hot-{queue.broker_name}-{queue.queue_id}" if number % 3 == 0 else f"k{queue}{number}"
                    producer.send(OutgoingMessage(topic="Pay", body=b"x", keys=key), queue=queue)
    words = ("group", "lag", "-g", "G", "-t", "Pay", "--advise", "--window", "1s")
    with Cast(cluster) as cast:
        cast.join(ordered("one", "broker-a"), ordered("two", "broker-b"))
        with going_on(cluster):
            advised = live(*words, "-o", "json")
        with going_on(cluster):
            shown = live(*words).stdout
        with going_on(cluster):
            chinese = live(*words, env={"MQCTL_LANG": "zh"}).stdout
        with going_on(cluster, 0.4):
            played = live(
                *("playbook", "run", "hot-key", "-p", "topic=Pay", "-p", "group=G", "-p", "window=1s"),
                *("--choose", "way=by_key", "-o", "json"),
            )
        cluster.fault(_PULL, Drop(), server="broker-b")
        with going_on(cluster):
            partly = live(*words, "-o", "json", "--timeout", "3s")
        cluster.clear_faults()
    assert advised.exit_code == 0, advised.stderr
    (group,) = advised.json["groups"]
    remedy = keys_of(group)
    forecast = remedy["forecast"]
    assert forecast is not None, (remedy["reason"], group["bound"], group["queues"])
    assert (forecast["waiting_count"], forecast["read_count"]) == (group["lag_count"], group["lag_count"])
    assert (remedy["reason"], remedy["effect"]) == ("rate", "partly"), group["bound"]
    assert remedy["needed_count"] == forecast["thread_count"] == 6
    assert (forecast["queue_tps"], forecast["busiest_key"][:4]) == (pytest.approx(40, rel=0.05), "hot-")
    assert forecast["key_tps"] == pytest.approx(40 * forecast["gain"], rel=0.05)
    assert forecast["gain"] == pytest.approx(3, rel=0.1)
    assert "/s instead of " in shown and "; by the keys of all " in shown
    assert "全部" in chinese
    step = {each["id"]: each for each in played.json["steps"]}["by_key"]
    assert (step["result"], step["captured"]["gain"]) == ("faster", pytest.approx(3, rel=0.1)), played.stderr
    assert (partly.exit_code, keys_of(partly.json["groups"][0])["forecast"]["read_count"] > 0) == (75, True)
