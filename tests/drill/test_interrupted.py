"""A drill that somebody ends early, or whose disk is full: what it left is said, and what it wrote can be judged."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import wait_until
from tests.drill.test_drill_run import ASKING, own_things
from tests.live.conftest import Run

LEFT = "mqctl bench clean shows what is left on the cluster"
SEND = ASKING[: ASKING.index("schedule")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """Somebody's cluster."""
    with EmbeddedCluster(brokers=1) as running:
        yield running


@pytest.fixture(autouse=True)
def healed(cluster: EmbeddedCluster) -> Iterator[None]:
    """Takes back what a test broke."""
    cluster.record_requests()
    yield
    cluster.record_requests(on=False)
    cluster.clear_faults()


def started(cluster: EmbeddedCluster, directory: Path, plan: str) -> subprocess.Popen[str]:
    (directory / "plan.yaml").write_text(plan)
    env = {**os.environ, "MQCTL_STATE_DIR": str(directory / "state"), "MQCTL_NAMESRV": cluster.namesrv}
    words = ["drill", "run", str(directory / "plan.yaml"), "--history", str(directory / "h"), "--execute"]
    return subprocess.Popen(
        [sys.executable, "-m", "mqctl", *words], env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("code", [RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.DELETE_TOPIC_IN_BROKER])
def test_who_does_not_wait_for_making_or_removing_is_shown_what_cleans_up(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster, code: RequestCode
) -> None:
    """Ctrl-C while the topic is made; or while the drill asks, and once more while it removes what it made."""
    cluster.fault(int(code), Drop())
    history, making = tmp_path / "h", code is RequestCode.UPDATE_AND_CREATE_TOPIC
    with started(cluster, tmp_path, ASKING) as process:
        if not making:
            wait_until(lambda: history.exists() and b"asked: Upgrade" in history.read_bytes(), "it asks")
            process.send_signal(signal.SIGINT)
        wait_until(lambda: any(each.code == code for each in cluster.requests()), f"{code.name}")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=90)
    assert (process.returncode, LEFT in stderr) == (2 if making else 3, True), stderr
    assert making or ("NOT JUDGED" in stdout and "interrupted; the history is judged as far as it goes" in stderr)
    assert history.exists() is not making
    cluster.clear_faults()
    env = {"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv}
    wait_until(lambda: mqctl("bench", "clean", "--execute", env=env).exit_code == 0, "nobody is a member any more")
    assert own_things(cluster) == set()


def test_the_history_of_another_drill_is_neither_overwritten_nor_judged(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    (tmp_path / "plan.yaml").write_text(SEND)
    (tmp_path / "h").write_text("another")
    words = ("drill", "run", tmp_path / "plan.yaml", "--history", tmp_path / "h", "--execute")
    outcome = mqctl(*words, env={"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv})
    assert (outcome.exit_code, "it exists" in outcome.stderr) == (74, True), outcome.stderr
    assert (tmp_path / "h").read_text() == "another"
    assert RequestCode.UPDATE_AND_CREATE_TOPIC not in {each.code for each in cluster.requests()}


def test_a_full_disk_ends_the_drill_and_leaves_nothing_behind(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    with started(cluster, tmp_path, SEND.replace("messages: 100, rate: 100", "messages: 900, rate: 900")) as process:
        wait_until((tmp_path / "h").exists, "the history")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (16_384, resource.RLIM_INFINITY))
        stderr = process.communicate(timeout=90)[1]
    assert (process.returncode, f"could not write {tmp_path / 'h'}" in stderr) == (74, True), stderr
    judged = mqctl("drill", "check", tmp_path / "h", "-o", "json")
    assert (judged.exit_code, judged.json["complete"]) == (3, False), judged.stdout
    assert own_things(cluster) == set()
