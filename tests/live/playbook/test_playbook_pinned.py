"""A changing step of a playbook does what it showed, whatever others do in between; or it refuses."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.changes.test_topic_changes import on_brokers
from tests.live.changing import changes
from tests.live.conftest import Run, change
from tests.live.dlq.test_resend import copies
from tests.live.failing import fail
from tests.live.offset.test_offset_plans import ENDS, at_terminal
from tests.live.offset.test_offsets import BEFORE, offsets
from tests.live.playbook.test_playbook_run import HEAD, playbook
from tests.snapshot.test_delay_faults import GOOD, RECOVERED, record

__all__ = ["playbook"]

Between = Callable[[], None]


def steps(directory: Path, *runs: str) -> str:
    text = "".join(
        f"  - {{id: s{number}, about: {{en: do it, zh: 做}}, run: {json.dumps(run)}, changes: true, confirm: G}}\n"
        for number, run in enumerate(runs)
    )
    (directory / "playbook.yaml").write_text(HEAD + text, encoding="utf-8")
    return str(directory)


@pytest.fixture
def executed(
    cluster: EmbeddedCluster, playbook: Path, tmp_path: Path
) -> Callable[[str, str, Between], tuple[int, str]]:
    """Runs a playbook of one step, does something while the name is asked for, and types it."""

    def run(command: str, name: str, between: Between) -> tuple[int, str]:
        path = steps(playbook, command)
        (playbook / "playbook.yaml").write_text(
            (playbook / "playbook.yaml").read_text().replace("confirm: G", f'confirm: "{name}"')
        )
        words = ("playbook", "run", path, "-p", "group=G", "--execute")
        return at_terminal(cluster, tmp_path / "mqctl_state_dir", name, between, *words)

    return run


Executed = Callable[[str, str, Between], tuple[int, str]]


def arrive(cluster: EmbeddedCluster) -> None:
    """Two further messages come to queue 0 on each broker."""
    for name in ("broker-a", "broker-b"):
        with Peer(cluster.broker(name).address) as peer:
            for _ in range(2):
                assert peer.call(send("Pay"), b"late").code == 0


def test_a_reset_under_traffic_goes_where_the_plan_said(
    live: Run, cluster: EmbeddedCluster, executed: Executed
) -> None:
    code, screen = executed("offset reset -g G -t Pay --to-latest", "G", lambda: arrive(cluster))
    assert (code, offsets(live)) == (0, ENDS), screen
    assert live("group", "lag", "-g", "G", "-o", "json").json["groups"][0]["lag_count"] == 4


def test_a_skip_under_traffic_writes_down_what_the_plan_said(
    live: Run, cluster: EmbeddedCluster, executed: Executed, tmp_path: Path
) -> None:
    file = tmp_path / "backlog.json"
    code, screen = executed(f"offset skip -g G -t Pay --replay-plan {file}", "G", lambda: arrive(cluster))
    assert (code, offsets(live), json.loads(file.read_text())["count"]) == (0, ENDS, 4), screen


def test_a_replay_to_now_ends_where_the_plan_said(live: Run, cluster: EmbeddedCluster, executed: Executed) -> None:
    code, screen = executed("replay group -g Again -t Pay --from-offset 3", "Again", lambda: arrive(cluster))
    assert code == 0, screen
    (replay,) = live("replay", "status", "-o", "json").json["replays"]
    assert {(item["queue_id"], item["end"]) for item in replay["queues"]} == {(0, 5), (1, 0)}


def test_a_group_that_somebody_else_moved_is_left_alone(
    live: Run, cluster: EmbeddedCluster, executed: Executed
) -> None:
    def moves() -> None:
        change(cluster, "broker-a", commit_offset("G", "Pay", 0, 1))
        cluster.record_requests()

    code, screen = executed("offset reset -g G -t Pay --to-latest", "G", moves)
    assert changes(cluster) == []
    cluster.record_requests(on=False)
    assert (code, offsets(live)) == (2, {**BEFORE, ("broker-a", 0): 1}), screen
    assert "the group's offsets were moved since the plan was made" in screen
    assert "exit 65; expected 0" in screen


SETTINGS: dict[str, tuple[str, str, Callable[[EmbeddedCluster], None]]] = {
    "topic": (
        "topic update -t Pay --queues 4",
        "Pay",
        lambda cluster: change(
            cluster, "broker-b", put_topic(TopicConfig(name="Pay", read_queue_count=4, write_queue_count=4))
        ),
    ),
    "group": (
        "group update -g G --retry-max 3",
        "G",
        lambda cluster: change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="G", retry_max_times=7))),
    ),
}


@pytest.mark.parametrize("noun", SETTINGS)
def test_settings_that_somebody_else_changed_are_left_alone(
    live: Run, cluster: EmbeddedCluster, executed: Executed, noun: str
) -> None:
    command, name, other = SETTINGS[noun]

    def changed() -> None:
        other(cluster)
        cluster.record_requests()

    code, screen = executed(command, name, changed)
    assert changes(cluster) == []
    cluster.record_requests(on=False)
    assert (code, "something changed since the plan was shown" in screen) == (2, True), screen
    assert live("history", "-o", "json").json["changes"] == []


def test_only_letters_that_were_shown_are_sent(live: Run, cluster: EmbeddedCluster, executed: Executed) -> None:
    fail(cluster, "broker-a", 0, level=-1)
    code, screen = executed("dlq resend -g G", "G", lambda: fail(cluster, "broker-a", 1, level=-1))
    assert (code, [item["keys"] for item in copies(live)]) == (0, ["k0"]), screen


def test_letters_go_to_no_other_group_than_was_shown(live: Run, cluster: EmbeddedCluster, executed: Executed) -> None:
    fail(cluster, "broker-a", 0, level=-1)

    def joins() -> None:
        change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="Fresh")))
        change(cluster, "broker-a", commit_offset("Fresh", "Pay", 0, 1))

    code, screen = executed("dlq resend -g G", "G", joins)
    assert (code, copies(live), "group Fresh consumes Pay since the plan was shown" in screen) == (2, [], True), screen


def test_levels_of_a_store_that_ran_since_are_left_alone(
    mqctl: Run, store_copy: Callable[[str], Path], tmp_path: Path
) -> None:
    root = record(store_copy(RECOVERED), GOOD | {1: 9})
    env = {"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_PLAN_FILE": str(tmp_path / "plan")}
    words = ("delay", "repair", "--store", root)
    assert mqctl(*words, env=env).exit_code == 0
    record(root, GOOD | {1: -4})
    refused = mqctl(*words, "--execute", "--confirm", root.name, env=env)
    assert (refused.exit_code, "since the plan was shown" in refused.stderr) == (65, True), refused.stderr
    record(root, GOOD | {1: 9})
    assert mqctl(*words, "--execute", "--confirm", root.name, env=env).exit_code == 0


PLANNING = (
    "offset reset -g G -t Pay --to-latest",
    "offset skip -g G -t Pay",
    "offset clone --from G -g H -t Pay",
    "replay group -g Again -t Pay --from-offset 3",
    "replay publish -t Pay --from-offset 3 --to Pay",
    "topic create -t New --queues 3",
    "topic update -t Pay --order broker-a:2",
    "cluster kv TOOLS --set owner=payments",
    "topic delete -t Pay --drop-unread",
    "group create -g New",
    "group delete -g G",
    "broker set fileReservedTime=48",
    "broker write broker-a off",
    "dlq resend -g G",
)


@pytest.mark.parametrize("command", PLANNING)
def test_what_was_not_shown_is_not_carried_out(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path, command: str
) -> None:
    fail(cluster, "broker-a", 0, level=-1)
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="H")))
    file = tmp_path / "plan"
    shown = live(*shlex.split(command), env={"MQCTL_PLAN_FILE": str(file)})
    assert (shown.exit_code, file.is_file()) == (0, True), shown.stderr
    empty = tmp_path / "empty"
    empty.write_text("{}")
    cluster.record_requests()
    refused = live(*shlex.split(command), "--execute", env={"MQCTL_PLAN_FILE": str(empty)})
    assert (refused.exit_code, "no plan of it was shown before" in refused.stderr) == (65, True), refused.stderr
    assert changes(cluster) == []
    cluster.record_requests(on=False)


def test_a_step_that_shows_no_plan_changes_nothing(live: Run, playbook: Path) -> None:
    path = steps(playbook, "group lag -g G")
    outcome = live("playbook", "run", path, "-p", "group=G", "--execute", "--confirm", "G", "-o", "json")
    assert (outcome.exit_code, outcome.json["steps"][0]["means"]) == (2, ["it showed no plan; nothing was changed"])


def test_topics_are_changed_as_shown(live: Run, executed: Executed) -> None:
    code, screen = executed("topic update -t Pay --queues 4", "Pay", lambda: None)
    assert (code, {row[0] for row in on_brokers(live).values()}) == (0, {4}), screen
