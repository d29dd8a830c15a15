"""`ha status` and the rules about replication, on embedded masters and slaves."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedBroker, EmbeddedCluster
from mqctl.protocol.requests_client import UpdateConsumerOffset
from tests.client.consuming import wait_until
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.live.test_export import exporting

Run = Callable[..., Outcome]
SCALE, SECONDS = 50.0, 30.0


@pytest.fixture(params=["4.9.8", "5.3.3"])
def pair(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A master with ten messages, and a slave that has them."""
    settings = {"mappedFileSizeCommitLog": "131072", "haHousekeepingInterval": "20000000"}
    with EmbeddedCluster(version=request.param, slaves=1, time_scale=SCALE, settings=settings) as cluster:
        fill(cluster, 10)
        wait_until(lambda: end(cluster.broker("broker-a")) == end(cluster.broker("broker-a-s")))
        wait_until(lambda: cluster.broker("broker-a-s").on_loop(lambda broker: broker.topics.find("T")) is not None)
        yield cluster


def fill(cluster: EmbeddedCluster, count: int, size: int = 100) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        for _ in range(count):
            assert peer.call(send("T"), b"x" * size).code == 0


def end(broker: EmbeddedBroker) -> int:
    return broker.on_loop(lambda running: running.storage.log.position)


def lost(cluster: EmbeddedCluster) -> EmbeddedBroker:
    """The slave looks for its master where nobody is."""
    slave = cluster.broker("broker-a-s")
    slave.stop()
    slave.start(settings={"haMasterAddress": "127.0.0.1:1"})
    return slave


def slaves(mqctl: Run, cluster: EmbeddedCluster, *words: object) -> Any:
    outcome = mqctl("ha", "status", "--namesrv", cluster.namesrv, *words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return [row for row in outcome.json["replicas"] if row["broker_id"]]


def findings(mqctl: Run, cluster: EmbeddedCluster, *words: object) -> dict[str, Any]:
    outcome = mqctl("doctor", "--namesrv", cluster.namesrv, *words, "-o", "json")
    return {item["code"]: item for item in outcome.json["findings"]}


def test_a_slave_that_follows_is_in_sync_and_doctor_has_nothing_to_say(mqctl: Run, pair: EmbeddedCluster) -> None:
    (row,) = slaves(mqctl, pair)
    assert (row["state"], row["behind_bytes"], row["role"]) == ("in-sync", 0, "SLAVE")
    assert row["log_end"] == end(pair.broker("broker-a"))
    everybody = mqctl("ha", "status", "--namesrv", pair.namesrv, "-o", "json").json["replicas"]
    assert [item["undispatched_bytes"] for item in everybody] == [0, 0]
    assert findings(mqctl, pair) == {}
    shown = mqctl("ha", "status", "broker-a", "--namesrv", pair.namesrv).stdout
    assert "in-sync" in shown and "ASYNC_MASTER" in shown


def test_what_a_slave_lacks_is_told_in_bytes_and_by_the_age_of_the_first_message(
    mqctl: Run, pair: EmbeddedCluster, tmp_path: Path
) -> None:
    before = end(pair.broker("broker-a"))
    lost(pair)
    fill(pair, 5)
    (row,) = slaves(mqctl, pair)
    assert (row["state"], row["behind_bytes"]) == ("catching-up", end(pair.broker("broker-a")) - before)
    assert row["behind_ms"] is not None
    by_code = findings(mqctl, pair, "--window", "1s")
    assert by_code["MQ133"]["evidence"]["behind_bytes"] == row["behind_bytes"]
    saved = tmp_path / "now.mqsnap"
    assert mqctl("snapshot", "save", saved, "--namesrv", pair.namesrv).exit_code == 0
    offline = mqctl("ha", "status", "--snapshot", saved, "-o", "json").json["replicas"]
    assert [item["behind_bytes"] for item in offline if item["broker_id"]] == [row["behind_bytes"]]


def test_lists_checks_and_metrics_carry_what_slaves_lack(mqctl: Run, pair: EmbeddedCluster, tmp_path: Path) -> None:
    at = ("--namesrv", pair.namesrv)
    file = tmp_path / "checks.yaml"
    file.write_text("slaves: 1\nslave_behind: {warning: 1000, error: 100000}\n")
    assert mqctl("check", file, *at).exit_code == 0
    before = end(pair.broker("broker-a"))
    slave = lost(pair)
    fill(pair, 20)
    behind = end(pair.broker("broker-a")) - before
    for words in (("broker", "list"), ("cluster", "describe"), ("top", "--once", "--every", "200ms")):
        rows = mqctl(*words, *at, "-o", "json").json["brokers"]
        assert [(row["behind_bytes"], row["replica_state"]) for row in rows] == [(None, None), (behind, "catching-up")]
        assert "catching-up" in mqctl(*words, *at).stdout
    checked = mqctl("check", file, *at, "-o", "json")
    assert (checked.exit_code, [item["state"] for item in checked.json["results"]]) == (1, ["ok", "warning"])
    slave.on_loop(lambda running: running.storage.log.append_copy(b"\0" * 20_000, running.storage.log.position))
    checked = mqctl("check", file, *at, "-o", "json")
    assert (checked.exit_code, checked.json["results"][1]["message"]) == (2, "its log ends after its master's")
    with exporting(pair.namesrv, tmp_path) as exporter:
        metrics = exporter.scrape()
    slave_labels = "broker=broker-a broker_id=1 cluster=DefaultCluster"
    assert metrics["mqctl_broker_replication_lag_bytes"] == {slave_labels: float(behind - 20_000)}
    assert metrics["mqctl_broker_replication_healthy"] == {slave_labels: 0.0}


def test_a_slave_without_master_an_empty_one_and_one_that_is_ahead_are_told(mqctl: Run, pair: EmbeddedCluster) -> None:
    slave = lost(pair)
    slave.on_loop(lambda running: running.storage.log.append_copy(b"\0" * 300, running.storage.log.position))
    (row,) = slaves(mqctl, pair)
    assert (row["state"], row["behind_bytes"]) == ("ahead", -300)
    assert findings(mqctl, pair)["MQ131"]["evidence"]["ahead_bytes"] == 300
    pair.broker("broker-a").stop()
    assert [row["state"] for row in slaves(mqctl, pair)] == ["no-master"]
    assert "MQ609" in findings(mqctl, pair)


@pytest.mark.both_releases
def test_a_probe_of_the_replication_port_counts_as_a_slave_and_is_named(mqctl: Run, pair: EmbeddedCluster) -> None:
    port = pair.broker("broker-a").on_loop(lambda running: running.settings.ha_listen_port)
    with socket.create_connection(("127.0.0.1", port)):
        wait_until(
            lambda: pair.broker("broker-a").on_loop(lambda running: len(running.replication.master.connections)) == 2
        )
        by_code = findings(mqctl, pair)
        shown = mqctl("ha", "status", "--namesrv", pair.namesrv, "-o", "wide").stdout
    if pair.spec.version == "5.3.3":
        assert by_code["MQ134"]["evidence"] == {"mute_count": 1, "slave_count": 1}
        assert "broker-a itself calls 2 of its connections in sync, and 1 of its slaves follow:" in shown
    else:
        assert "connections in sync" not in shown
        assert "MQ134" not in by_code  # nothing of 4.9 tells who is connected


@pytest.mark.both_releases
def test_a_sync_master_that_waits_for_nobody_is_named(mqctl: Run, pair: EmbeddedCluster) -> None:
    pair.broker("broker-a").on_loop(lambda running: running.change_settings({"brokerRole": "SYNC_MASTER"}))
    by_code = findings(mqctl, pair)
    assert ("MQ135" in by_code) is (pair.spec.version == "5.3.3")
    pair.broker("broker-a-s").stop()
    assert ("MQ643" in findings(mqctl, pair)) is (pair.spec.version == "4.9.8")  # which waits for one


def test_an_unknown_broker_and_no_cluster_are_errors(mqctl: Run, pair: EmbeddedCluster) -> None:
    outcome = mqctl("ha", "status", "broker-z", "--namesrv", pair.namesrv)
    assert (outcome.exit_code, "broker-z" in outcome.stderr) == (66, True)
    assert mqctl("ha", "status", "--namesrv", "127.0.0.1:1").exit_code == 69


def test_lag_of_a_group_whose_master_is_gone_is_read_from_the_slave_and_said_to_be(
    mqctl: Run, pair: EmbeddedCluster
) -> None:
    slave = pair.broker("broker-a-s")
    with Peer(pair.broker("broker-a").address) as peer:
        assert peer.call(pull("T", 0, group="G")).code == 0
        assert peer.call(UpdateConsumerOffset(consumer_group="G", topic="T", queue_id=0, commit_offset=4)).code == 0
    wait_until(lambda: slave.on_loop(lambda broker: broker.offsets.query("G", "T", 0)) == 4)
    known = mqctl("group", "lag", "-g", "G", "--namesrv", pair.namesrv, "-o", "json")
    assert (known.exit_code, known.json["slaves"]) == (0, [])
    pair.broker("broker-a").kill()
    outcome = mqctl("group", "lag", "-g", "G", "--namesrv", pair.namesrv, "-o", "json")
    assert (outcome.exit_code, outcome.json["slaves"]) == (0, ["broker-a"]), outcome.stderr
    assert [group["lag_count"] for group in outcome.json["groups"]] == [6]
    assert "master gone: broker-a;" in mqctl("group", "lag", "--namesrv", pair.namesrv).stdout
