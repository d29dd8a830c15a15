"""Plans of offsets that travel in files, wait at a terminal, are overtaken, or are stopped in the middle."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.model.config import SubscriptionGroupConfig
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changing import reached
from tests.live.conftest import Run, change
from tests.live.offset.test_offsets import BEFORE, DO, RESET, offsets, planned

_COMMIT, _CHANGES = 15, (15, 17, 25, 36, 200, 222, 310, 314)
_SECONDS = 60
ENDS = {**BEFORE, ("broker-a", 0): 5, ("broker-b", 0): 5}


@pytest.fixture
def start(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts mqctl against the cluster, with the journal of `live`."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: object, limit_bytes: int | None = None) -> subprocess.Popen[str]:
        launch = ["-m", "mqctl"]
        if limit_bytes is not None:  # the size a file may have: a disk that is full
            code = (
                f"import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes})); "
            )
            launch = ["-c", code + "runpy.run_module('mqctl', run_name='__main__', alter_sys=True)"]
        process = subprocess.Popen(
            [sys.executable, *launch, *map(str, words)],
            cwd=REPOSITORY,
            env={
                **os.environ,
                "MQCTL_NAMESRV": cluster.namesrv,
                "MQCTL_STATE_DIR": str(tmp_path / "mqctl_state_dir"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def outcome(process: subprocess.Popen[str]) -> Outcome:
    stdout, stderr = process.communicate(timeout=_SECONDS)
    return Outcome(process.returncode, stdout, stderr)


@contextmanager
def held_at_broker_b(cluster: EmbeddedCluster) -> Iterator[Callable[[], None]]:
    """Holds the answer of broker-b to a commit; yields a function that waits until it has got one."""
    cluster.fault(_COMMIT, Drop(), server="broker-b")
    cluster.record_requests()

    def wait() -> None:
        reached(cluster, _COMMIT, "broker-b")

    yield wait
    cluster.clear_faults()


# Files


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_an_exported_plan_is_carried_out_from_its_file(live: Run, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"plan.{suffix}"
    plan = live(*RESET, "--to-latest", "--export", file, "-o", "json")
    assert (plan.exit_code, file.is_file(), offsets(live)) == (0, True, BEFORE), plan.stderr
    again = live("offset", "reset", "-g", "G", "--from-file", file, "-o", "json")
    assert (again.exit_code, planned(again.json)) == (0, planned(plan.json)), again.stderr
    done = live("offset", "reset", "-g", "G", "--from-file", file, *DO)
    assert (done.exit_code, done.json["state"], offsets(live)) == (0, "confirmed", ENDS), done.stderr
    overtaken = live("offset", "reset", "-g", "G", "--from-file", file, *DO)
    assert (overtaken.exit_code, "out of date" in overtaken.stderr) == (65, True), overtaken.stderr


def test_a_csv_by_hand_moves_chosen_queues(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("topic,broker_name,queue_id,new\nPay,broker-b,0,1\n")
    done = live("offset", "reset", "-g", "G", "--from-file", file, *DO)
    assert (done.exit_code, offsets(live)) == (0, {**BEFORE, ("broker-b", 0): 1}), done.stderr
    file.write_text("topic,broker_name,queue_id,new\nPay,broker-b,0,77\n")
    outside = live("offset", "reset", "-g", "G", "--from-file", file)
    assert (outside.exit_code, "0 to 5" in outside.stderr) == (64, True)
    nearest = live("offset", "reset", "-g", "G", "--from-file", file, "--clamp", "-o", "json")
    assert planned(nearest.json) == {("broker-b", 0): 5}


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("topic,broker_name,queue_id,new\nPay,broker-a,0,x\n", 65, "line 2"),
        ("topic,broker_name,queue_id,new\nPay,broker-a,9,1\n", 66, "queue 9"),
        ("topic,broker_name,queue_id,new\nnope,broker-a,0,1\n", 66, "nope"),
        ("topic,broker_name,queue_id,new\nPay,nope,0,1\n", 66, "nope"),
        ("topic,broker_name,queue_id,new,broker_address\nPay,broker-a,0,1,192.0.2.9:1\n", 65, "another cluster"),
    ],
)
def test_files_that_are_no_plan_for_this_cluster(live: Run, tmp_path: Path, text: str, code: int, said: str) -> None:
    file = tmp_path / "plan.csv"
    file.write_text(text)
    refused = live("offset", "reset", "-g", "G", "--from-file", file)
    assert (refused.exit_code, said in refused.stderr, "Traceback" in refused.stderr) == (code, True, False), refused


def test_plans_and_their_words(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert live(*RESET, "--to-latest", "--export", tmp_path / "plan.txt").exit_code == 64
    assert live(*RESET, "--to-latest", "--export", file).exit_code == 0
    other = live("offset", "reset", "-g", "H", "--from-file", file)
    assert (other.exit_code, "for group G" in other.stderr) == (64, True)
    nowhere = live("offset", "reset", "-g", "G", "--from-file", tmp_path / "nowhere.json")
    assert (nowhere.exit_code, "--export" in nowhere.stderr) == (66, True)
    file.write_text("{")
    assert live("offset", "reset", "-g", "G", "--from-file", file).exit_code == 65
    for words in (["--to-latest", "--from-file", file], ["--resume", "x", "--from-file", file], []):
        assert live("offset", "reset", "-g", "G", *words).exit_code == 64
    assert live("offset", "reset", "-g", "G", "--from-file", file, "--queue", 1).exit_code == 64
    planned = live("offset", "reset", "-g", "G", "--to-latest")  # of its only topic
    assert (planned.exit_code, planned.stdout.splitlines()[1].split()[0]) == (0, "Pay")


def test_a_plan_made_on_another_cluster(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    assert live(*RESET, "--to-latest", "--export", file).exit_code == 0
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert {row["broker_address"] for row in rows} == {item.address for item in cluster.brokers.values()}
    with EmbeddedCluster(brokers=2) as other:
        refused = live("offset", "reset", "-g", "G", "--from-file", file, *DO, "--namesrv", other.namesrv)
    assert (refused.exit_code, "another cluster" in refused.stderr) == (65, True), refused.stderr


# At a terminal


def at_terminal(
    cluster: EmbeddedCluster, state: Path, typed: str, between: Callable[[], None], *words: object
) -> tuple[int, str]:
    """Runs mqctl with a terminal, types an answer when it asks; returns exit code and what was on the screen."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", *map(str, words)],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_NAMESRV": cluster.namesrv, "MQCTL_STATE_DIR": str(state), "TERM": "dumb"},
        stdin=side,
        stdout=subprocess.DEVNULL,
        stderr=side,
    )
    os.close(side)
    screen = b""
    while b"to stop: " not in screen:
        screen += os.read(main, 4096)
    between()
    os.write(main, typed.encode() + b"\n")
    try:
        while chunk := os.read(main, 4096):
            screen += chunk
    except OSError:  # the other side has gone
        pass
    os.close(main)
    return process.wait(_SECONDS), screen.decode()


def test_the_plan_is_shown_before_the_name_is_asked(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    state = tmp_path / "mqctl_state_dir"
    for typed in ("", "yes", "H"):
        code, screen = at_terminal(cluster, state, typed, lambda: None, *RESET, "--to-latest", "--execute")
        assert (code, offsets(live)) == (76, BEFORE), screen
    assert re.search(r"2 of 4 queues move.*Type G to go on", screen, re.DOTALL)
    code, screen = at_terminal(cluster, state, "G", lambda: None, *RESET, "--to-latest", "--execute")
    assert (code, offsets(live)) == (0, ENDS), screen


def test_a_replay_asks_for_its_target(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    words = ("replay", "publish", "-t", "Pay", "--from-offset", "3", "--to", "Pay", "--execute")
    code, screen = at_terminal(cluster, tmp_path / "mqctl_state_dir", "", lambda: None, *words)
    assert (code, "published to Pay" in screen) == (76, True), screen
    assert live("topic", "describe", "-t", "Pay", "-o", "json").json["message_count"] == 10
    code, screen = at_terminal(cluster, tmp_path / "mqctl_state_dir", "Pay", lambda: None, *words)
    assert (code, live("topic", "describe", "-t", "Pay", "-o", "json").json["message_count"]) == (0, 14), screen


def test_what_arrives_while_the_name_is_typed_is_not_skipped(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    def more() -> None:
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(send("Pay", properties={"TAGS": "A"}), b"late").code == 0

    code, screen = at_terminal(cluster, tmp_path / "mqctl_state_dir", "G", more, *RESET, "--to-latest", "--execute")
    assert (code, offsets(live)) == (0, ENDS), screen


def test_a_plan_that_is_overtaken_while_the_name_is_typed_changes_nothing(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    def moved() -> None:
        change(cluster, "broker-a", commit_offset("G", "Pay", 0, 4))

    code, screen = at_terminal(cluster, tmp_path / "mqctl_state_dir", "G", moved, *RESET, "--to-latest", "--execute")
    assert (code, "offsets were moved since the plan" in screen) == (65, True), screen
    assert offsets(live) == {**BEFORE, ("broker-a", 0): 4}


# Stopped in the middle


@pytest.mark.parametrize("way", ["resume", "undo"])
def test_killed_in_the_middle_the_journal_leads_on_or_back(
    live: Run, cluster: EmbeddedCluster, start: Callable[..., subprocess.Popen[str]], way: str
) -> None:
    with held_at_broker_b(cluster) as held:
        process = start(*RESET, "--to-latest", *DO)
        held()
        process.send_signal(signal.SIGKILL)
        process.wait(_SECONDS)
    (record,) = live("history", "-o", "json").json["changes"]
    states = {row["broker_name"]: row["state"] for row in record["queues"]}
    assert (record["state"], states) == ("interrupted", {"broker-a": "confirmed", "broker-b": "sent"})
    if way == "undo":
        assert live("undo", record["id"], *DO).exit_code == 0
        assert offsets(live) == BEFORE
        return
    cluster.record_requests()
    shown = live("offset", "reset", "--resume", record["id"], "-o", "json")
    assert (shown.exit_code, planned(shown.json)) == (0, {("broker-b", 0): 5}), shown.stderr
    assert [request.code for request in cluster.requests() if request.code in _CHANGES] == []
    done = live("offset", "reset", "--resume", record["id"], *DO)
    assert (done.exit_code, done.json["id"], done.json["state"]) == (0, record["id"], "confirmed"), done.stderr
    assert offsets(live) == ENDS
    assert {row["old"] for row in done.json["queues"]} == {3}
    complete = live("offset", "reset", "--resume", record["id"])
    assert (complete.exit_code, "complete" in complete.stderr) == (76, True)
    assert live("undo", record["id"], *DO).exit_code == 0
    assert offsets(live) == BEFORE


def test_an_undo_leaves_queues_alone_that_were_never_reached(
    live: Run, cluster: EmbeddedCluster, start: Callable[..., subprocess.Popen[str]]
) -> None:
    cluster.fault(_COMMIT, Drop(), server="broker-a")
    cluster.record_requests()
    process = start(*RESET, "--to-latest", *DO)
    reached(cluster, _COMMIT, "broker-a")
    process.kill()
    process.wait(_SECONDS)
    cluster.clear_faults()
    (record,) = live("history", "-o", "json").json["changes"]
    change(cluster, "broker-b", commit_offset("G", "Pay", 0, 4))  # the group went on there by itself
    plan = live("undo", record["id"], "-o", "json")
    assert planned(plan.json) == {("broker-a", 0): 3}
    assert plan.json["left_out"] == [f"queue 0 of Pay on broker-b was not moved by change {record['id']}"]
    stale = live("offset", "reset", "--resume", record["id"], *DO)
    assert (stale.exit_code, "out of date" in stale.stderr) == (65, True), stale.stderr


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_with_2_and_names_the_change(
    live: Run, cluster: EmbeddedCluster, start: Callable[..., subprocess.Popen[str]], by: signal.Signals
) -> None:
    with held_at_broker_b(cluster) as held:
        process = start(*RESET, "--to-latest", *DO)
        held()
        process.send_signal(by)
        stopped = outcome(process)
    change_id = json.loads(stopped.stdout)["id"]
    assert (stopped.exit_code, f"--resume {change_id}" in stopped.stderr) == (2, True), stopped.stderr
    done = live("offset", "reset", "--resume", change_id, *DO)
    assert (done.exit_code, offsets(live)) == (0, ENDS), done.stderr


def test_a_disk_that_fills_up_stops_the_change_with_a_record(
    live: Run, cluster: EmbeddedCluster, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    full = outcome(start(*RESET, "--to-latest", *DO, limit_bytes=10))
    assert (full.exit_code, "journal" in full.stderr, offsets(live)) == (74, True, BEFORE), full.stderr
    first = live(*RESET, "--to-latest", *DO)
    size = (tmp_path / "mqctl_state_dir" / "journal" / f"{first.json['id']}.json").stat().st_size
    assert live("undo", first.json["id"], *DO).exit_code == 0
    cluster.fault(_COMMIT, Answer(code=1, remark="busy " * 100), server="broker-b")  # the record has to grow for it
    stopped = outcome(start(*RESET, "--to-latest", *DO, limit_bytes=size + 100))
    cluster.clear_faults()
    change_id = json.loads(stopped.stdout)["id"]
    assert (stopped.exit_code, "stopped in the middle" in stopped.stderr) == (2, True), stopped.stderr
    done = live("offset", "reset", "--resume", change_id, *DO)
    assert (done.exit_code, done.json["state"], offsets(live)) == (0, "confirmed", ENDS), done.stderr


def test_two_operators_at_once_the_second_is_told_who_is_at_it(
    live: Run, cluster: EmbeddedCluster, start: Callable[..., subprocess.Popen[str]]
) -> None:
    with held_at_broker_b(cluster) as held:
        process = start(*RESET, "--to-latest", *DO)
        held()
        process.send_signal(signal.SIGSTOP)  # else it gives the broker up after three seconds, and its lock with it
        second = live(*RESET, "--to-earliest", *DO)
        process.kill()
        process.wait(_SECONDS)
    assert (second.exit_code, f"process {process.pid}" in second.stderr) == (76, True), second.stderr
    assert offsets(live)["broker-a", 0] == 5
    assert live(*RESET, "--to-earliest", *DO).exit_code == 0


# Where a group stands, and where messages begin and end


def test_times_before_the_first_and_after_the_last_message(live: Run) -> None:
    early = live(*RESET, "--to-time", "2001-01-01T00:00", "-o", "json")
    assert {row["note"] for row in early.json["queues"]} == {"no message is older", "the queue is empty"}
    assert planned(early.json)["broker-a", 0] == 0
    late = live(*RESET, "--to-time", "now", "-o", "json")
    assert {row["note"] for row in late.json["queues"]} == {"no message is younger", "the queue is empty"}
    assert planned(late.json)["broker-a", 0] == 5
    future = live(*RESET, "--to-time", "+1h")
    assert (future.exit_code, "--to-latest" in future.stderr) == (64, True)


def test_a_group_that_never_committed_gets_offsets_and_the_undo_says_what_stays(
    live: Run, cluster: EmbeddedCluster
) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_group(SubscriptionGroupConfig(name="New")))
    change(cluster, "broker-a", commit_offset("New", "Pay", 0, 2))
    words = ("offset", "reset", "-g", "New", "-t", "Pay", "--to-latest")
    done = live(*words, "--execute", "--confirm", "New", "-o", "json")
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    assert {row["old"] for row in done.json["queues"]} == {2, None}
    plan = live("undo", done.json["id"], "-o", "json")
    assert planned(plan.json) == {("broker-a", 0): 2}
    assert len(plan.json["left_out"]) == len(done.json["queues"]) - 1
    assert all("had no offset before" in item for item in plan.json["left_out"])
    assert "left out: " in live("undo", done.json["id"]).stdout
