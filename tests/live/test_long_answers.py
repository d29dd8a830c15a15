"""Answers about hundreds of groups: what matters comes first, within two screens, and machines get all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

GROUPS = 120
SCREENS = 100  # lines of two screens
BEHIND = ("doctor", "--only", "MQ401", "--time-scale", "900000")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A name server; on its only broker, `group-N` is N messages behind on topic Pay."""
    with EmbeddedCluster(brokers=1) as cluster, Links() as links:
        address = cluster.broker("broker-a").address
        links.ask(
            address, put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)), Deadline(60_000)
        )
        with Peer(address) as peer:
            for _ in range(GROUPS):
                assert peer.call(send("Pay"), b"x").code == 0
        for number in range(GROUPS):
            links.ask(address, commit_offset(f"group-{number:03}", "Pay", 0, GROUPS - number), Deadline(60_000))
        yield cluster.namesrv


@pytest.fixture
def ask(mqctl: Run, many: str, tmp_path: Path) -> Run:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    return lambda *words, env=None: mqctl(*words, env={**places, "MQCTL_NAMESRV": many, **(env or {})})


def test_doctor_tells_the_worst_of_many_alike(ask: Run) -> None:
    seen = ask(*BEHIND)
    assert not seen.stderr, seen.stderr
    lines = seen.stdout.splitlines()
    assert len(lines) < SCREENS
    named = [line.split()[1] for line in lines if line.startswith("  Group ")]
    assert named == [f"group-{GROUPS - number:03}" for number in range(1, 11)]
    assert f"  and {GROUPS - 1 - 10} more (-o json for all)" in lines
    (head,) = [line for line in lines if "MQ401" in line]
    assert f"{GROUPS - 1} findings, worst first" in head
    assert sum(line.startswith("  next: mqctl group lag ") for line in lines) == 1
    assert f"另有 {GROUPS - 1 - 10} 处" in ask(*BEHIND, "--lang", "zh").stdout


def test_machines_and_who_wants_the_evidence_get_every_finding(ask: Run) -> None:
    assert len(ask(*BEHIND, "-o", "json").json["findings"]) == GROUPS - 1
    assert sum("lag_count = " in line for line in ask(*BEHIND, "--explain").stdout.splitlines()) == GROUPS - 1


def test_below_the_verdict_stands_what_to_do_first(ask: Run) -> None:
    lines = ask("doctor", "--time-scale", "900000").stdout.splitlines()
    verdict = next(place for place, line in enumerate(lines) if "findings from" in line)
    assert lines[verdict + 1].startswith("first: mqctl group lag ")
    assert lines[verdict + 1].endswith(f" -g group-{GROUPS - 1:03}")
    assert len(lines) < SCREENS
