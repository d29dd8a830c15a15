"""`allocation simulate` from live groups and snapshots: members tell their speed, which decides if a room is enough."""

from __future__ import annotations

from pathlib import Path

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus, ProcessQueueInfo
from tests.client.consuming import wait_until
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run, change


def member(client_id: str, broker: str, tps: float, rt_ms: float) -> Scripted:
    return Scripted(
        client_id=client_id,
        queues={MessageQueue("Pay", broker, number): ProcessQueueInfo() for number in (0, 1)},
        rates={"Pay": ConsumeStatus(consume_ok_tps=tps, consume_rt=rt_ms)},
        properties={"PROP_THREADPOOL_CORE_SIZE": "4", "PROP_CONSUMEORDERLY": "false"},
    )


def test_a_lost_room_is_weighed_against_what_the_other_was_measured_to_pass(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    rooms = ("--room-rule", "regex:-([ab])$")
    words = ("allocation", "simulate", "-g", "G", "-t", "Pay", *rooms, "--strategy", "nearby", "--lose-room", "a")
    file = tmp_path / "now.snap"
    with Cast(cluster) as cast:
        # Four threads of 20 ms pass 200 a second; of 10 ms, 400.
        cast.join(member("one-a", "broker-a", 150.0, 10.0), member("two-b", "broker-b", 100.0, 20.0))
        report = live(*words, "-o", "json").json
        assert live("snapshot", "save", file).exit_code == 0
        arriving = live(*words, "--window", "200ms", "-o", "json").json
    after = {row["room"]: row for row in report["rooms"] if row["layout"] == "after"}
    assert (after["b"]["required_tps"], after["b"]["capacity_tps"], after["b"]["enough"]) == (250.0, 200.0, False)
    assert live(*words, "--snapshot", file, "-o", "json").json == report
    # Nothing arrived while it looked twice: that is a measured nothing.
    assert [row["required_tps"] for row in arriving["rooms"] if row["layout"] == "after"] == [0.0]


def test_members_that_do_not_tell_leave_it_unknown(live: Run, cluster: EmbeddedCluster) -> None:
    rooms = ("--room-rule", "regex:-([ab])$")
    words = ("allocation", "simulate", "-g", "G", "-t", "Pay", *rooms, "--strategy", "nearby", "--lose-room", "a")
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one-a", silent=True), Scripted(client_id="two-b", silent=True))
        report = live(*words, "--timeout", "3s", "-o", "json").json
    assert [(row["capacity_tps"], row["enough"]) for row in report["rooms"] if row["layout"] == "after"] == [
        (None, None)
    ]


def test_producers_leave_a_room_whose_brokers_take_no_sends(live: Run, cluster: EmbeddedCluster) -> None:
    rooms = ("--room-rule", "regex:-([ab])$")
    change(cluster, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2, perm=4)))
    words = ("allocation", "simulate", "-g", "G", "-t", "Pay", *rooms, "-o", "json")

    def sending() -> dict[str, tuple[bool, str]]:
        return {row["room"]: (row["own"], row["brokers"]) for row in live(*words).json["sending"]}

    with Cast(cluster) as cast:
        cast.join(member("one-a", "broker-a", 1.0, 1.0), member("two-b", "broker-b", 1.0, 1.0))
        wait_until(lambda: sending() == {"a": (False, "broker-b"), "b": (True, "broker-b")}, "the route to change")


def test_nobody_online_is_not_simulated(live: Run) -> None:
    assert live("allocation", "simulate", "-g", "G", "-t", "Pay").exit_code == 66


def test_keys_of_a_live_topic_tell_what_a_hash_gives_each_queue(live: Run, cluster: EmbeddedCluster) -> None:
    words = ("allocation", "simulate", "-g", "G", "-o", "json")
    for broker in ("broker-a", "broker-b"):
        change(cluster, broker, put_topic(TopicConfig(name="Sold", read_queue_count=2, write_queue_count=2)))
    with Cast(cluster) as cast:
        cast.join(member("one-a", "broker-a", 150.0, 10.0), member("two-b", "broker-b", 100.0, 20.0))
        wait_until(lambda: live(*words, "-t", "Sold").json["results"][0]["queue_count"] == 4, "the route of both")
        nothing = live(*words, "-t", "Sold", "--selector", "hash")
        assert (nothing.exit_code, "has a key" in nothing.stderr) == (64, True), nothing.stderr
        of_what = live(*words, "-t", "Sold", "--hot-key", "0.5")
        assert (of_what.exit_code, "--keys" in of_what.stderr) == (64, True), of_what.stderr
        # "a" and "b" are hashed to the places 1 and 2 of four, wherever their messages lie now.
        for key in "aaab":
            assert live("message", "send", "-t", "Sold", "--body", "x", "--key", key).exit_code == 0
        report = live(*words, "-t", "Sold", "--selector", "hash").json
        # Of what both members pass of Pay, 250 a second, each of its four queues gets as much.
        turns = live(*words, "-t", "Pay", "--selector", "turn").json
    assert {(row["broker"], row["queue_id"]): row["share"] for row in report["shares"]} == {
        ("broker-a", 0): 0,
        ("broker-a", 1): 0.75,
        ("broker-b", 0): 0.25,
        ("broker-b", 1): 0,
    }
    assert [(row["share"], row["tps"]) for row in turns["shares"]] == [(0.25, 62.5)] * 4
