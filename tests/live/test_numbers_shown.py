"""Numbers and words of commands that say less, or more, than brokers and members do."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import lock_queues, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus, ProcessQueueInfo
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run, change


@pytest.mark.parametrize(("wanted", "passes"), [("A", True), ("B || A", True), ("*", True), ("B", False)])
def test_n3_entries_of_a_tag_that_the_group_wants_pass(
    live: Run, cluster: EmbeddedCluster, wanted: str, passes: bool
) -> None:
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", topics={"Pay": wanted}))
        words = ("topic", "entries", "-t", "Pay", "--queue", 0, "-g", "G")
        rows = live(*words, "-o", "json").json["entries"]
        shown = live(*words, "-o", "wide").stdout
    assert {row["passes"] for row in rows} == {passes}
    assert ("yes" if passes else "no") in shown.splitlines()[1].split()


def test_n4_nobody_can_say_when_the_lock_of_one_who_is_gone_ends(live: Run, cluster: EmbeddedCluster) -> None:
    queue = MessageQueue("Pay", "broker-a", 0)
    with Links() as links:
        question = lock_queues("G", "gone@1", (queue,))
        assert links.ask(cluster.broker("broker-a").address, question, Deadline(60_000)) == {queue}
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", properties={"PROP_CONSUMEORDERLY": "true"}))
        rows = live("lock", "show", "-g", "G", "-o", "json").json["queues"]
        shrunk = live("lock", "show", "-g", "G", "-o", "json", env={"MQCTL_TIME_SCALE": "20"}).json["queues"]
    (waiting,) = [row for row in rows if (row["broker_name"], row["queue_id"]) == ("broker-a", 0)]
    assert (waiting["state"], waiting["free_time_ms"]) == ("waiting", None)
    assert "60 s after its last renewal" in waiting["note"]
    assert {"3 s after its last renewal" in row["note"] for row in shrunk} == {True}


def test_n4_locks_are_shrunk_like_all_that_a_scenario_is_made_of(live: Run, cluster: EmbeddedCluster) -> None:
    now_ms = cluster.now_ms()
    held = {MessageQueue("Pay", "broker-a", 0): ProcessQueueInfo(locked=True, last_lock_timestamp=now_ms)}
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one", queues=held, properties={"PROP_CONSUMEORDERLY": "true"}))
        words = ("lock", "show", "-g", "G", "-o", "json")
        rows = live(*words, env={"MQCTL_TIME_SCALE": "20"}).json["queues"]
    assert [row["free_time_ms"] - now_ms for row in rows if row["holders"]] == [3_000]


def test_n5_a_level_beyond_the_table_is_the_highest_of_the_broker(live: Run, cluster: EmbeddedCluster) -> None:
    send = ("message", "send", "-t", "Pay", "--body", "x", "-o", "json", "--delay-level")
    assert live(*send, 3).json["way"] == "level 3"
    beyond = live(*send, 30).json
    assert beyond["way"] == f"level 18, the highest of {beyond['broker_name']}"


def test_n7_decisions_of_playbooks_name_group_and_topic(live: Run, cluster: EmbeddedCluster) -> None:
    run = live("playbook", "run", "backlog", "-p", "group=G", "-p", "window=100ms")
    assert "{" not in run.stderr, run.stderr
    if "scale-out" in run.stderr:
        assert "playbook run scale-out -p group=G -p topic=Pay`" in run.stderr
    with Cast(cluster) as cast:
        cast.join(
            Scripted(client_id="one", topics={"Pay": "A"}),
            Scripted(client_id="two", topics={"Pay": "B"}),
        )
        run = live("playbook", "run", "tag-loss", "-p", "group=G")
    assert "subscription-change -p group=G -p topic=Pay`" in run.stderr, run.stderr


def test_n9_rates_have_the_digits_that_people_read(live: Run, cluster: EmbeddedCluster) -> None:
    with Cast(cluster) as cast:
        rates = {"Pay": ConsumeStatus(pull_rt=330.06481481481484, consume_ok_tps=1 / 3)}
        cast.join(Scripted(client_id="one", rates=rates))
        shown = live("group", "members", "--client", "one", "-g", "G").stdout
    assert " 330 " in shown and " 0.3 " in shown, shown


def test_n9_a_long_chain_of_hops_is_told_in_a_screenful(live: Run) -> None:
    outcome = live("delay", "plan", "--at", "+10h1s", "--levels", "1s 5s")
    assert "10 h 1 s from now" in outcome.stdout
    assert len(outcome.stdout.splitlines()) < 30
    assert re.search(r"the first 20 hops of [\d,]+ are listed; -o json lists up to 1,000", outcome.stderr)


def differing(live: Run, cast: Cast, *wanted: dict[str, str]) -> dict[tuple[str, str], bool]:
    """Who is marked, by topic and member."""
    cast.join(*(Scripted(client_id=f"m{number}", topics=topics) for number, topics in enumerate(wanted)))
    report = live("subscription", "check", "-g", "G", "-o", "json").json
    return {(row["topic"], row["client_id"]): row["differs"] for row in report["wants"]}


def test_n10_of_two_that_differ_both_are_marked(live: Run, cluster: EmbeddedCluster) -> None:
    with Cast(cluster) as cast:
        differences = differing(live, cast, {"Pay": "A"}, {"Pay": "B"})
    assert differences == {("Pay", "m0"): True, ("Pay", "m1"): True}


def test_n10_the_one_that_lacks_a_topic_is_marked(live: Run, cluster: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_topic(TopicConfig(name="Ship", read_queue_count=2, write_queue_count=2)))
    with Cast(cluster) as cast:
        differences = differing(live, cast, {"Pay": "*", "Ship": "*"}, {"Pay": "*"}, {"Pay": "*"})
    assert {key for key, marked in differences.items() if marked} == {("Ship", "m1"), ("Ship", "m2")}


@pytest.fixture
def http_port() -> Iterator[str]:
    """The address of a server that answers everything as HTTP servers do."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4_096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_n14_an_http_port_is_called_one(live: Run, http_port: str) -> None:
    outcome = live("cluster", "list", "--namesrv", http_port, "--timeout", "5s")
    assert outcome.exit_code == 69
    assert "HTTP: no RocketMQ port" in outcome.stderr and "1213486164" not in outcome.stderr
