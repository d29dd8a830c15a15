"""What members of a live group carry, by `allocation simulate`, `group lag` and `doctor`, which agree."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus, ProcessQueueInfo
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run

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
    assert "PARALLELISM" in shown


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
