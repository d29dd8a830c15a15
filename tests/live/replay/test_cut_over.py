"""The cut-over to a topic with more queues as the playbook plays it, with a follower that is killed on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from embedded_broker import Delay, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.errors import MqctlError
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY
from tests.live.conftest import Run, change
from tests.live.replay.test_follow import _SECONDS, _SEND, copies, produce, producer, topics

__all__ = ["producer", "topics"]


def played(cluster: EmbeddedCluster, state: Path, *words: str) -> subprocess.Popen[str]:
    """Starts the playbook as people do."""
    line = ("playbook", "run", "scale-out", "-p", "topic=Few", "-p", "new=Many")
    command = [sys.executable, "-m", "mqctl", *line, *words, "--namesrv", cluster.namesrv, "-o", "json"]
    environment = {"MQCTL_STATE_DIR": str(state), "PATH": "/usr/bin:/bin", "HOME": str(state)}
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def follower_of(process: subprocess.Popen[str]) -> psutil.Process | None:
    """Returns the process that copies, once the playbook has started it."""
    children = psutil.Process(process.pid).children(recursive=True)
    return next((child for child in children if {"follow", "--execute"} <= set(child.cmdline())), None)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("shared_cluster", ["5.3.3"], indirect=True)
def test_a_cut_over_whose_follower_is_killed_is_played_again_to_its_end(
    live: Run, topics: EmbeddedCluster, producer: Producer, tmp_path: Path
) -> None:
    produce(producer, range(120))
    for name in ("broker-a", "broker-b"):
        change(topics, name, commit_offset("G", "Few", 0, 3))
    consumed = 6
    given = ("-p", "reader=G")
    yes = ("--execute", "--confirm", "Many", "--confirm", "Few")
    topics.fault(_SEND, Delay(60))
    with played(topics, tmp_path, "-p", "reader=nobody", *yes) as wrong:
        out, _ = wrong.communicate(timeout=_SECONDS)
    assert (wrong.returncode, json.loads(out)["ending"], copies(live)) == (1, "attention", []), out
    with played(topics, tmp_path, *given, *yes) as first:
        wait_until(lambda: len(copies(live)) >= 20, "some copies")
        follower = follower_of(first)
        assert follower is not None
        os.kill(follower.pid, 9)
        out, _ = first.communicate(timeout=_SECONDS)
    topics.clear_faults()
    assert (first.returncode, json.loads(out)["ending"]) == (2, "unexpected")
    assert 20 <= len(copies(live)) < 120 - consumed
    produce(producer, range(120, 140))  # producers know nothing of it
    with played(topics, tmp_path, *given, *yes) as second:
        out, _ = second.communicate(timeout=_SECONDS)
    run = json.loads(out)
    states = {step["id"]: step["state"] for step in run["steps"]}
    assert (second.returncode, states["copy"], states["close"], states["rest"]) == (0, *("changed",) * 3), out
    with pytest.raises(MqctlError):  # whoever missed the cut-over is told, and loses nothing unseen
        producer.send(OutgoingMessage(topic="Few", body=b"late", keys="order-1"), select=by_key("order-1"))
    after = copies(live)
    assert len({copy.number for copy in after}) == 140 - consumed
    order: defaultdict[str, list[int]] = defaultdict(list)
    for copy in after:
        if copy.number not in order[copy.key]:
            order[copy.key].append(copy.number)
    assert all(numbers == sorted(numbers) for numbers in order.values())
    env = {"MQCTL_STATE_DIR": str(tmp_path)}
    kinds = [item["kind"] for item in live("history", "-o", "json", env=env).json["changes"]]
    assert sorted(kinds) == ["replay-follow", "replay-follow", "topic-update"]
    listed = live("replay", "status", "-o", "json", env=env).json["replays"]
    assert sorted(len(item["resumed_at_ms"]) for item in listed) == [0, 1]
