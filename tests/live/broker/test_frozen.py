"""A master or a slave that is frozen, each a process of its own: every look ends in time, names it, tells the rest."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from tests.client.consuming import wait_until
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.live.conftest import change
from tests.live.test_export import parsed

pytestmark = pytest.mark.slow

Run = Callable[..., Outcome]
MASTER, SLAVE = 0, 1
TIMEOUT, TIMEOUT_S, START_S = "4s", 4, 15
AHEAD_BYTES = 300


@dataclass
class Frozen:
    """What is frozen, by broker id and address, in a cluster with another master and slave that are well or ahead."""

    broker_id: int
    address: str
    namesrv: str
    mqctl: Run

    def look(self, *words: object, at: tuple[str, ...] = (), ends: int = 75) -> Outcome:
        """Runs a command that must end within its time-out (and what a start takes), with nothing left unasked."""
        begun = monotonic()
        outcome = self.mqctl(*words, *(at or ("--namesrv", self.namesrv, "--timeout", TIMEOUT)))
        assert monotonic() - begun < TIMEOUT_S + START_S
        assert outcome.exit_code == ends, outcome
        return outcome

    def json(self, *words: object, at: tuple[str, ...] = (), ends: int = 75) -> Any:
        outcome = self.look(*words, "-o", "json", at=at, ends=ends)
        gaps = outcome.json.get("unavailable", [])
        assert {(gap["broker"], gap["cause"]) for gap in gaps} <= {("broker-a", "timed-out")}, gaps
        return outcome.json


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """The name server, and broker-c whose slave is ahead: both in this process, which is not frozen."""
    with EmbeddedCluster(brokers=("broker-c",), slaves=1, version=request.param) as running:
        with Peer(running.broker("broker-c").address) as peer:
            assert peer.call(send("U"), b"x").code == 0
        change(running, "broker-c", put_group(SubscriptionGroupConfig(name="G")))
        change(running, "broker-c", commit_offset("G", "U", 0, 0))
        slave = running.broker("broker-c-s")
        slave.stop()
        slave.start(settings={"haMasterAddress": "127.0.0.1:1"})
        length = running.broker("broker-c").on_loop(lambda broker: broker.storage.log.position) + AHEAD_BYTES
        slave.on_loop(lambda broker: broker.storage.log.append_copy(b"\0" * length, broker.storage.log.position))
        yield running


@pytest.fixture(scope="module")
def members(cluster: EmbeddedCluster) -> Iterator[dict[int, tuple[subprocess.Popen[str], str]]]:
    """Processes and addresses of broker-a's master and slave, by broker id."""
    with ExitStack() as stack:
        common = ["--as-version", cluster.spec.version, "--name-servers", "0", "--brokers", "broker-a", "--memory"]
        common += ["--set", f"namesrvAddr={cluster.namesrv}", "--set", "registerNameServerPeriod=10000"]
        master, begun = stack.enter_context(process(*common))
        slave, joined = stack.enter_context(process(*common, "--set", "brokerRole=SLAVE", "--set", "brokerId=1"))
        addresses = [ready["brokers"][0]["address"] for ready in (begun, joined)]
        with Peer(addresses[MASTER]) as peer:
            assert peer.call(send("T"), b"x" * 100).code == 0
        wait_until(lambda: end(addresses[SLAVE]) == end(addresses[MASTER]) > 0)
        yield {MASTER: (master, addresses[MASTER]), SLAVE: (slave, addresses[SLAVE])}


def end(address: str) -> int:
    with Peer(address) as peer:
        answer = peer.call(GetBrokerRuntimeInfo())
    return int(KVTable.from_bytes(answer.body).table["commitLogMaxOffset"]) if answer.code == 0 else -1


@pytest.fixture(params=[MASTER, SLAVE], ids=["master", "slave"])
def frozen(request: pytest.FixtureRequest, cluster: EmbeddedCluster, members: Any, mqctl: Run) -> Iterator[Frozen]:
    running, address = members[request.param]
    running.send_signal(signal.SIGSTOP)
    try:
        yield Frozen(request.param, address, cluster.namesrv, mqctl)
    finally:
        running.send_signal(signal.SIGCONT)
        wait_until(lambda: end(address) > 0)


def by_id(rows: list[dict[str, Any]], name: str = "broker") -> dict[tuple[str, int], dict[str, Any]]:
    return {(row[name], row["broker_id"]): row for row in rows}


def slave_states(frozen: Frozen, rows: dict[tuple[str, int], dict[str, Any]], key: str) -> list[str | None]:
    """The states of the slave beside the frozen one or frozen itself, and of the one that nobody froze."""
    assert set(rows) == {("broker-a", 0), ("broker-a", 1), ("broker-c", 0), ("broker-c", 1)}
    assert rows["broker-a", frozen.broker_id]["address"] == frozen.address
    return [rows[name, SLAVE][key] for name in ("broker-a", "broker-c")]


def test_ha_status_live_and_saved_names_it_and_tells_the_others(frozen: Frozen, tmp_path: Path) -> None:
    saved = tmp_path / "now.mqsnap"
    assert frozen.address in frozen.look("snapshot", "save", saved).stderr
    for at in ((), ("--snapshot", str(saved))):
        rows = by_id(frozen.json("ha", "status", at=at)["replicas"])
        assert slave_states(frozen, rows, "state") == ["unknown", "ahead"]
        assert rows["broker-c", SLAVE]["behind_bytes"] == -AHEAD_BYTES
        silent, other = rows["broker-a", frozen.broker_id], rows["broker-a", 1 - frozen.broker_id]
        assert (silent["log_end"], silent["role"]) == (None, None)
        assert other["log_end"] > 0 and rows["broker-a", SLAVE]["behind_bytes"] is None
        shown = frozen.look("ha", "status", at=at)
        assert f"not answered by {frozen.address}" in shown.stderr
        assert "Not known of broker-a (1):" in shown.stdout
        assert "Slaves that do not follow as they should: 1 of 2" in shown.stdout


@pytest.mark.parametrize("words", [("broker", "list"), ("cluster", "describe"), ("top", "--once", "--every", "100ms")])
def test_lists_and_top_name_it_and_tell_the_others(frozen: Frozen, words: tuple[str, ...]) -> None:
    answer = frozen.json(*words)
    rows = by_id(answer["brokers"], "name")
    assert slave_states(frozen, rows, "replica_state") == ["unknown", "ahead"]
    named = {key: row["problem"] for key, row in rows.items() if row["problem"]}
    assert named.keys() == {("broker-a", frozen.broker_id)} and frozen.address in named["broker-a", frozen.broker_id]
    if words[0] == "top":
        assert [(row["group"], row["lag_count"]) for row in answer["groups"]] == [("G", 1)]


def test_doctor_live_and_saved_finds_it_and_judges_the_others(frozen: Frozen, tmp_path: Path) -> None:
    saved = tmp_path / "now.mqsnap"
    frozen.look("snapshot", "save", saved)
    for at in ((), ("--snapshot", str(saved))):
        report = frozen.json("doctor", at=at, ends=2)
        by_code = {item["code"]: item for item in report["findings"]}
        assert frozen.address in by_code["MQ620"]["what"] and by_code["MQ620"]["subject"] == "broker-a"
        assert by_code["MQ131"]["subject"] == "broker-c" and by_code["MQ131"]["evidence"]["ahead_bytes"] == AHEAD_BYTES
        about_slaves = {item["subject"] for item in report["findings"] if item["code"].startswith("MQ13")}
        assert about_slaves == {"broker-c"}
        left_open = {(item["code"], item["subject"]) for item in report["not_judged"] if item["causes"]}
        assert ("MQ116", "broker-a") in left_open and {subject for _, subject in left_open} == {"broker-a"}
        parts = {part for cause in report["not_judged_causes"] for part in cause["parts"]}
        assert frozen.broker_id == MASTER or parts == {"runtime", "config"}  # slaves are not asked for groups


def test_checks_leave_open_what_it_kept_back_and_hold_the_others(frozen: Frozen, tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text("slaves: 1\nslave_behind: {warning: 1000, error: 100000}\n")
    results = frozen.json("check", file, ends=2)["results"]
    assert {(item["check"], item["subject"]): item["state"] for item in results} == {
        ("slaves", "broker broker-a"): "unknown",
        ("slaves", "broker broker-c"): "error",
        ("slave_behind", "broker broker-a (1)"): "unknown",
        ("slave_behind", "broker broker-c (1)"): "error",
    }
    (message,) = (item["message"] for item in results if item["subject"] == "broker broker-a (1)")
    assert frozen.address in message


def test_metrics_are_not_numbers_for_it_and_numbers_for_the_others(frozen: Frozen) -> None:
    metrics = parsed(frozen.look("export", "prometheus", "--once", "--by-queue", ends=0).stdout)

    def labels(name: str, broker_id: int) -> str:
        return f"broker={name} broker_id={broker_id} cluster=DefaultCluster"

    up = metrics["mqctl_broker_up"]
    assert {key for key, value in up.items() if value == 0} == {labels("broker-a", frozen.broker_id)}
    for name in ("mqctl_broker_replication_lag_bytes", "mqctl_broker_replication_healthy"):
        assert isnan(metrics[name][labels("broker-a", SLAVE)])
    assert metrics["mqctl_broker_replication_lag_bytes"][labels("broker-c", SLAVE)] == -AHEAD_BYTES
    assert metrics["mqctl_broker_replication_healthy"][labels("broker-c", SLAVE)] == 0
    assert {key.partition(" ")[0] for key in metrics["mqctl_unknown_parts"]} == {"broker=broker-a"}
    of_queue = "broker=broker-c cluster=DefaultCluster group=G queue=0 topic=U"
    assert metrics["mqctl_group_queue_lag_messages"][of_queue] == 1
    whole = metrics["mqctl_group_lag_messages"]["cluster=DefaultCluster group=G topic=U"]
    assert isnan(whole) if frozen.broker_id == MASTER else whole == 1  # a sum without one of its masters is none
