"""`mqctl offset`: plans change nothing, executions move exactly as planned, and undo restores what was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.model.config import SubscriptionGroupConfig
from tests.conftest import REPOSITORY
from tests.live.changing import reached
from tests.live.conftest import Run, change
from tests.live.members import until

RESET = ("offset", "reset", "-g", "G", "-t", "Pay")
DO = ("--execute", "--confirm", "G", "-o", "json")
_READ_BACK, _COMMIT, _RESET, _CHANGES = 14, 15, 222, (15, 17, 25, 200, 222, 314)
_SECONDS = 60


def offsets(live: Run, group: str = "G") -> dict[tuple[str, int], int]:
    """Committed offsets of a group by broker and queue; none where nobody knows it yet, or nobody answered in time."""
    outcome = live("group", "lag", "-g", group, "-o", "json")
    if outcome.exit_code in {66, 69, 75} and not outcome.stdout:
        return {}
    assert outcome.exit_code == 0, outcome.stderr
    return {(row["broker_name"], row["queue_id"]): row["consumer_offset"] for row in outcome.json["queues"]}


def planned(document: Any) -> dict[tuple[str, int], int]:
    return {(row["broker_name"], row["queue_id"]): row["new"] for row in document["queues"]}


BEFORE = {("broker-a", 0): 3, ("broker-a", 1): 0, ("broker-b", 0): 3, ("broker-b", 1): 0}
TARGETS: dict[str, tuple[Sequence[str], tuple[int, int]]] = {
    "earliest": (["--to-earliest"], (0, 0)),
    "latest": (["--to-latest"], (5, 0)),
    "offset": (["--to-offset", "1", "--clamp"], (1, 0)),
    "shift": (["--shift-by", "-2", "--clamp"], (1, 0)),
    "long ago": (["--by-duration", "1d"], (0, 0)),
    "now": (["--to-time", "now"], (5, 0)),
}


def test_queues_that_the_time_did_not_suffice_for_are_not_tried(live: Run, cluster: EmbeddedCluster) -> None:
    """The first broker hangs for all of the time; the second one is to blame for nothing, and is asked nothing."""
    cluster.fault(_COMMIT, Drop(), server="broker-a")
    cluster.record_requests()
    outcome = live(*RESET, "--to-earliest", *DO, "--timeout", "2500ms")
    commits = [item for item in cluster.requests() if item.code == _COMMIT]
    cluster.record_requests(on=False)
    cluster.clear_faults()
    rows = {(row["broker_name"], row["queue_id"]): row for row in outcome.json["queues"]}
    assert (outcome.exit_code, len(commits), rows["broker-a", 0]["state"]) == (3, 1, "unknown"), outcome.stderr
    late = rows["broker-b", 0]
    assert (late["state"], late["reason"]) == ("not-moved", "not tried: the 2.5 s of --timeout are over")
    assert "not tried: the 2.5 s of --timeout are over" in outcome.stderr
    assert "next: give it longer: --timeout 60s, for instance; mqctl offset reset --resume" in outcome.stderr


def test_nothing_is_asked_without_time(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    outcome = live("topic", "list", "--timeout", "1ms")
    requests = cluster.requests()
    cluster.record_requests(on=False)
    assert (outcome.exit_code, requests) == (75, [])
    assert "was not asked of" in outcome.stderr
    assert "the 1 ms of --timeout are over\n  next: give it longer: --timeout" in outcome.stderr


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_every_target_moves_as_planned_and_undo_restores(live: Run, name: str) -> None:
    options, (first, second) = TARGETS[name]
    wanted = {("broker-a", 0): first, ("broker-a", 1): second, ("broker-b", 0): first, ("broker-b", 1): second}
    plan = live(*RESET, *options, "-o", "json")
    assert (plan.exit_code, planned(plan.json)) == (0, wanted), plan.stderr
    assert (plan.json["replayed_count"], plan.json["skipped_count"]) == (2 * max(0, 3 - first), 2 * max(0, first - 3))
    assert offsets(live) == BEFORE
    done = live(*RESET, *options, *DO)
    assert (done.exit_code, done.json["state"], offsets(live)) == (0, "confirmed", wanted), done.stderr
    undone = live("undo", done.json["id"], *DO)
    assert (undone.exit_code, undone.json["undoes"], offsets(live)) == (0, done.json["id"], BEFORE)
    history = live("history", "-o", "json").json["changes"]
    assert [item["kind"] for item in history] == ["undo", "offset-reset"]


def test_a_plan_sends_no_changing_request(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    for options, _ in TARGETS.values():
        assert live(*RESET, *options).exit_code == 0
    assert cluster.requests()
    assert [request.code for request in cluster.requests() if request.code in _CHANGES] == []
    assert live(*RESET, "--to-latest", *DO).exit_code == 0
    assert {request.code for request in cluster.requests() if request.code in _CHANGES} == {_COMMIT}


def test_times_are_exact(live: Run) -> None:
    """The store time of a message is where it begins, one millisecond later is behind it and all of the same time."""
    planned_offsets = live(
        "message", "peek", "-t", "Pay", "-o", "json", "--broker", "broker-a", "--from-start", "--count", 5
    ).json["messages"]
    mine = sorted((item["queue_offset"], item["store_time_ms"]) for item in planned_offsets)
    assert len(mine) == 5
    for _, moment in mine:
        for at in (moment, moment + 1):
            expected = next((offset for offset, time_ms in mine if time_ms >= at), 5)
            outcome = live(*RESET, "--to-time", at, "--broker", "broker-a", "--queue", 0, "-o", "json")
            assert planned(outcome.json) == {("broker-a", 0): expected}, outcome.stderr


def test_chosen_queues_only(live: Run) -> None:
    done = live(*RESET, "--to-earliest", "--broker", "broker-b", "--queue", 0, *DO)
    assert done.exit_code == 0, done.stderr
    assert offsets(live) == {**BEFORE, ("broker-b", 0): 0}


def test_execution_wants_the_name_and_a_table_says_how(live: Run) -> None:
    table = live(*RESET, "--to-latest")
    assert "2 of 4 queues move" in table.stdout
    assert "--execute --confirm G" in table.stdout
    silent = live(*RESET, "--to-latest", "--execute")
    assert (silent.exit_code, "--confirm G" in silent.stderr) == (76, True)
    assert "Impact: changes." in live("offset", "reset", "--help").stdout
    wrong = live(*RESET, "--to-latest", "--execute", "--confirm", "H")
    assert (wrong.exit_code, offsets(live)) == (64, BEFORE)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((*RESET,), 64, "use one of --to-time"),
        ((*RESET, "--to-latest", "--to-earliest"), 64, "2 targets"),
        ((*RESET, "--to-time", "+1h"), 64, "future"),
        ((*RESET, "--to-time", "soon-ish!"), 64, "cannot read the time"),
        ((*RESET, "--to-offset", "6"), 64, "--clamp"),
        ((*RESET, "--to-latest", "--queue", "9"), 66, "no queue 9"),
        ((*RESET, "--to-latest", "--broker", "nowhere"), 66, "nowhere"),
        (("offset", "reset", "-g", "nobody", "-t", "Pay", "--to-latest"), 66, "nobody"),
        (("offset", "reset", "-g", "G", "-t", "nothing", "--to-latest"), 66, "nothing"),
        (("undo", "20200101-000000-0000"), 66, "mqctl history"),
        (("undo", "../../etc/passwd"), 66, "mqctl history"),
    ],
)
def test_bad_input(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_full_journal_changes_nothing(live: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    outcome = live(*RESET, "--to-latest", *DO, env={"MQCTL_STATE_DIR": str(blocked)})
    assert (outcome.exit_code, "journal" in outcome.stderr, offsets(live)) == (74, True, BEFORE)


@pytest.mark.both_releases
def test_with_members_5x_brokers_move_offsets_and_4_9_brokers_refuse(live: Run, cluster: EmbeddedCluster) -> None:
    consumed: Counter[tuple[str, int]] = Counter()

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        consumed.update((message.queue.broker_name, message.stored.queue_offset) for message in messages)
        return Consumed.SUCCESS

    settings = ClientSettings(name_servers=cluster.namesrv, instance_name="member", persist_period_ms=100)
    consumer = PushConsumer("G", settings, listener)
    consumer.subscribe("Pay", "*")
    v5 = cluster.on_loop(lambda running: running.broker("broker-a").release.is_v5)
    with consumer:
        everything = {**BEFORE, ("broker-a", 0): 5, ("broker-b", 0): 5}
        until(lambda: offsets(live) == everything, "all committed: a plan may not be overtaken")
        cluster.record_requests()
        outcome = live(*RESET, "--to-offset", "2", "--clamp", *DO)
        if v5:  # a commit of the time before the reset may look like one after it: what was consumed again does not
            again = [("broker-a", 4), ("broker-b", 4)]
            until(lambda: all(consumed[message] >= 2 for message in again), "the member follows the first reset")
            until(lambda: offsets(live) == everything, "all committed again")
        changes = [request.code for request in cluster.requests() if request.code in (_RESET, 200, 314)]
        cluster.fault(_RESET, Answer(code=0, body=b'{"offsetTable":{}}'))
        ignored = live(*RESET, "--to-offset", "1", "--clamp", "--settle", "2s", *DO)
        cluster.clear_faults()
    if v5:
        assert (outcome.exit_code, outcome.json["method"]) == (0, "server"), outcome.stderr
        assert set(changes) == {_RESET}
        assert (ignored.exit_code, ignored.json["state"]) == (1, "not-moved"), ignored.stdout
    else:
        assert (outcome.exit_code, changes) == (76, []), outcome.stdout
        assert "stop" in outcome.stderr


def test_a_broker_that_dies_in_the_middle_is_named_and_the_rest_can_be_undone(
    live: Run, cluster: EmbeddedCluster
) -> None:
    cluster.fault(_COMMIT, Drop(), server="broker-b")
    done = live(*RESET, "--to-latest", *DO, "--timeout", "5s")
    states = {row["broker_name"]: row["state"] for row in done.json["queues"]}
    assert (done.exit_code, states) == (3, {"broker-a": "confirmed", "broker-b": "unknown"}), done.stderr
    cluster.clear_faults()
    assert offsets(live) == {**BEFORE, ("broker-a", 0): 5}
    assert live("undo", done.json["id"], *DO).exit_code == 0
    assert offsets(live) == BEFORE


def test_killed_in_the_middle_it_leaves_a_journal_that_undo_finishes(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    cluster.fault(_COMMIT, Drop(), server="broker-b")
    cluster.record_requests()
    state = tmp_path / "mqctl_state_dir"
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *RESET, "--to-latest", *DO],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(state)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    reached(cluster, _COMMIT, "broker-b")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(_SECONDS)
    cluster.clear_faults()
    (record,) = live("history", "-o", "json").json["changes"]
    assert (record["state"], offsets(live)) == ("interrupted", {**BEFORE, ("broker-a", 0): 5})
    assert live("undo", record["id"], *DO).exit_code == 0
    assert offsets(live) == BEFORE


def test_undo_on_another_cluster_is_refused(live: Run, cluster: EmbeddedCluster) -> None:
    done = live(*RESET, "--to-latest", *DO)
    with EmbeddedCluster(cluster="Elsewhere") as other:
        outcome = live("undo", done.json["id"], "--namesrv", other.namesrv)
    assert (outcome.exit_code, "another cluster" in outcome.stderr) == (65, True)


def test_undo_on_a_cluster_of_the_same_names_is_refused(live: Run) -> None:
    done = live(*RESET, "--to-latest", *DO)
    with EmbeddedCluster(brokers=2) as other:
        outcome = live("undo", done.json["id"], "--namesrv", other.namesrv)
    assert (outcome.exit_code, "another cluster" in outcome.stderr) == (65, True), outcome.stdout


def test_what_cannot_be_read_back_is_unknown_and_can_be_undone(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_READ_BACK, Answer(code=1, remark="busy"))
    done = live(*RESET, "--to-latest", *DO)
    cluster.clear_faults()
    assert (done.exit_code, {row["state"] for row in done.json["queues"]}) == (3, {"unknown"}), done.stderr
    assert offsets(live)["broker-a", 0] == 5
    assert live("undo", done.json["id"], *DO).exit_code == 0
    assert offsets(live) == BEFORE


def test_a_broker_that_only_says_success_has_not_moved(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(_COMMIT, Answer(code=0))
    done = live(*RESET, "--to-latest", *DO)
    cluster.clear_faults()
    assert (done.exit_code, done.json["state"], offsets(live)) == (1, "not-moved", BEFORE), done.stderr
    assert {row["reason"] for row in done.json["queues"]} == {"the broker accepted the change and still has 3"}


def test_an_undo_shows_what_was_consumed_since(live: Run, cluster: EmbeddedCluster) -> None:
    done = live(*RESET, "--to-earliest", *DO)
    change(cluster, "broker-a", commit_offset("G", "Pay", 0, 4))
    plan = live("undo", done.json["id"], "-o", "json").json
    (moved,) = [row for row in plan["queues"] if (row["broker_name"], row["queue_id"]) == ("broker-a", 0)]
    assert (moved["old"], moved["new"], moved["delta"]) == (4, 3, -1)


def test_a_group_stands_where_another_one_does(live: Run, cluster: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_group(SubscriptionGroupConfig(name="New")))
    words = ("offset", "clone", "--from", "G", "-g", "New", "-t", "Pay")
    plan = live(*words, "-o", "json")
    assert (plan.exit_code, planned(plan.json), {row["old"] for row in plan.json["queues"]}) == (0, BEFORE, {None})
    done = live(*words, "--execute", "--confirm", "New", "-o", "json")
    assert (done.exit_code, done.json["kind"], done.json["state"]) == (0, "offset-clone", "confirmed"), done.stderr
    assert offsets(live, "New") == offsets(live) == BEFORE
    undo = live("undo", done.json["id"])
    assert (undo.exit_code, "none had an offset before" in undo.stderr) == (76, True)


@pytest.mark.parametrize(("source", "group", "code"), [("G", "G", 64), ("nobody", "G", 66), ("G", "nobody", 66)])
def test_clones_of_nothing(live: Run, source: str, group: str, code: int) -> None:
    outcome = live("offset", "clone", "--from", source, "-g", group, "-t", "Pay")
    assert (outcome.exit_code, "nobody" in outcome.stderr or code == 64) == (code, True)
