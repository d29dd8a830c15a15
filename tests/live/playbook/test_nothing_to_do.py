"""Playbooks on what is well end there, and ask for no decision."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from tests.client.consuming import wait_until
from tests.live.conftest import Run


def test_slaves_that_follow_need_no_decision(mqctl: Run) -> None:
    with EmbeddedCluster(version="5.3.3", slaves=1, time_scale=50.0) as cluster:
        master, slave = (cluster.broker(name) for name in ("broker-a", "broker-a-s"))
        wait_until(
            lambda: len({each.on_loop(lambda broker: broker.storage.log.position) for each in (master, slave)}) == 1
        )
        words = ("playbook", "run", "slave-behind", "-p", "window=200ms", "-n", cluster.namesrv, "-o", "json")
        run = mqctl(*words).json
    assert (run["ending"], [step["id"] for step in run["steps"]][-1]) == ("done", "rules")
