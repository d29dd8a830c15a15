"""What somebody types at night for a reset: natural targets, one topic, a span that leads forward, the way back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.cluster import RunningCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.live.members import member
from tests.live.offset.test_offsets import DO

WAY_BACK = "(shows its plan; --execute does it)"


@pytest.fixture(scope="module", params=["5.3.3"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """What is typed does not depend on the release."""
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("--since", "10m"), ("--by-duration", "10m")),
        (("--since=-2h",), ("--by-duration", "2h")),
        (("--back", "10m"), ("--by-duration", "10m")),
        (("--to", "now"), ("--to-latest",)),
        (("--to=latest",), ("--to-latest",)),
        (("--to", "earliest"), ("--to-earliest",)),
        (("--to", "3"), ("--to-offset", "3")),
        (("--to", "2026-11-21T10:00"), ("--to-time", "2026-11-21T10:00")),
    ],
)
def test_a_natural_target_is_answered_with_the_line_that_does_it(
    live: Run, typed: tuple[str, ...], meant: tuple[str, ...]
) -> None:
    outcome = live("offset", "reset", "G", "-t", "Pay", *typed)
    line = shlex.join(["mqctl", "offset", "reset", "G", "-t", "Pay", *meant])
    assert (outcome.exit_code, f"next: {line}" in outcome.stderr) == (64, True), outcome.stderr


def test_the_only_topic_of_a_group_needs_no_name_and_of_several_one_is_asked_for(
    live: Run, cluster: EmbeddedCluster
) -> None:
    for words in (("offset", "skip", "G"), ("offset", "reset", "G", "--to-latest")):
        plan = live(*words)
        assert plan.exit_code == 0, plan.stderr
        assert "topic Pay, the only one of group G" in plan.stderr
        assert "2 of 4 queues move" in plan.stdout
    chinese = live("offset", "skip", "G", env={"MQCTL_LANG": "zh"})
    assert "消费组 G 唯一的 Topic" in chinese.stderr
    change(cluster, "broker-a", put_topic(TopicConfig(name="Other", read_queue_count=1, write_queue_count=1)))
    change(cluster, "broker-a", commit_offset("G", "Other", 0, 0))
    several = live("offset", "skip", "G")
    assert (several.exit_code, "has several: Other, Pay" in several.stderr) == (64, True), several.stderr
    nothing = live("offset", "skip", "nobody")
    assert (nothing.exit_code, "no broker knows a topic of group nobody" in nothing.stderr) == (64, True)


def test_a_plan_that_means_back_and_goes_forward_says_so(mqctl: Run, tmp_path: Path) -> None:
    """The group is further behind than the span: what was typed to replay would have skipped."""
    with EmbeddedCluster(brokers=1, virtual_time=True) as past:
        past.on_loop(_an_hour_back)
        change(past, "broker-a", put_topic(TopicConfig(name="Old", read_queue_count=1, write_queue_count=1)))
        with Peer(past.broker("broker-a").address) as peer:
            for _ in range(5):
                assert peer.call(send("Old"), b"old").code == 0
        change(past, "broker-a", put_group(SubscriptionGroupConfig(name="late")))
        change(past, "broker-a", commit_offset("late", "Old", 0, 3))
        env = {"MQCTL_NAMESRV": past.namesrv, "MQCTL_STATE_DIR": str(tmp_path)}
        forward = mqctl("offset", "reset", "late", "--by-duration", "10m", env=env)
        assert forward.exit_code == 0, forward.stderr
        assert "warning: 1 queue would go FORWARD, not back" in forward.stdout, forward.stdout
        assert "would skip 2 messages unread" in " ".join(forward.stdout.split())
        chinese = mqctl("offset", "reset", "late", "--by-duration", "10m", env={**env, "MQCTL_LANG": "zh"})
        assert "向前跳" in chinese.stdout
        for words in (("--by-duration", "2h"), ("--to-latest",), ("--to-time", "now")):
            assert "FORWARD" not in mqctl("offset", "reset", "late", *words, env=env).stdout


def _an_hour_back(running: RunningCluster) -> None:
    running.clock._now_ms -= 3_600_000  # type: ignore[attr-defined]


def test_the_way_back_is_told_in_the_same_words_everywhere(live: Run) -> None:
    reset = ("offset", "reset", "-g", "G", "-t", "Pay", "--to-latest")
    plan = live(*reset)
    assert f"undo: mqctl undo ID {WAY_BACK}" in plan.stdout
    done = live(*reset, "--execute", "--confirm", "G")
    change_id = next(line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("change "))
    wanted = f"undo: mqctl undo {change_id} {WAY_BACK}"
    assert wanted in done.stdout
    assert wanted in done.stderr
    setting = live("topic", "update", "-t", "Pay", "--queues", "4", "--execute", "--confirm", "Pay")
    assert WAY_BACK in setting.stdout
    assert WAY_BACK in setting.stderr
    skipped = live("offset", "skip", "G", *DO[:3])
    assert skipped.exit_code == 0, skipped.stderr
    shown = live("undo", change_id)
    assert "nothing was changed" in shown.stdout


def test_a_replay_with_members_online_is_refused_with_the_command_that_moves_them(
    live: Run, cluster: EmbeddedCluster
) -> None:
    with member(cluster):
        refused = live("replay", "group", "-g", "G", "-t", "Pay", "--since=-9m30s")
    assert refused.exit_code == 76
    assert "mqctl offset reset -g G -t Pay --by-duration 10m" in refused.stderr
