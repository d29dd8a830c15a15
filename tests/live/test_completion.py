"""The Tab with names of a live cluster: what it knows, how long it believes its cache, what a silent cluster costs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.shells import SHELLS, typed


def tab(live: Run, *words: str, env: dict[str, str] | None = None) -> list[str]:
    outcome = live("__complete", *words, env=env)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    return [line.split("\t")[0] for line in outcome.stdout.splitlines()]


def learn(live: Run) -> None:
    """Presses Tab until the cluster's names are there: a busy machine may need longer than one Tab waits."""
    wait_until(lambda: tab(live, "topic", "describe", "-t", "") != [], "names")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("topic", "describe", "-t", ""), ["Pay"]),
        (("topic", "describe", "--topic", "P"), ["Pay"]),
        (("topic", "describe", "-t", "X"), []),
        (("group", "lag", "-g", ""), ["G"]),
        (("offset", "clone", "--from", ""), ["G"]),
        (("message", "peek", "-t", "Pay", "--broker", "broker-b"), ["broker-b"]),
        (("broker", "describe", ""), ["broker-a", "broker-b"]),
        (("cluster", "describe", ""), ["DefaultCluster"]),
        (("group", "lag", "--store", "/x", "-g", ""), []),
    ],
)
def test_real_names(live: Run, words: tuple[str, ...], names: list[str]) -> None:
    learn(live)
    offered = tab(live, *words)
    assert [name for name in offered if not name.startswith("%")] == names


def test_clients_and_producers(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as one:
        one.version = 61
        heartbeat(one, "client-1", group="G", subscriptions={"Pay": "A"})
        wait_until(lambda: tab(live, "stacks", "dump", "--client", "") == ["client-1"], "its client id")
        assert tab(live, "producer", "list", "-g", "") == ["GP"]


def test_a_young_cache_asks_nobody(live: Run, tmp_path: Path) -> None:
    learn(live)
    (place,) = (path for path in (tmp_path / "mqctl_cache_dir" / "names").iterdir() if path.suffix == "")
    # The process that asks writes twice: once before it asks the groups for their members, once after.
    wait_until(lambda: not place.with_suffix(".asking").exists(), "the end of the process that asks")
    place.write_text("group\tOnlyInTheCache\n")
    assert tab(live, "group", "lag", "-g", "") == ["OnlyInTheCache"]
    assert not place.with_suffix(".asking").exists()


def test_an_old_cache_is_better_than_a_cluster_that_does_not_answer(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    learn(live)
    files = tmp_path / "mqctl_cache_dir" / "names"
    wait_until(lambda: not any(files.glob("*.asking")), "the end of the process that asks")
    old = time.time() - 60
    for path in files.iterdir():
        os.utime(path, (old, old))
    cluster.fault(106, Drop())
    try:
        assert tab(live, "group", "lag", "-g", "") == ["G"]
    finally:
        cluster.clear_faults()


def test_without_a_cluster_there_are_no_names_and_no_words(live: Run) -> None:
    assert tab(live, "group", "lag", "-g", "", env={"MQCTL_NAMESRV": "127.0.0.1:1"}) == []
    assert tab(live, "group", "lag", "-g", "", env={"MQCTL_NAMESRV": "", "MQCTL_CACHE_DIR": "/dev/null"}) == []


def test_another_cluster_has_another_cache(live: Run) -> None:
    learn(live)
    assert tab(live, "group", "lag", "--namesrv", "127.0.0.1:1", "-g", "") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete_names(live: Run, cluster: EmbeddedCluster, tmp_path: Path, shell: str) -> None:
    # The client comes before the first Tab, whose cache is believed for half a minute.
    with Peer(cluster.broker("broker-a").address) as one:
        one.version = 61
        heartbeat(one, "10.0.0.1@4711#1", group="G", subscriptions={"Pay": "A"})
        wait_until(lambda: tab(live, "stacks", "dump", "--client", "") == ["10.0.0.1@4711#1"], "its client id")
        places = ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")
        env = {"MQCTL_NAMESRV": cluster.namesrv, **{name: str(tmp_path / name.lower()) for name in places}}
        line = "mqctl stacks dump -g G\t --client 10.0.0.1@4\t"
        assert typed(shell, line, tmp_path, env) == ["stacks", "dump", "-g", "G", "--client", "10.0.0.1@4711#1"]
        assert typed(shell, "mqctl topic describe -t P\t", tmp_path, env) == ["topic", "describe", "-t", "Pay"]
