"""Groups, brokers, and what all changes of settings share: the journal, the way back, kills, operators at once."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from embedded_broker import Delay, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group, put_topic
from mqctl.client.admin.nameserver import put_kv
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer
from tests.live.changes.test_topic_changes import DO, both, on_brokers, sure
from tests.live.changing import changes, reached
from tests.live.conftest import Run, change
from tests.live.failing import fail

_PUT = 17
_SECONDS = 60


def settings(live: Run, group: str = "G") -> dict[str, Any]:
    outcome = live("group", "describe", "-g", group, "-o", "json")
    return {row["broker"]: row for row in outcome.json["brokers"]} if outcome.exit_code == 0 else {}


def properties(live: Run, key: str) -> dict[str, str]:
    rows = live("broker", "config", "--key", key, "-o", "json").json["settings"]
    return {row["broker"]: row["value"] for row in rows}


PLANS = [
    ("group", "create", "-g", "New", "--retry-max", "3"),
    ("group", "update", "-g", "G", "--retry-max", "3", "--no-consume"),
    ("group", "delete", "-g", "G"),
    ("broker", "set", "fileReservedTime=48"),
    ("broker", "write", "broker-a", "off"),
]


def test_plans_send_no_changing_request(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    for words in PLANS:
        outcome = live(*words, "-o", "json")
        assert (outcome.exit_code, any(step["moves"] for step in outcome.json["steps"])) == (0, True), outcome.stderr
        assert "nothing was changed; add --execute" in live(*words).stdout
    assert changes(cluster) == []


def test_a_group_is_created_changed_deleted_and_each_is_undone(live: Run) -> None:
    created = live("group", "create", "-g", "New", "--retry-max", "3", *DO)
    assert (created.exit_code, created.json["state"]) == (0, "confirmed"), created.stderr
    assert {row["retry_max_times"] for row in settings(live, "New").values()} == {3}
    changed = live("group", "update", "-g", "New", "--no-consume", "--broker", "broker-b", *sure("New"))
    assert (changed.exit_code, "NO_PERMISSION" in changed.stderr) == (0, True), changed.stderr
    now = {name: (row["consume_enable"], row["retry_max_times"]) for name, row in settings(live, "New").items()}
    assert now == {"broker-a": (True, 3), "broker-b": (False, 3)}
    assert live("undo", changed.json["id"], *sure("New")).exit_code == 0
    deleted = live("group", "delete", "-g", "New", *sure("New"))
    assert (deleted.exit_code, settings(live, "New")) == (0, {}), deleted.stderr
    assert live("undo", deleted.json["id"], *sure("New")).exit_code == 0
    assert {(row["consume_enable"], row["retry_max_times"]) for row in settings(live, "New").values()} == {(True, 3)}
    assert live("undo", created.json["id"], *sure("New")).exit_code == 0
    assert settings(live, "New") == {}
    history = live("history", "-o", "json").json["changes"]
    assert [item["kind"] for item in history] == [
        "undo",
        "undo",
        "group-delete",
        "undo",
        "group-update",
        "group-create",
    ]
    assert {item["state"] for item in history} == {"confirmed"}
    assert [item["back"] is None for item in history] == [False, False, True, False, True, True]


def test_a_group_with_members_is_not_deleted(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        heartbeat(peer, "client-1", group="G", subscriptions={"Pay": "*"})
        outcome = live("group", "delete", "-g", "G", *sure("G"))
    assert (outcome.exit_code, "client-1" in outcome.stderr) == (76, True), outcome.stderr
    assert "unread by it: 4 messages;" in live("group", "delete", "-g", "G").stdout


def test_deleting_a_group_keeps_its_offsets(live: Run) -> None:
    before = live("group", "lag", "-g", "G", "-o", "json").json["queues"]
    done = live("group", "delete", "-g", "G", *sure("G"))
    assert live("undo", done.json["id"], *sure("G")).exit_code == 0
    after = live("group", "lag", "-g", "G", "-o", "json").json["queues"]
    assert [row["consumer_offset"] for row in after] == [row["consumer_offset"] for row in before]


def test_the_topics_of_a_group_go_with_it_once_they_are_read(live: Run, cluster: EmbeddedCluster) -> None:
    fail(cluster, "broker-a", 0, level=-1)
    fail(cluster, "broker-b", 1, level=-1)
    words = ("group", "delete", "-g", "G", "--with-topics", *sure("G"))
    refused = live(*words)
    assert (refused.exit_code, "no group has read its 2 messages" in refused.stderr) == (76, True), refused.stderr
    assert settings(live).keys() == {"broker-a", "broker-b"}
    gone = live("topic", "delete", "-t", "%DLQ%G", "--drop-unread", *sure("%DLQ%G"))
    assert gone.exit_code == 0, gone.stderr
    done = live(*words)
    assert (done.exit_code, settings(live)) == (0, {}), done.stderr
    assert on_brokers(live, "%RETRY%G") == {}
    assert live("undo", done.json["id"], *sure("G")).exit_code == 0
    assert (len(settings(live)), len(on_brokers(live, "%RETRY%G"))) == (2, 2)


@pytest.mark.both_releases
def test_what_only_5x_knows(live: Run, cluster: EmbeddedCluster) -> None:
    outcome = live("group", "update", "-g", "G", "--consume-timeout", "30", *sure("G"))
    if cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5):
        assert (outcome.exit_code, outcome.json["state"]) == (0, "confirmed"), outcome.stderr
    else:
        assert (outcome.exit_code, "does not know the setting consume_timeout_minute" in outcome.stderr) == (76, True)


@pytest.mark.both_releases
def test_what_a_change_does_not_name_stays(live: Run, cluster: EmbeddedCluster) -> None:
    """Brokers replace the whole group; attributes, of which groups of 5.3.3 have none, would be taken as changes."""
    if not cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5):
        pytest.skip("only 5.x groups have retry policies")
    before = SubscriptionGroupConfig(name="G", retry_intervals_ms=(1_000, 5_000))
    change(cluster, "broker-a", put_group(before, is_v5=True))
    done = live("group", "update", "-g", "G", "--retry-max", "3", *sure("G"))
    assert done.exit_code == 0, done.stderr
    kept = {step["place"]: step["found"] for step in done.json["steps"]}["broker-a"]
    assert (kept["attributes"], kept["retry_intervals_ms"]) == ("{}", "[1000, 5000]")
    deleted = live("group", "delete", "-g", "G", *sure("G"))
    undone = live("undo", deleted.json["id"], *sure("G"))
    assert (undone.exit_code, undone.json["state"]) == (0, "confirmed"), undone.stdout
    change(
        cluster, "broker-a", put_group(SubscriptionGroupConfig(name="G", retry_policy_type="EXPONENTIAL"), is_v5=True)
    )
    refused = live("group", "update", "-g", "G", "--retry-max", "4", *sure("G"))
    assert (refused.exit_code, "its retry policy is EXPONENTIAL" in refused.stderr) == (76, True)


def test_properties_of_brokers(live: Run, cluster: EmbeddedCluster) -> None:
    before = properties(live, "fileReservedTime")
    done = live("broker", "set", "fileReservedTime=48", "--broker", "broker-a", *sure("broker-a"))
    assert (done.exit_code, properties(live, "fileReservedTime")) == (0, {**before, "broker-a": "48"}), done.stderr
    assert "rewrites its complete configuration file" in done.stderr
    assert live("undo", done.json["id"], *sure("broker-a")).exit_code == 0
    assert properties(live, "fileReservedTime") == before
    everywhere = live("broker", "set", "fileReservedTime=24", *sure("DefaultCluster"))
    assert (everywhere.exit_code, set(properties(live, "fileReservedTime").values())) == (0, {"24"})
    assert live("undo", everywhere.json["id"], *sure("DefaultCluster")).exit_code == 0


def test_producers_are_kept_away_from_a_broker_and_let_back(live: Run) -> None:
    def perms() -> set[tuple[str, str]]:
        route = live("topic", "route", "-t", "Pay", "-o", "json").json
        return {(row["broker"], row["perm"]) for row in route["brokers"]}

    done = live("broker", "write", "broker-a", "off", *sure("broker-a"))
    assert (done.exit_code, perms()) == (0, {("broker-a", "R--"), ("broker-b", "RW-")}), done.stderr
    assert len(done.json["steps"]) == 2
    assert "nothing to do" in live("broker", "write", "broker-a", "off").stdout
    assert live("broker", "write", "broker-a", "on", *sure("broker-a")).exit_code == 0
    assert perms() == {("broker-a", "RW-"), ("broker-b", "RW-")}


def test_killed_in_the_middle_it_leaves_a_journal_that_undo_finishes(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    cluster.fault(_PUT, Drop(), server="broker-b")
    cluster.record_requests()
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", "topic", "update", "-t", "Pay", "--queues", "4", *sure()],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    reached(cluster, _PUT, "broker-b")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(_SECONDS)
    cluster.clear_faults()
    (entry,) = live("history", "-o", "json").json["changes"]
    assert (entry["state"], entry["back"]) == ("interrupted", f"mqctl undo {entry['id']}")
    assert on_brokers(live) == {"broker-a": (4, 4, "RW-"), "broker-b": (2, 2, "RW-")}
    undone = live("undo", entry["id"], *sure())
    assert (undone.exit_code, on_brokers(live)) == (0, both(2, 2, "RW-")), undone.stderr


def started(cluster: EmbeddedCluster, state: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mqctl", *words],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_messages_that_come_between_plan_and_change_are_told(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    words = ("topic", "update", "-t", "Pay", "--queues", "1", *sure())
    assert live(*words).exit_code == 0
    cluster.fault(_PUT, Delay(2_000), server="broker-a")
    cluster.record_requests()
    process = started(cluster, tmp_path / "mqctl_state_dir", *words)
    reached(cluster, _PUT, "broker-a")
    with Peer(cluster.broker("broker-a").address) as peer:
        assert peer.call(send("Pay", queue_id=1), b"late").code == 0
    out, said = process.communicate(timeout=_SECONDS)
    cluster.clear_faults()
    assert (process.returncode, "group G has not read 1 message" in said) == (1, True), said
    assert live("undo", json.loads(out)["id"], *sure()).exit_code == 0
    assert on_brokers(live) == both(2, 1, "RW-")


def test_a_disk_that_fills_in_the_middle_leaves_a_record_that_undo_takes_back(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    state = tmp_path / "mqctl_state_dir"
    cluster.fault(_PUT, Delay(2_000), server="broker-b")
    cluster.record_requests()
    process = started(cluster, state, "topic", "update", "-t", "Pay", "--queues", "4", *sure())
    reached(cluster, _PUT, "broker-b")
    directory, aside = state / "journal" / "settings", state / "journal-aside"
    directory.rename(aside)
    directory.touch()
    out, said = process.communicate(timeout=_SECONDS)
    cluster.clear_faults()
    directory.unlink()
    aside.rename(directory)
    assert (process.returncode, "stopped in the middle: could not write the journal" in said) == (2, True), said
    entry = json.loads(out)
    assert live("history", "-o", "json").json["changes"][0]["state"] == "interrupted"
    assert on_brokers(live) == both(4, 4, "RW-")
    assert live("undo", entry["id"], *sure()).exit_code == 0
    assert on_brokers(live) == both(2, 2, "RW-")


def test_two_operators_at_once(live: Run, tmp_path: Path) -> None:
    words = ("topic", "update", "-t", "Pay", "--queues")
    assert live(*words, "3", *sure()).exit_code == 0
    *_, last = sorted((tmp_path / "mqctl_state_dir" / "journal").glob(".*.lock"))  # one for each broker of the topic
    with FileLock(last):
        outcome = live(*words, "4", *sure())
    assert (outcome.exit_code, on_brokers(live)) == (76, both(3, 3, "RW-")), outcome.stderr
    assert live(*words, "4", *sure()).exit_code == 0


def test_a_plan_that_was_overtaken_while_it_asked_changes_nothing(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Somebody changes the topic between the plan and the typed name, on a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", "topic", "update", "-t", "Pay", "--queues", "4", "--execute"],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir")},
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    prompt = ""
    while not prompt.endswith("Type Pay to go on, anything else to stop: "):
        read = process.stderr.read(1)
        assert read, prompt
        prompt += read
    other = TopicConfig(name="Pay", read_queue_count=3, write_queue_count=3)
    change(cluster, "broker-a", put_topic(other))
    os.write(leader, b"Pay\n")
    _, said = process.communicate(timeout=_SECONDS)
    os.close(leader)
    os.close(follower)
    assert (process.returncode, "it was changed since" in said) == (65, True), said
    assert on_brokers(live) == {"broker-a": (3, 3, "RW-"), "broker-b": (2, 2, "RW-")}


def test_an_empty_line_on_a_terminal_means_no(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    os.write(leader, b"\n")
    done = subprocess.run(
        [sys.executable, "-m", "mqctl", "topic", "update", "-t", "Pay", "--queues", "4", "--execute"],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir")},
        stdin=follower,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    os.close(leader)
    os.close(follower)
    assert (done.returncode, "the name was not confirmed" in done.stderr) == (76, True), done.stderr
    assert on_brokers(live) == both(2, 2, "RW-")


def test_what_is_asked_on_a_narrow_terminal_can_be_read(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    """The plan is shown as it fits, and says nothing of options that are there already."""
    leader, follower = pty.openpty()
    os.write(leader, b"no\n")
    places = {"MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path), "COLUMNS": "60", "TERM": "xterm"}
    words = ("offset", "reset", "-g", "G", "-t", "Pay", "--to-latest", "--execute")
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *words],
        cwd=REPOSITORY,
        env={**os.environ, **places, "NO_COLOR": "1"},
        stdin=follower,
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    said = b""
    while not said.endswith(b"was not confirmed\r\n"):
        said += os.read(leader, 65536)
    assert process.wait(_SECONDS) == 76
    os.close(leader)
    plan, prompt, _ = said.decode().partition("Type G to go on")
    assert prompt
    assert max(map(len, plan.splitlines())) <= 60, plan
    assert cluster.namesrv.replace(";", ", ") in " ".join(plan.split())
    assert ("BROKER" in plan, "add --execute" in plan) == (True, False), plan


def test_a_full_journal_changes_nothing(live: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    words = ("topic", "update", "-t", "Pay", "--queues", "4", *sure())
    outcome = live(*words, env={"MQCTL_STATE_DIR": str(blocked)})
    assert (outcome.exit_code, "journal" in outcome.stderr, on_brokers(live)) == (74, True, both(2, 2, "RW-"))


def test_undo_says_what_others_changed_since_and_where_it_was_made(live: Run, cluster: EmbeddedCluster) -> None:
    done = live("group", "update", "-g", "G", "--retry-max", "3", *sure("G"))
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="G", retry_max_times=7)))
    plan = live("undo", done.json["id"], "-o", "json").json
    notes = {step["place"]: step["note"] for step in plan["steps"]}
    assert notes == {"broker-a": "it was changed again since, and that change is lost", "broker-b": None}
    with EmbeddedCluster(brokers=2) as other:
        elsewhere = live("undo", done.json["id"], "--namesrv", other.namesrv)
    assert (elsewhere.exit_code, "another cluster" in elsewhere.stderr) == (65, True)


def test_one_undo_for_all_changes(live: Run) -> None:
    reset = live("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", *sure("G"))
    undone = live("undo", reset.json["id"], *sure("G"))
    assert (undone.exit_code, undone.json["undoes"]) == (0, reset.json["id"]), undone.stderr
    entries = live("history", "-o", "json").json["changes"]
    assert [(item["kind"], item["back"]) for item in entries] == [
        ("undo", f"mqctl undo {undone.json['id']}"),
        ("offset-reset", None),
    ]
    assert live("history", "-o", "wide").exit_code == 0


def test_a_namespace_is_written_to_every_name_server_and_undone(live: Run, cluster: EmbeddedCluster) -> None:
    def kept(*words: str) -> list[tuple[str, str]]:
        rows = live("cluster", "kv", "TOOLS", *words, "-o", "json").json["values"]
        assert {row["name_server"] for row in rows} <= set(cluster.namesrv.split(";"))
        return [(row["key"], row["value"]) for row in rows]

    assert live("cluster", "kv", "TOOLS").exit_code == 66
    assert (live("cluster", "kv").exit_code, live("cluster", "kv", "-o", "json").json["values"]) == (0, [])
    words = ("cluster", "kv", "TOOLS", "--set", "owner=payments", "url=http://x/?a=b")
    done = live(*words, *sure("TOOLS"))
    assert (done.exit_code, [step["state"] for step in done.json["steps"]]) == (0, ["confirmed"] * 4), done.stderr
    assert kept() == [("owner", "payments")] * 2 + [("url", "http://x/?a=b")] * 2
    assert "nothing to do" in live(*words).stdout

    first, _ = cluster.namesrv.split(";")
    links = Links()
    links.ask(first, put_kv("TOOLS", "owner", "others"), Deadline(60_000))
    links.close()
    assert kept("--diff") == [("owner", "others"), ("owner", "payments")]

    gone = live("cluster", "kv", "TOOLS", "--delete", "owner", *sure("TOOLS"))
    assert (gone.exit_code, kept()) == (0, [("url", "http://x/?a=b")] * 2), gone.stderr
    assert live("undo", gone.json["id"], *sure("TOOLS")).exit_code == 0
    assert kept("--diff") == [("owner", "others"), ("owner", "payments")]
    undone = live("undo", done.json["id"], *sure("TOOLS"))
    assert (undone.exit_code, kept()) == (0, []), undone.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("cluster", "kv", "TOOLS", "--execute"), 64, "KEY=VALUE"),
        (("cluster", "kv", "TOOLS", "a=1", "--remove", "a"), 64, "each key once"),
        (("cluster", "kv", "a/b", "a=1"), 64, "without /"),
        (("cluster", "kv", "ORDER_TOPIC_CONFIG", "Pay=broker-a:1"), 64, "mqctl topic update -t TOPIC --order"),
        (("cluster", "kv", "TOOLS", "a=1", "--execute"), 76, "--confirm TOOLS"),
        (("group", "create", "-g", "DEFAULT_CONSUMER"), 64, "DEFAULT_CONSUMER"),
        (("group", "create", "-g", "G", "--retry-max", "1"), 76, "other settings"),
        (("group", "update", "-g", "G"), 64, "no change given"),
        (("group", "update", "-g", "nope", "--retry-max", "1"), 66, "nope"),
        (("group", "delete", "-g", "TOOLS_CONSUMER"), 64, "belongs to the brokers"),
        (("group", "delete", "-g", "G", "--execute"), 76, "--confirm G"),
        (("broker", "set", "fileReservedTimes=1"), 66, "fileReservedTime"),
        (("broker", "set", "brokerName=x"), 76, "cannot be changed"),
        (("broker", "set", "fileReservedTime"), 64, "NAME=VALUE"),
        (("broker", "set", "fileReservedTime=1", "--execute"), 76, "--confirm DefaultCluster"),
        (("broker", "write", "nowhere", "off"), 66, "nowhere"),
    ],
)
def test_bad_input(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
