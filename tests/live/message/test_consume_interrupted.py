"""`message consume` that is interrupted: its temporary group goes all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_queries import group_configs, topic_configs
from mqctl.client.admin.cluster import Cluster
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY


def left_by_mqctl(cluster: EmbeddedCluster) -> set[str]:
    """Groups and topics whose names mqctl made up."""
    with Cluster(cluster.namesrv) as admin:
        leftovers: set[str] = set()
        for broker in admin.masters():
            leftovers.update(admin.ask(broker.address, group_configs()).keys())
            leftovers.update(admin.ask(broker.address, topic_configs()).keys())
    return {name for name in leftovers if "mqctl-" in name}


def test_ctrl_c_leaves_nothing_behind(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    words = ("message", "consume", "-t", "Pay", "--wait", "1h", "--namesrv", cluster.namesrv)
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    # A build in the background has the signal ignored, and its children inherit that.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "mqctl", *words]
    process = subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True)
    # The retry topic comes with the consumer's first heartbeat: from then on it waits for messages.
    wait_until(lambda: any(name.startswith("%RETRY%") for name in left_by_mqctl(cluster)), "it consumes")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in errors) == (130, True), errors
    assert left_by_mqctl(cluster) == set()


def test_ctrl_c_while_a_message_is_sent_says_that_it_may_be_there(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cluster.record_requests()
    cluster.fault(310, Drop())
    words = ("message", "send", "-t", "Pay", "--body", "x", "--timeout", "1m", "--namesrv", cluster.namesrv)
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    command = ["env", "--default-signal=INT", sys.executable, "-m", "mqctl", *words]
    process = subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: bool(cluster.requests(310)), "it sends")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    cluster.clear_faults()
    assert (process.returncode, "interrupted" in errors) == (130, True), errors
    assert "it may have been stored all the same: mqctl message peek -t Pay" in errors
