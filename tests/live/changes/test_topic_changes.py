"""`mqctl topic create|update|delete|order` and the way back, on every master of clusters of both releases."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.admin.nameserver import put_kv
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_cluster import RegisterBrokerBody, TopicConfigTable
from mqctl.protocol.requests_namesrv import RegisterBroker
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer
from tests.live.changing import changes
from tests.live.conftest import Run, change

_PUT, _DELETE = 17, 215
DO = ("--execute", "-o", "json")


def sure(name: str = "Pay") -> tuple[str, ...]:
    return (*DO, "--confirm", name)


def on_brokers(live: Run, topic: str = "Pay") -> dict[str, tuple[int, int, str]]:
    """Queues to read, to write, and permission by broker; nothing where the topic is unknown."""
    outcome = live("topic", "describe", "-t", topic, "-o", "json")
    rows = outcome.json["brokers"] if outcome.exit_code == 0 else []
    return {row["broker"]: (row["read_queue_count"], row["write_queue_count"], row["perm"]) for row in rows}


def both(*settings: Any) -> dict[str, Any]:
    return {"broker-a": settings, "broker-b": settings}


def consume_all(cluster: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, commit_offset("G", "Pay", 0, 5))


PLANS = [
    ("topic", "create", "-t", "New", "--queues", "3"),
    ("topic", "update", "-t", "Pay", "--queues", "4"),
    ("topic", "update", "-t", "Pay", "--queues", "1"),
    ("topic", "update", "-t", "Pay", "--perm", "R"),
    ("topic", "delete", "-t", "Pay", "--drop-unread"),
    ("topic", "update", "-t", "Pay", "--order", "broker-a:2"),
    ("cluster", "kv", "TOOLS", "--set", "owner=payments"),
]


def test_plans_send_no_changing_request(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    for words in PLANS:
        outcome = live(*words, "-o", "json")
        assert (outcome.exit_code, any(step["moves"] for step in outcome.json["steps"])) == (0, True), outcome.stderr
        assert "nothing was changed; add --execute" in live(*words).stdout
    assert changes(cluster) == []


def test_a_topic_is_created_on_every_master_and_undone(live: Run) -> None:
    done = live("topic", "create", "-t", "New", "--queues", "3", *DO)
    assert (done.exit_code, done.json["state"], on_brokers(live, "New")) == (0, "confirmed", both(3, 3, "RW-"))
    again = live("topic", "create", "-t", "New", "--queues", "3")
    assert (again.exit_code, "nothing to do" in again.stdout) == (0, True)
    other = live("topic", "create", "-t", "New", "--queues", "4", *DO)
    assert (other.exit_code, "other settings" in other.stderr) == (76, True)
    undone = live("undo", done.json["id"], *sure("New"))
    assert (undone.exit_code, on_brokers(live, "New")) == (0, {}), undone.stderr
    assert live("topic", "route", "-t", "New").exit_code == 66


def test_a_topic_that_was_created_and_is_used_is_not_undone(live: Run, cluster: EmbeddedCluster) -> None:
    done = live("topic", "create", "-t", "New", "--broker", "broker-b", *DO)
    assert on_brokers(live, "New") == {"broker-b": (8, 8, "RW-")}
    with Peer(cluster.broker("broker-b").address) as peer:
        assert peer.call(send("New"), b"x").code == 0
    undo = live("undo", done.json["id"], *sure("New"))
    assert (undo.exit_code, "no group has read its 1 message" in undo.stderr) == (76, True), undo.stderr


def test_more_queues_tell_what_moves_and_are_undone(live: Run, cluster: EmbeddedCluster) -> None:
    plan = live("topic", "update", "-t", "Pay", "--queues", "3", "-o", "json").json
    (said,) = [line for line in plan["warnings"] if "another queue" in line]
    # Java hashes of k0 ... k4 are 3365 ... 3369; four queues before, six after.
    before = ["a0", "a1", "b0", "b1"]
    after = ["a0", "a1", "a2", "b0", "b1", "b2"]
    moved = sum(before[(3365 + n) % 4] != after[(3365 + n) % 6] for n in range(5))
    placed = sum(before[(3365 + n) % 4] == name for n in range(5) for name in ("a0", "b0"))
    assert said.startswith(
        f"keys that would go to another queue: {moved} of 5 ({moved / 5:.0%}) in a sample of 10 messages"
    )
    assert f"messages that are where a hash of their key puts them: {placed} of 10; " in "".join(plan["warnings"])
    moves = plan["key_moves"]
    assert (moves["kind"], moves["moved_count"], moves["moved_share"]) == ("keys", moved, moved / 5)
    done = live("topic", "update", "-t", "Pay", "--queues", "3", *sure())
    assert (done.exit_code, on_brokers(live)) == (0, both(3, 3, "RW-")), done.stderr
    assert live("undo", done.json["id"], *sure()).exit_code == 0
    # The way back takes queues away that nobody has used.
    assert on_brokers(live) == both(2, 2, "RW-")


def test_undo_leaves_queues_readable_that_hold_unread_messages(live: Run, cluster: EmbeddedCluster) -> None:
    done = live("topic", "update", "-t", "Pay", "--queues", "3", *sure())
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay", queue_id=2), b"x").code == 0
    plan = live("undo", done.json["id"], "-o", "json")
    notes = {step["place"]: step["note"] for step in plan.json["steps"]}
    assert "has not read 1 message: the queues stay readable; drain them" in notes["broker-a"]
    assert "mqctl topic update -t Pay --queues 2" in notes["broker-a"]
    assert notes["broker-b"] is None
    assert live("undo", done.json["id"], *sure()).exit_code == 0
    shown = {row["broker"]: row for row in live("topic", "describe", "-t", "Pay", "-o", "json").json["brokers"]}
    counts = {name: (row["read_queue_count"], row["write_queue_count"]) for name, row in shown.items()}
    assert counts == {"broker-a": (3, 2), "broker-b": (2, 2)}


def test_a_record_with_another_script_s_digits_is_refused_by_name(live: Run, tmp_path: Path) -> None:
    done = live("topic", "update", "-t", "Pay", "--queues", "3", *sure())
    (record,) = (tmp_path / "mqctl_state_dir").rglob(f"*{done.json['id']}*.json")
    text = record.read_text()
    assert '"read_queue_count":"2"' in text.replace(" ", "")
    record.write_text(re.sub(r'("read_queue_count": ?)"2"', '\\1"\u0662"', text))
    refused = live("undo", done.json["id"], *sure())
    assert (refused.exit_code, "read_queue_count of Pay cannot be read" in refused.stderr) == (65, True), refused
    assert on_brokers(live) == both(3, 3, "RW-")


def test_a_topic_that_is_ordered_by_sharding_key_is_recognised(live: Run, cluster: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_topic(TopicConfig(name="Seq", read_queue_count=2, write_queue_count=2)))
    with Producer("P", ClientSettings(name_servers=cluster.namesrv)) as producer:
        for number in range(12):
            key = f"s{number % 6}"
            message = OutgoingMessage(topic="Seq", body=b"x", keys="other", properties={"__SHARDINGKEY": key})
            producer.send(message, select=by_key(key))
    moves = live("topic", "update", "-t", "Seq", "--queues", "4", "-o", "json").json["key_moves"]
    assert (moves["kind"], moves["message_count"], moves["placed_count"]) == ("sharding keys", 12, 12)
    # Java hashes of s0 ... s5 are 3613 ... 3618; four queues before, eight after.
    before, after = ["a0", "a1", "b0", "b1"], [f"{name}{number}" for name in "ab" for number in range(4)]
    moved = sum(before[(3613 + n) % 4] != after[(3613 + n) % 8] for n in range(6))
    assert (moves["key_count"], moves["moved_count"]) == (6, moved)


@pytest.mark.parametrize("option", ["--queues", "--read-queues", "--write-queues"])
@pytest.mark.parametrize("number", ["99999999999", "65537"])
def test_no_topic_has_so_many_queues(live: Run, cluster: EmbeddedCluster, option: str, number: str) -> None:
    cluster.record_requests()
    made = live("topic", "create", "-t", "q", option, number, *sure("q"))
    updated = live("topic", "update", "-t", "Pay", option, number, *sure())
    requests = cluster.requests()
    cluster.record_requests(on=False)
    assert (made.exit_code, updated.exit_code, requests) == (64, 64, []), made.stderr
    assert live("history", "-o", "json").json["changes"] == []


def test_queues_go_in_two_steps_and_only_when_they_are_read(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay", queue_id=1), b"late").code == 0
    words = ("topic", "update", "-t", "Pay", "--queues", "1")
    hasty = live("topic", "update", "-t", "Pay", "--read-queues", "1", *sure())
    assert (hasty.exit_code, "--write-queues" in hasty.stderr) == (76, True)
    first = live(*words, *sure())
    assert (first.exit_code, on_brokers(live)) == (0, both(2, 1, "RW-")), first.stderr
    assert "broker-a: drain the other queues, then run it again to read only 1" in first.stderr
    refused = live(*words, *sure())
    assert (refused.exit_code, "group G has not read 1 message" in refused.stderr) == (76, True)
    assert on_brokers(live) == both(2, 1, "RW-")
    change(cluster, "broker-a", commit_offset("G", "Pay", 1, 1))
    second = live(*words, *sure())
    assert (second.exit_code, on_brokers(live)) == (0, both(1, 1, "RW-")), second.stderr
    assert "consumed by all groups, in the removed queues: 1 message;" in second.stderr
    assert live("undo", second.json["id"], *sure()).exit_code == 0
    assert live("undo", first.json["id"], *sure()).exit_code == 0
    assert on_brokers(live) == both(2, 2, "RW-")


def test_permissions(live: Run, cluster: EmbeddedCluster) -> None:
    letters = TopicConfig(name="%DLQ%G", read_queue_count=1, write_queue_count=1, perm=2)
    change(cluster, "broker-b", put_topic(letters))
    words = ("topic", "update", "-t", "%DLQ%G", "--perm", "RW-")
    done = live(*words, "--broker", "broker-b", *sure("%DLQ%G"))
    assert (done.exit_code, on_brokers(live, "%DLQ%G")) == (0, {"broker-b": (1, 1, "RW-")}), done.stderr
    assert live("dlq", "list", "-o", "json").json["groups"][0]["readable"]
    closed = live("topic", "update", "-t", "Pay", "--perm", "R", *sure())
    assert (closed.exit_code, on_brokers(live)) == (0, both(2, 2, "R--"))
    assert "producers can no longer send to Pay on broker-a" in closed.stderr


def test_a_topic_in_use_is_not_deleted(live: Run, cluster: EmbeddedCluster) -> None:
    unread = live("topic", "delete", "-t", "Pay", *sure())
    assert (unread.exit_code, "group G has not read 4 messages" in unread.stderr) == (76, True), unread.stderr
    consume_all(cluster)
    with Peer(cluster.broker("broker-a").address) as peer:
        heartbeat(peer, "client-1", group="G", subscriptions={"Pay": "*"})
        used = live("topic", "delete", "-t", "Pay", "--drop-unread", *sure())
    assert (used.exit_code, "group G subscribes to it with 1 member" in used.stderr) == (76, True)
    assert on_brokers(live) == both(2, 2, "RW-")


def test_a_group_that_is_new_to_a_topic_reads_it_whatever_the_release_tells(
    live: Run, cluster: EmbeddedCluster
) -> None:
    """Brokers of 5.3.3 name the topic where they should name a group that is online and has no offsets there."""
    consume_all(cluster)
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="Fresh")))
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.version = 61
        heartbeat(peer, "client-9", group="Fresh", subscriptions={"Pay": "*"})
        listed = live("topic", "describe", "-t", "Pay", "-o", "json").json["groups"]
        used = live("topic", "delete", "-t", "Pay", *sure())
    assert [(row["group"], row["brokers"]) for row in listed] == [("Fresh", "broker-a"), ("G", "broker-a, broker-b")]
    assert (used.exit_code, "group Fresh subscribes to it" in used.stderr) == (76, True), used


def test_a_topic_is_deleted_everywhere_and_its_settings_come_back(live: Run, cluster: EmbeddedCluster) -> None:
    consume_all(cluster)
    plan = live("topic", "delete", "-t", "Pay")
    assert "10 messages go with it" in plan.stdout
    assert "keep the offsets of G" in plan.stdout
    done = live("topic", "delete", "-t", "Pay", *sure())
    assert (done.exit_code, on_brokers(live)) == (0, {}), done.stdout
    kinds = [step["kind"] for step in done.json["steps"]]
    assert kinds == ["topic", "topic", "route", "route"]
    assert live("topic", "route", "-t", "Pay").exit_code == 66
    undone = live("undo", done.json["id"], *sure())
    assert (undone.exit_code, on_brokers(live)) == (0, both(2, 2, "RW-")), undone.stderr
    assert "its messages are gone" in undone.stderr
    assert "Impact: destroys." in live("topic", "delete", "--help").stdout


def test_the_name_servers_wait_for_the_brokers(live: Run, cluster: EmbeddedCluster) -> None:
    consume_all(cluster)
    cluster.fault(_DELETE, Answer(code=1, remark="no"), server="broker-b")
    done = live("topic", "delete", "-t", "Pay", *sure())
    cluster.clear_faults()
    states = [(step["place"], step["state"]) for step in done.json["steps"]]
    assert (done.exit_code, states[:2]) == (1, [("broker-a", "confirmed"), ("broker-b", "not-moved")]), done.stderr
    assert {step["state"] for step in done.json["steps"][2:]} == {"not-moved"}
    assert "the topic at broker-b comes first" in done.json["steps"][2]["reason"]
    assert on_brokers(live) == {"broker-b": (2, 2, "RW-")}
    assert live("undo", done.json["id"], *sure()).exit_code == 0
    assert on_brokers(live) == both(2, 2, "RW-")


def test_a_broker_that_only_says_success_has_changed_nothing(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_PUT, Answer(code=0), server="broker-a")
    done = live("topic", "update", "-t", "Pay", "--queues", "4", *sure())
    cluster.clear_faults()
    states = {step["place"]: (step["state"], step["reason"]) for step in done.json["steps"]}
    assert done.exit_code == 1
    assert states["broker-a"] == ("not-moved", "the broker accepted the change, but nothing changed")
    assert states["broker-b"] == ("confirmed", None)


def test_a_broker_that_falls_silent_is_unknown_and_undo_asks_anew(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_PUT, Drop(), server="broker-b")
    done = live("topic", "update", "-t", "Pay", "--queues", "4", *sure(), "--timeout", "6s")
    cluster.clear_faults()
    states = {step["place"]: step["state"] for step in done.json["steps"]}
    assert (done.exit_code, states) == (3, {"broker-a": "confirmed", "broker-b": "unknown"}), done.stderr
    assert live("undo", done.json["id"], *sure()).exit_code == 0
    assert on_brokers(live) == both(2, 2, "RW-")


def test_the_order_configuration_is_written_to_every_name_server(live: Run) -> None:
    words = ("topic", "update", "-t", "Pay", "--order", "broker-a:2;broker-b:1")
    done = live(*words, *sure())
    assert (done.exit_code, [step["state"] for step in done.json["steps"]]) == (0, ["confirmed"] * 2), done.stderr
    plan = live("topic", "update", "-t", "Pay", "--queues", "4").stdout
    assert "keeps the order configuration broker-a:2;broker-b:1" in plan
    assert live("topic", "update", "-t", "Pay", "--no-order", *sure()).exit_code == 0
    assert live("undo", done.json["id"], *sure()).exit_code == 0
    assert "nothing to do" in live("topic", "update", "-t", "Pay", "--no-order").stdout


def test_an_order_configuration_that_is_left_over_can_be_removed(live: Run, cluster: EmbeddedCluster) -> None:
    links = Links()
    for address in cluster.namesrv.split(";"):
        links.ask(address, put_kv("ORDER_TOPIC_CONFIG", "Gone", "broker-z:4"), Deadline(60_000))
    links.close()
    assert live("topic", "update", "-t", "Gone", "--order", "broker-a:1").exit_code == 66
    done = live("topic", "update", "-t", "Gone", "--no-order", *sure("Gone"))
    assert (done.exit_code, [step["old"] for step in done.json["steps"]]) == (0, [{"Gone": "broker-z:4"}] * 2)


def test_a_second_cluster_behind_the_same_name_servers_is_left_alone(live: Run, cluster: EmbeddedCluster) -> None:
    consume_all(cluster)
    with ExitStack() as stack:
        other = stack.enter_context(EmbeddedCluster(cluster="Second", brokers=("other-a",)))
        other.on_loop(lambda running: running.broker("other-a").topics.put(TopicConfig(name="Pay")))
        for address in cluster.namesrv.split(";"):
            server = stack.enter_context(Peer(address))
            assert server.call(registration(other), body_of(TopicConfig(name="Pay"))).code == 0
        several = live("topic", "update", "-t", "Pay", "--queues", "4")
        assert (several.exit_code, "DefaultCluster, Second" in several.stderr) == (64, True), several.stderr
        here = ("--broker", "broker-a", "--broker", "broker-b")
        grown = live("topic", "update", "-t", "Pay", "--queues", "4", *here, *sure())
        assert grown.exit_code == 0, grown.stderr
        gone = live("topic", "delete", "-t", "Pay", *here, *sure())
        assert (gone.exit_code, {step["kind"] for step in gone.json["steps"]}) == (0, {"topic"}), gone.stderr
        assert "other brokers still have it" in gone.stderr
        assert other.on_loop(lambda running: running.broker("other-a").topics.find("Pay")) is not None
        undone = live("undo", gone.json["id"], *sure())
        assert (undone.exit_code, undone.json["state"]) == (0, "confirmed"), undone.stderr


def registration(other: EmbeddedCluster) -> RegisterBroker:
    address = other.broker("other-a").address
    return RegisterBroker(
        broker_name="other-a",
        broker_addr=address,
        cluster_name="Second",
        ha_server_addr=address,
        broker_id=0,
        compressed=False,
        body_crc32=0,
    )


def body_of(config: TopicConfig) -> bytes:
    table = TopicConfigTable(topic_config_table={config.name: config})
    return RegisterBrokerBody(topic_config_serialize_wrapper=table).to_bytes()


@pytest.mark.both_releases
def test_attributes_belong_to_5x(live: Run, cluster: EmbeddedCluster) -> None:
    words = ("topic", "create", "-t", "Fifo", "--attribute", "message.type=FIFO")
    done = live(*words, *DO)
    if cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5):
        assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
        assert '"message.type": "FIFO"' in done.json["steps"][0]["found"]["attributes"]
    else:
        assert (done.exit_code, "does not support topic attributes" in done.stderr) == (76, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("topic", "create", "-t", "no such name"), 64, "not a valid topic name"),
        (("topic", "create", "-t", "TBW102"), 64, "belongs to the brokers"),
        (("topic", "create", "-t", "broker-a"), 64, "belongs to the brokers"),
        (("topic", "create", "-t", "New", "--broker", "nowhere"), 66, "nowhere"),
        (("topic", "create", "-t", "New", "--perm", "Q"), 64, "permission"),
        (("topic", "create", "-t", "New", "--attribute", "x"), 64, "NAME=VALUE"),
        (("topic", "update", "-t", "Pay"), 64, "no change given"),
        (("topic", "update", "-t", "Pay", "--write-queues", "9"), 64, "above the read count"),
        (("topic", "update", "-t", "nope", "--queues", "9"), 66, "nope"),
        (("topic", "update", "-t", "Pay", "--queues", "3", "--execute"), 76, "--confirm Pay"),
        (
            ("topic", "update", "-t", "Pay", "--queues", "3", "--execute", "--confirm", "Pya"),
            64,
            "the plan is about Pay",
        ),
        (("topic", "delete", "-t", "nope"), 66, "nope"),
        (("topic", "update", "-t", "Pay", "--no-order", "--perm", "R"), 64, "--no-order"),
        (("topic", "update", "-t", "Pay", "--order", "broker-a:9"), 64, "broker-a:2"),
        (("undo", "20200101-000000-0000"), 66, "history"),
        (("undo", "../../x"), 66, "history"),
    ],
)
def test_bad_input(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
    assert on_brokers(live) == both(2, 2, "RW-")


def test_a_group_that_never_committed_keeps_a_topic(live: Run, cluster: EmbeddedCluster) -> None:
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="H")))
    change(cluster, "broker-a", commit_offset("H", "Pay", 1, 0))
    consume_all(cluster)
    outcome = live("topic", "delete", "-t", "Pay")
    assert (outcome.exit_code, "group H has not read 10 messages" in outcome.stderr) == (76, True), outcome.stderr
