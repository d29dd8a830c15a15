"""Groups that pop: what is ready, invisible, due and waiting for another try, in a store and in a live cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from json import loads
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.pop_consumer import PopConsumer
from mqctl.client.consumer.popping import PopSettings
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import Consumed
from mqctl.model.names import pop_retry_topic
from mqctl.protocol.bodies_pop import MessageRequestMode, PopCheckPoint
from mqctl.protocol.receipts import Receipt
from mqctl.protocol.requests_admin import UpdateBrokerConfig
from mqctl.protocol.requests_pop import ChangeInvisibleTime, ChangeInvisibleTimeReply, SetMessageRequestMode
from mqctl.store.record_writer import Incoming
from tests.client.consuming import Heard, wait_until
from tests.each import each
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.test_pop import ack, pop, popped
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.pop_recording import truth, unpack_recorded_store

COUNTS = ("ready_count", "invisible_count", "due_count", "retry_count")


@pytest.fixture(scope="module")
def popping() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3") as cluster:
        yield cluster


def test_the_figures_of_a_recorded_store_are_what_is_known_of_it(mqctl: Run, tmp_path: Path) -> None:
    known = truth()
    store = unpack_recorded_store(tmp_path)
    outcome = mqctl("group", "lag", "--store", store, "--at", known["state_read_ms"], "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    rows = {(row["group"], row["topic"]): row for row in outcome.json["groups"]}
    expected: dict[tuple[str, str], list[int]] = {}
    for queue in known["queues"]:
        topic = queue["topic"].rpartition("+")[2]
        counts = expected.setdefault((queue["group"], topic), [0, 0, 0, 0])
        if topic == queue["topic"]:
            counts[0] += len(queue["not_popped"])
            counts[1] += len(queue["invisible"])
        else:
            counts[3] += len(queue["waiting"])
    assert {key: [rows[key][name] for name in COUNTS] for key in expected} == expected
    moments = sorted({
        item["revive_time"] for item in known["checkpoints"] if item["group"] == "G1" and item["state"] == "invisible"
    })  # fmt: skip
    assert rows["G1", "T1"]["next_visible_ms"] == moments[:5]
    assert (rows["GF", "TF"]["blocked_queue_count"], rows["G1", "T1"]["blocked_queue_count"]) == (1, 0)
    assert {row["consume_mode"] for key, row in rows.items() if key in expected} == {"POP"}
    words = ("doctor", "--store", store, "--at", known["state_read_ms"] + 600_000)
    modes = {finding["code"]: finding["consume_mode"] for finding in mqctl(*words, "-o", "json").json["findings"]}
    assert (modes["MQ416"], modes["MQ401"]) == ("POP", "POP")
    assert "MQ416  G1 T1 (POP)" in mqctl(*words).stdout
    later = mqctl("group", "lag", "--store", store, "--at", moments[-1] + 60_000, "-g", "G1", "-o", "json")
    (row,) = (row for row in later.json["groups"] if row["topic"] == "T1")
    assert [row[name] for name in COUNTS] == [4, 0, 8, 3]
    for (group, topic), counts in expected.items():
        describe = ("group", "describe", "-g", group, "--store", store)
        shown = mqctl(*describe, "--at", known["state_read_ms"], "-o", "json")
        assert (shown.exit_code, [row["topic"] for row in shown.json["pops"]]) == (0, [topic]), shown.stderr
        assert [shown.json["pops"][0][name] for name in COUNTS] == counts
        assert "members not read: a store does not show who is online" in shown.stderr
        assert "members are not known" in mqctl(*describe).stdout
    assert mqctl("group", "describe", "-g", "G1", "--at", "now").exit_code == 64


@each("files", [("CURRENT",), ("MANIFEST-000005", "000012.sst"), ()])
def test_pops_that_a_store_keeps_in_a_database_are_not_counted_from_records(
    mqctl: Run, tmp_path: Path, files: tuple[str, ...]
) -> None:
    known = truth()
    store = unpack_recorded_store(tmp_path / "-".join(files))
    (store / "kvStore").mkdir()
    for name in files:
        (store / "kvStore" / name).write_bytes(b"x")
    outcome = mqctl("group", "lag", "--store", store, "--at", known["state_read_ms"], "-o", "json")
    gaps = {gap["key"] for gap in outcome.json.get("unavailable", ())}
    assert gaps == ({"pops-in-store-database"} if files else set())
    assert (outcome.exit_code != 0) == bool(files)
    for row in (row for row in outcome.json["groups"] if row["ready_count"] is not None):
        assert (row["invisible_count"] is None, row["due_count"] is None) == (bool(files), bool(files))
        assert row["retry_count"] is not None


@each(
    "setting, key",
    [
        ("popConsumerKVServiceEnable=true", "pops-in-database"),
        ("enablePopBufferMerge=true", "pops-in-buffer"),
        ("popConsumerKVServiceInit=true", None),
    ],
)
def test_pops_that_a_broker_keeps_elsewhere_are_not_counted_from_records(
    mqctl: Run, setting: str, key: str | None
) -> None:
    """What is ready, and what waits in retry topics, is known all the same."""
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address, version=479) as peer:
        env = {"MQCTL_NAMESRV": cluster.namesrv}
        for number in range(6):
            assert peer.call(send("Shared", queues=1), f"{number}".encode()).code == 0
        mode = MessageRequestMode(topic="Shared", consumer_group="GP", mode="POP", pop_share_queue_num=8)
        assert peer.call(SetMessageRequestMode(), mode.to_bytes()).code == 0
        popped(pop(peer, "Shared", "GP", max_msg_nums=4, invisible_time=600_000))
        assert peer.call(UpdateBrokerConfig(), setting.encode()).code == 0
        outcome = mqctl("group", "lag", "-g", "GP", "-o", "json", env=env)
        (row,) = (row for row in outcome.json["groups"] if row["topic"] == "Shared")
        assert (row["ready_count"], row["retry_count"], row["consume_mode"]) == (2, 0, "POP")
        assert (row["invisible_count"], row["due_count"]) == ((4, 0) if key is None else (None, None))
        gaps = {gap["key"] for gap in outcome.json.get("unavailable", ())}
        assert (gaps, outcome.exit_code == 0) == (({key}, False) if key else (set(), True))
        wait = ("group", "lag", "-g", "GP", "--until", "invisible<9", "--timeout", "1s", "--every", "200ms")
        assert mqctl(*wait, env=env).exit_code == (3 if key else 0)
        if key is not None:
            table = mqctl("group", "lag", "-g", "GP", env=env)
            assert "?" in table.stdout
            exported = mqctl("export", "prometheus", "--once", env=env).stdout.splitlines()
            values = [line.rsplit(" ", 1)[1] for line in exported if line.startswith("mqctl_group_invisible_messages{")]
            assert set(values) == {"NaN"}
            unjudged = mqctl("doctor", "GP", "-o", "json", env=env).json["not_judged"]
            assert {"MQ416", "MQ421", "MQ425"} <= {item["code"] for item in unjudged}


def test_what_was_popped_in_order_comes_back_without_the_revive_service(mqctl: Run, tmp_path: Path) -> None:
    known = truth()
    store = unpack_recorded_store(tmp_path)
    late = ("--store", store, "--at", known["state_read_ms"] + 600_000)
    (row,) = mqctl("group", "lag", "-g", "GF", *late, "-o", "json").json["groups"]
    assert [row[name] for name in COUNTS] == [3, 0, 2, 0]
    subjects = {(item["code"], item["subject"]) for item in mqctl("doctor", *late, "-o", "json").json["findings"]}
    assert ("MQ416", "G1 T1") in subjects
    assert ("MQ416", "GF TF") not in subjects


def test_a_store_without_pops_has_no_figures_of_them(mqctl: Run, tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path, version="5.3.3") as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(send("T"), b"x").code == 0
    outcome = mqctl("group", "lag", "--store", tmp_path / "broker-a", "-o", "json")
    assert all(row["ready_count"] is None for row in outcome.json["groups"])


def test_a_live_group_that_pops_tells_what_it_holds(mqctl: Run, popping: EmbeddedCluster) -> None:
    env = {"MQCTL_NAMESRV": popping.namesrv}
    with Peer(popping.broker().address, version=479) as peer:
        for number in range(6):
            assert peer.call(send("Shared", queues=1), f"{number}".encode()).code == 0
        mode = MessageRequestMode(topic="Shared", consumer_group="GP", mode="POP", pop_share_queue_num=8)
        assert peer.call(SetMessageRequestMode(), mode.to_bytes()).code == 0
        pairs = popped(pop(peer, "Shared", "GP", max_msg_nums=4, invisible_time=600_000))
        assert ack(peer, pairs[1][1], "Shared", "GP") == 0
        outcome = mqctl("group", "lag", "-g", "GP", "-o", "json", env=env)
        (row,) = (row for row in outcome.json["groups"] if row["topic"] == "Shared")
        assert [row[name] for name in COUNTS] == [2, 3, 0, 0]
        assert row["next_visible_ms"] == [pairs[0][1].due_ms]
        assert (row["consume_mode"], row["blocked_queue_count"]) == ("POP", None)
        table = mqctl("group", "lag", "-g", "GP", env=env)
        assert {"INVISIBLE", "NEXT"} <= set(table.stdout.split())
        assert "mqctl: pop" not in outcome.stderr
        everyone = mqctl("group", "lag", "-o", "json", env=env).json["groups"]
        (row,) = (row for row in everyone if (row["group"], row["topic"]) == ("GP", "Shared"))
        assert (row["consume_mode"], [row[name] for name in COUNTS]) == ("POP", [2, 3, 0, 0]), "of all groups as well"
        watched = mqctl("group", "lag", "-g", "GP", "--watch", "--count", "1", "-o", "ndjson", env=env)
        (line,) = (line for line in map(loads, watched.stdout.splitlines()) if line["topic"] == "Shared")
        assert (line["consume_mode"], [line[name] for name in COUNTS]) == ("POP", [2, 3, 0, 0])
        assert "INVISIBLE" in mqctl("group", "lag", "-g", "GP", "--watch", "--count", "1", env=env).stdout.split()
        (share,) = mqctl("group", "describe", "-g", "GP", "-o", "json", env=env).json["pops"]
        assert [share[name] for name in COUNTS] == [2, 3, 0, 0]
        (row,) = (
            item for item in mqctl("top", "--once", "-o", "json", env=env).json["groups"] if item["topic"] == "Shared"
        )
        assert (row["group"], row["consume_mode"]) == ("GP", "POP")
        peer.version = 61  # too old to be asked what it holds
        heartbeat(peer, "one", group="GP", subscriptions={"Shared": "*"})
        shown = mqctl("allocation", "show", "-g", "GP", "-o", "json", env=env)
        assert {row["marks"] for row in shown.json["queues"]} == {"pop"}
        (topic,) = shown.json["topics"]
        assert (topic["orphan_count"], topic["strategies"]) == (0, "POP")
        heartbeat(peer, "two", group="GP", subscriptions={"Shared": "*", "Pulled": "*"})
        heartbeat(peer, "three", group="GL", subscriptions={"Shared": "*"})
        listed = mqctl("group", "list", "-o", "json", env=env).json["groups"]
        assert {row["group"]: row["consume_mode"] for row in listed if row["member_count"]} == {
            "GP": "POP, PULL", "GL": "PULL",
        }  # fmt: skip
        assert "CONSUME MODE" in mqctl("group", "list", env=env).stdout
        for verb in ("groups", "describe"):
            groups = mqctl("topic", verb, "-t", "Shared", "-o", "json", env=env).json["groups"]
            assert {row["group"]: row["consume_mode"] for row in groups} == {"GP": "POP", "GL": None}
            assert "MODE" in mqctl("topic", verb, "-t", "Shared", env=env).stdout.split()
        for verb in ("members", "describe"):
            assert mqctl("group", verb, "-g", "GP", "-o", "json", env=env).json["consume_mode"] == "POP, PULL"
    # What is set for a group is known when nobody of it is online, too.
    wait_until(lambda: popping.broker().on_loop(lambda broker: "GP" not in broker.clients.consumers), "all have left")
    for verb in ("members", "describe"):
        left = mqctl("group", verb, "-g", "GP", "-o", "json", env=env).json
        assert (left["members"], left["consume_mode"]) == ([], "POP")
    listed = mqctl("group", "list", "-o", "json", env=env).json["groups"]
    assert {row["consume_mode"] for row in listed if row["group"] == "GP"} == {"POP"}


def test_how_a_group_consumes_stands_where_it_is_watched_judged_and_counted(
    mqctl: Run, popping: EmbeddedCluster
) -> None:
    env = {"MQCTL_NAMESRV": popping.namesrv}
    with Peer(popping.broker().address, version=61) as peer:
        for number in range(6):
            assert peer.call(send("Watched", queues=1), f"{number}".encode()).code == 0
        mode = MessageRequestMode(topic="Watched", consumer_group="GW", mode="POP", pop_share_queue_num=8)
        assert peer.call(SetMessageRequestMode(), mode.to_bytes()).code == 0
        pairs = popped(pop(peer, "Watched", "GW", max_msg_nums=4, invisible_time=600_000))
        assert ack(peer, pairs[1][1], "Watched", "GW") == 0
        heartbeat(peer, "one", group="GW", subscriptions={"Watched": "*"})
        reached = "ready=2 and invisible(GW)=3 and due=0 and retry=0"
        assert mqctl("group", "lag", "-g", "GW", "--until", reached, env=env).exit_code == 0
        missed = mqctl("group", "lag", "-g", "GW", "--until", "invisible<3", "--timeout", "1ms", env=env)
        assert missed.exit_code == 75, "a lag that is gone is not work that is done"
        scraped = mqctl("export", "prometheus", "--once", env=env).stdout
        for name, value in (("pops", 1), ("ready_messages", 2), ("invisible_messages", 3), ("due_messages", 0)):
            assert f'mqctl_group_{name}{{cluster="DefaultCluster",group="GW",topic="Watched"}} {value}.0' in scraped
        (held,) = mqctl("topic", "describe", "-t", "Watched", "-q", "0", "-o", "json", env=env).json["consumers"]
        assert (held["group"], held["consume_mode"]) == ("GW", "POP")
        assert "MODE" in mqctl("topic", "describe", "-t", "Watched", "-q", "0", env=env).stdout.split()
        count = mqctl("cluster", "describe", "-o", "json", env=env).json["popping_group_count"]
        left = MessageRequestMode(topic="Watched", consumer_group="GDeleted", mode="POP", pop_share_queue_num=8)
        assert count >= 1 and peer.call(SetMessageRequestMode(), left.to_bytes()).code == 0
        assert mqctl("group", "delete", "GDeleted", "--execute", "--confirm", "GDeleted", env=env).exit_code == 0
        assert mqctl("cluster", "describe", "-o", "json", env=env).json["popping_group_count"] == count
        assert " of them set to POP\n" in mqctl("cluster", "describe", env=env).stdout
        assert mqctl("group", "describe", "-g", "GW", "-o", "json", env=env).json["consume_mode"] == "POP"
        assert "CONSUME_PASSIVELY, POP, " in mqctl("group", "describe", "-g", "GW", env=env).stdout
        assert "消费方式：CLUSTERING" in mqctl("group", "members", "-g", "GW", env={**env, "MQCTL_LANG": "zh"}).stdout
        assert "逾期" in mqctl("group", "lag", "-g", "GW", env={**env, "MQCTL_LANG": "zh"}).stdout
        (covered,) = mqctl("doctor", "-g", "GW", "-o", "json", env=env).json["covered"]
        assert (covered["name"], covered["consume_mode"]) == ("GW", "POP")


def test_who_lengthens_the_time_of_a_message_again_and_again_holds_it(mqctl: Run, popping: EmbeddedCluster) -> None:
    """What fails is changed once, for its next try; a hung gRPC consumer's messages are renewed by its proxy."""
    with Peer(popping.broker().address, version=479) as peer:
        for number in range(2):
            assert peer.call(send("Held", queues=1), f"{number}".encode()).code == 0
        (_, held), (_, failed) = popped(pop(peer, "Held", "GH", max_msg_nums=2, invisible_time=600_000))

        def change(receipt: Receipt) -> Receipt:
            assert receipt.offset is not None
            request = ChangeInvisibleTime(
                consumer_group="GH", topic="Held", queue_id=0, extra_info=str(receipt), offset=receipt.offset,
                invisible_time=600_000,
            )  # fmt: skip
            answer = peer.call(request)
            assert answer.code == 0
            later = ChangeInvisibleTimeReply.from_ext(answer.ext_fields)
            return replace(receipt, pop_ms=later.pop_time, revive_queue=later.revive_qid, start_offset=receipt.offset)

        change(failed)
        first_ms = held.pop_ms
        for _ in range(2):
            held = change(held)
    rows = mqctl("group", "lag", "-g", "GH", "-o", "json", env={"MQCTL_NAMESRV": popping.namesrv}).json["groups"]
    (row,) = (row for row in rows if row["topic"] == "Held")
    assert (row["invisible_count"], row["renewed_count"], row["held_since_ms"]) == (2, 1, first_ms)


def test_what_came_back_is_neither_due_nor_invisible_though_its_records_stay(mqctl: Run) -> None:
    def told() -> list[int]:
        outcome = mqctl("group", "lag", "-g", "GP", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv})
        (row,) = (row for row in outcome.json["groups"] if row["topic"] == "Shared")
        return [row[name] for name in COUNTS]

    with (
        EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster,
        Peer(cluster.broker().address, version=479) as peer,
    ):
        for number in range(20):
            assert peer.call(send("Shared", queues=1), f"{number}".encode()).code == 0
        for number in range(18):  # more than there are revive queues: some records lie before what is read of them
            ((_, receipt),) = popped(pop(peer, "Shared", "GP", max_msg_nums=1, invisible_time=20_000))
            if number == 0:
                assert ack(peer, receipt, "Shared", "GP") == 0
        assert told() == [2, 17, 0, 0]
        cluster.advance(40_000)
        assert told() == [2, 0, 0, 17], "the timer topic still has the checkpoints"
        for _, receipt in popped(pop(peer, "Shared", "GP", invisible_time=600_000)):
            ack(peer, receipt, "Shared", "GP")
        assert told() == [0, 0, 0, 0]


def test_messages_are_popped_shown_and_acknowledged_by_the_command_line(mqctl: Run, popping: EmbeddedCluster) -> None:
    env = {"MQCTL_NAMESRV": popping.namesrv}
    with Peer(popping.broker().address, version=479) as peer:
        for number in range(3):
            assert peer.call(send("Tried", queues=1), f"{number}".encode()).code == 0
        heartbeat(peer, "one", group="GC", subscriptions={"Tried": "*"})  # makes the group
    words = ("message", "consume", "-t", "Tried", "-g", "GC", "--pop", "-o", "json")
    kept = mqctl(*words, "--count", "2", "--invisible", "10m", env=env)
    assert kept.exit_code == 0, kept.stderr
    assert [item["body"] for item in kept.json["messages"]] == ["0", "1"]
    receipts = kept.json["receipts"]
    assert [(item["lies_in"], item["queue_offset"], item["reconsume_times"]) for item in receipts] == [
        ("Tried", 0, 0), ("Tried", 1, 0)
    ]  # fmt: skip
    assert "2 messages of group GC, not acknowledged: invisible to others now" in kept.stderr
    done = mqctl(*words, "--wait", "0s", "--commit", env=env)
    assert [item["body"] for item in done.json["messages"]] == ["2"], "the others are invisible"
    assert "1 message of group GC, acknowledged: its members will not get them" in done.stderr
    (row,) = mqctl("group", "lag", "-g", "GC", "-o", "json", env=env).json["groups"]
    assert [row[name] for name in COUNTS] == [0, 2, 0, 0]
    alone = mqctl("message", "consume", "-t", "Tried", "--pop", "--from-start", "--count", "3", "-o", "json", env=env)
    assert [item["body"] for item in alone.json["messages"]] == ["0", "1", "2"]
    assert alone.json["temporary"]
    wrong = mqctl("message", "consume", "-t", "Tried", "--invisible", "10s", env=env)
    assert (wrong.exit_code, "--pop" in wrong.stderr) == (64, True)


def test_what_does_not_come_back_is_found(mqctl: Run) -> None:
    def spoil(broker: Broker) -> None:
        """The revive service is dead, and two retries lie under the name that nobody reads."""
        assert broker.pop is not None
        broker.pop.revive.stop()
        old = PopCheckPoint(
            broker_name="broker-a", consumer_group="GP", offset_differences=(0,), invisible_ms=1_000, count=1,
            pop_ms=broker.clock.now_ms() - 120_000, queue_id=0, start_offset=0, topic="Shared",
        )  # fmt: skip
        broker.pop.records.store_checkpoint(old, 0)
        stranded = pop_retry_topic("GP", "Shared", v2=True)
        broker.topics.find_or_create(stranded, 1)
        for body in (b"1", b"2"):
            message = Incoming(
                topic=stranded, queue_id=0, body=body, properties="", born_ms=1, born_host=broker.address
            )
            broker.intake.put(message)

    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address, version=479) as peer:
        assert peer.call(send("Shared", queues=1), b"x").code == 0
        pop(peer, "Shared", "GP", max_msg_nums=1)
        words = ("doctor", "--only", "MQ416", "--only", "MQ417", "-o", "json")
        env = {"MQCTL_NAMESRV": cluster.namesrv}
        healthy = mqctl(*words, env=env)
        assert healthy.exit_code == 0, healthy.stderr
        assert healthy.json["findings"] == []
        cluster.broker().on_loop(spoil)
        ill = mqctl(*words, env=env)
        assert ill.exit_code == 2, ill.stderr
        findings = {item["code"]: item for item in ill.json["findings"]}
        assert findings.keys() == {"MQ416", "MQ417"}
        evidence = {**findings["MQ416"]["evidence"], **findings["MQ417"]["evidence"]}
        assert (evidence["due_count"], evidence["stranded_count"]) == (1, 2)
        assert evidence["late_ms"] >= 119_000


def test_every_command_that_shows_a_group_says_that_it_pops(
    mqctl: Run, popping: EmbeddedCluster, tmp_path: Path
) -> None:
    """One message of three fails: it is waiting to come again while the offset is at the end."""
    env = {"MQCTL_NAMESRV": popping.namesrv}
    with Peer(popping.broker().address, version=479) as peer:
        sent = [peer.call(send("Seen", queues=1), f"{number}".encode()).ext_fields or {} for number in range(3)]
        assert peer.call(send("%DLQ%GS", queues=1), b"dead").code == 0
        mode = MessageRequestMode(topic="Seen", consumer_group="GS", mode="POP", pop_share_queue_num=0)
        assert peer.call(SetMessageRequestMode(), mode.to_bytes()).code == 0
    heard = Heard(lambda message: Consumed.SUCCESS if message.body != b"1" else Consumed.RECONSUME_LATER)
    settings = ClientSettings(name_servers=popping.namesrv, client_ip="127.0.0.1", instance_name="seen")
    consuming = ConsumerSettings(consume_from=ConsumeFrom.FIRST_OFFSET, threads=1)
    member = PopConsumer("GS", settings, heard, consuming, pops=PopSettings())
    member.subscribe("Seen")
    with member:
        heard.wait_for(3)
        of = ("-g", "GS", "-o", "json")
        locks = mqctl("lock", "show", *of, env=env)
        assert (locks.exit_code, locks.json["queues"], locks.json["popped"]) == (0, [], ["Seen"])
        assert "GS pops Seen: brokers share out the messages" in mqctl("lock", "show", "-g", "GS", env=env).stdout
        for words in (
            ("lock", "show"), ("subscription", "check"), ("allocation", "show"),
            ("group", "members", "--client", member.client_id),
        ):  # fmt: skip
            assert mqctl(*words, *of, env=env).json["consume_mode"] == "POP", words
        assert "GS (POP): " in mqctl("subscription", "check", "-g", "GS", env=env).stdout
        rows = mqctl("subscription", "check", "--all", "-o", "json", env=env).json["groups"]
        assert {row["consume_mode"] for row in rows if row["group"] == "GS"} == {"POP"}
        tracks = mqctl("message", "trace", sent[0]["msgId"], "-o", "json", env=env).json["tracks"]
        assert [(item["group"], item["state"], item["consume_mode"]) for item in tracks] == [("GS", "popped", "POP")]
        (instance,) = mqctl("stacks", "dump", *of, "--dumps", "1", env=env).json["instances"]
        assert instance["consume_mode"] == "POP"
        assert "  GS (POP): " in mqctl("stacks", "dump", "-g", "GS", "--dumps", "1", env=env).stdout
        watch = ("stacks", "dump", "--watch", "-g", "GS", "--count", "1", "-o", "ndjson")
        round_ = mqctl(*watch, env=env).stdout.splitlines()
        assert {loads(line)["consume_mode"] for line in round_} == {"POP"}
        (letters,) = mqctl("dlq", "list", *of, env=env).json["groups"]
        assert letters["consume_mode"] == "POP"
        saved = str(tmp_path / "now.snap")
        assert mqctl("snapshot", "save", saved, env=env).exit_code == 0
        (advice,) = mqctl("group", "lag", *of, "--advise", "--snapshot", saved).json["groups"]
        assert advice["consume_mode"] == "POP"
    exported = mqctl("cluster", "export", "-g", "GS", "-o", "yaml", env=env).stdout
    assert "consume_modes:\n  GS: POP\n" in exported
    assert mqctl("cluster", "export", "-g", "GS", env=env).stdout.splitlines()[1].split()[:3] == ["group", "GS", "POP"]
    (tmp_path / "settings.yaml").write_text(exported)
    planned = mqctl("cluster", "apply", str(tmp_path / "settings.yaml"), env=env)
    assert "the file says that GS pop, which is not set by it" in planned.stdout + planned.stderr


def test_what_is_popped_again_is_listed_under_its_group(mqctl: Run) -> None:
    with (
        EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster,
        Peer(cluster.broker().address, version=479) as peer,
    ):
        assert peer.call(send("Shared_x", queues=1), b"late").code == 0
        popped(pop(peer, "Shared_x", "GP", max_msg_nums=1, invisible_time=10_000))
        cluster.advance(30_000)
        (row,) = mqctl("retry", "list", "-g", "GP", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv}).json[
            "retries"
        ]
        assert (row["group"], row["consume_mode"], row["state"]) == ("GP", "POP", "ready")
        assert row["origin_topic"] == "Shared_x"
        assert (row["tries_left"], row["dead_letter_ms"]) == (None, None), "brokers never give up what is popped"
        for _, receipt in popped(pop(peer, "Shared_x", "GP", invisible_time=600_000)):
            ack(peer, receipt, "Shared_x", "GP")
        assert mqctl("retry", "list", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv}).json["retries"] == []
