"""`mqctl export prometheus`: real scrapes over HTTP, read with the official parser."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import nan
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.commands.export.metric_families import Family
from mqctl.commands.export.metrics_detail import QUEUE_LABELS, within_bounds
from mqctl.model.config import SubscriptionGroupConfig
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.live.failing import fail
from tests.live.members import member

Metrics = dict[str, dict[str, float]]
PAY = "cluster=DefaultCluster group=G topic=Pay"
OF_G = "cluster=DefaultCluster group=G"


class Exporter:
    """A running exporter."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def scrape(self) -> Metrics:
        with urlopen(self.url, timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            return parsed(answer.read().decode())


def parsed(text: str) -> Metrics:
    """Returns the numbers by name of the sample, then by labels."""
    metrics: Metrics = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = " ".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            assert labels not in metrics.setdefault(sample.name, {})
            metrics[sample.name][labels] = sample.value
    return metrics


@contextmanager
def exporting(namesrv: str, tmp_path: Path, *words: str) -> Iterator[Exporter]:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY), "MQCTL_NAMESRV": namesrv}
    command = [sys.executable, "-m", "mqctl", "export", "prometheus", "--listen", "127.0.0.1:0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.fullmatch(r"mqctl: metrics at (http://127\.0\.0\.1:\d+/metrics); Ctrl-C ends it\n", line)
        assert match is not None, line
        yield Exporter(process, match[1])
    finally:
        process.kill()
        process.communicate()


def test_a_scrape_tells_what_the_commands_tell(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    fail(cluster, "broker-a", 0, level=-1)
    with Peer(cluster.broker("broker-a").address) as one, exporting(cluster.namesrv, tmp_path) as exporter:
        heartbeat(one, "client-1", group="G", subscriptions={"Pay": "A"})
        metrics = exporter.scrape()
    lag = next(row for row in live("group", "lag", "-o", "json").json["groups"] if row["topic"] == "Pay")
    assert metrics["mqctl_up"] == {"": 1}
    assert metrics["mqctl_group_lag_messages"][PAY] == lag["lag_count"] > 0
    assert 0 < metrics["mqctl_group_lag_seconds"][PAY] <= lag["lag_ms"] / 1000
    assert metrics["mqctl_group_members"][OF_G] == 1
    assert metrics["mqctl_group_dead_letter_messages"] == {OF_G: 1}
    assert metrics["mqctl_delay_late_seconds"] == {
        "broker=broker-a cluster=DefaultCluster": 0,
        "broker=broker-b cluster=DefaultCluster": 0,
    }
    assert set(metrics["mqctl_broker_up"].values()) == {1}
    assert all(0 <= share <= 1 for share in metrics["mqctl_broker_disk_used_ratio"].values())
    assert "mqctl_unknown_parts" not in metrics


def test_queues_and_clients_have_metrics_where_they_are_asked_for(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    words = ("--by-queue", "--clients", "--every", "1ms")
    with member(cluster, busy=True), exporting(cluster.namesrv, tmp_path, *words) as exporter:
        # It is busy with what it got first: two messages of each first queue.
        wait_until(lambda: 4 in exporter.scrape()["mqctl_client_cached_messages"].values(), "all are in its cache")
        metrics = exporter.scrape()
        rows = live("group", "lag", "-g", "G", "--by", "queue", "-o", "json").json["queues"]
    for row in (row for row in rows if row["topic"] == "Pay"):
        labels = f"broker={row['broker_name']} cluster=DefaultCluster group=G queue={row['queue_id']} topic=Pay"
        assert metrics["mqctl_group_queue_lag_messages"][labels] == row["lag_count"]
        assert metrics["mqctl_group_queue_consumer_offset"][labels] == row["consumer_offset"]
        assert metrics["mqctl_group_queue_broker_offset"][labels] == row["broker_offset"]
    (client,) = metrics["mqctl_client_answers"]
    assert client.startswith("client=") and client.endswith(f" {OF_G}")
    assert metrics["mqctl_client_answers"][client] == 1
    assert metrics["mqctl_client_queues"][client] >= 4
    assert metrics["mqctl_client_cached_messages"][client] == 4
    assert f"{client} topic=Pay" in metrics["mqctl_client_consumed_messages_per_second"]
    assert (metrics["mqctl_queues_left_out"], metrics["mqctl_clients_left_out"]) == ({"": 0}, {"": 0})
    plain = parsed(live("export", "prometheus", "--once").stdout)
    assert not [name for name in plain if "queue_" in name or "client" in name]


def test_those_furthest_behind_have_metrics_where_there_are_too_many() -> None:
    labels = [("C", "G", "Pay", "b", str(number)) for number in range(5)]
    behind = [3.0, nan, 9.0, 0.0, 5.0]
    lag = Family(
        name="mqctl_group_queue_lag_messages",
        help="-",
        labels=QUEUE_LABELS,
        samples=list(zip(labels, behind, strict=True)),
    )
    offsets = Family(name="o", help="-", labels=QUEUE_LABELS, samples=[(where, 1.0) for where in labels])
    kept, others, left_out = within_bounds([lag, offsets], 2)
    assert [where[-1] for where, _ in kept.samples] == [where[-1] for where, _ in others.samples] == ["2", "4"]
    assert (left_out.name, left_out.samples) == ("mqctl_queues_left_out", [((), 3.0)])


def test_scrapes_share_one_look_for_a_while(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    with exporting(cluster.namesrv, tmp_path, "--every", "1h") as exporter:
        first = exporter.scrape()
        cluster.record_requests()
        assert repr(exporter.scrape()) == repr(first)  # rates that are not known are NaN
        assert cluster.requests() == []
    with exporting(cluster.namesrv, tmp_path, "--every", "0s") as exporter:
        looks = [exporter.scrape()["mqctl_gather_timestamp_seconds"][""] for _ in range(2)]
        assert looks[0] < looks[1]


def test_what_is_not_known_is_nan_and_counted(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cluster.fault(43, Drop(), server="broker-b")
    try:
        with exporting(cluster.namesrv, tmp_path, "--timeout", "3s") as exporter:
            metrics = exporter.scrape()
    finally:
        cluster.clear_faults()
    assert math.isnan(metrics["mqctl_group_lag_messages"][PAY])
    assert math.isnan(metrics["mqctl_group_lag_seconds"][PAY])
    assert metrics["mqctl_unknown_parts"]["broker=broker-b part=consumer-offsets"] >= 1
    assert metrics["mqctl_up"] == {"": 1}


def test_without_a_name_server_there_is_no_old_number_and_it_comes_back(tmp_path: Path) -> None:
    with EmbeddedCluster() as cluster, exporting(cluster.namesrv, tmp_path, "--every", "0s") as exporter:
        assert "mqctl_broker_up" in exporter.scrape()
        cluster.fault(106, Drop())
        gone = exporter.scrape()
        assert (gone["mqctl_up"], gone["mqctl_gather_failures_total"]) == ({"": 0}, {"": 1})
        assert not any(name.startswith(("mqctl_broker", "mqctl_group")) for name in gone)
        cluster.clear_faults()
        assert exporter.scrape()["mqctl_up"] == {"": 1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_clean(cluster: EmbeddedCluster, tmp_path: Path, number: int) -> None:
    with exporting(cluster.namesrv, tmp_path) as exporter:
        exporter.scrape()
        exporter.process.send_signal(number)
        out, errors = exporter.process.communicate(timeout=60)
        assert (exporter.process.returncode, out, errors) == (0, "", "")


@pytest.mark.quick
def test_once_prints_the_same(live: Run) -> None:
    outcome = live("export", "prometheus", "--once")
    assert outcome.exit_code == 0
    assert parsed(outcome.stdout)["mqctl_group_lag_messages"][PAY] > 0
    nobody = live("export", "prometheus", "--once", "--namesrv", "127.0.0.1:1")
    assert (nobody.exit_code, parsed(nobody.stdout)["mqctl_up"], "127.0.0.1:1" in nobody.stderr) == (69, {"": 0}, True)


def test_brokers_are_counted_against_those_that_were_there(live: Run, tmp_path: Path) -> None:
    own = {"MQCTL_STATE_DIR": str(tmp_path / "own")}
    with EmbeddedCluster(brokers=2) as cluster:

        def scrape() -> Metrics:
            return parsed(
                live("export", "prometheus", "--once", "-n", cluster.namesrv, "--timeout", "3s", env=own).stdout
            )

        def counted() -> tuple[dict[str, float], ...]:
            metrics = scrape()
            return tuple(metrics[name] for name in ("mqctl_up", "mqctl_brokers", "mqctl_brokers_expected"))

        def of(count: int) -> dict[str, float]:
            return {"cluster=DefaultCluster": count}

        assert counted() == ({"": 1}, of(2), of(2))
        cluster.broker("broker-b").stop()
        assert counted() == ({"": 1}, of(1), of(2))
        cluster.fault(None, Drop(), server="broker-a")
        assert counted() == ({"": 0}, of(0), of(2))
        cluster.clear_faults()
        cluster.broker("broker-a").stop()
        assert counted() == ({"": 0}, of(0), of(2))


def test_names_and_exceptions_may_be_patterns(live: Run, cluster: EmbeddedCluster) -> None:
    for name in ("G-test", "other"):
        change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name=name)))
        change(cluster, "broker-a", commit_offset(name, "Pay", 0, 1))

    def groups(*words: str) -> set[str]:
        return set(parsed(live("export", "prometheus", "--once", *words).stdout).get("mqctl_group_lag_messages", {}))

    def of(group: str) -> str:
        return PAY.replace("group=G ", f"group={group} ")

    assert groups("-g", "G*") == {of("G"), of("G-test")}
    assert groups("-g", "G*", "--except", "*-test") == {of("G")}
    assert groups("--except", "G*") == {of("other")}
    assert groups("-t", "P?y", "--except", "G*") == {of("other")}
    assert groups("-t", "Nothing*") == set()


def test_addresses_that_cannot_be(live: Run) -> None:
    for address in ("9557", "127.0.0.1:http", "127.0.0.1:70000"):
        assert live("export", "prometheus", "--listen", address).exit_code == 64
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = live("export", "prometheus", "--listen", f":{taken.getsockname()[1]}", "-n", "127.0.0.1:1")
    assert (outcome.exit_code, "could not listen" in outcome.stderr) == (74, True), outcome.stderr
    assert json.loads(live("export", "prometheus", "--listen", "x", "-o", "json").stderr)["exit_code"] == 64
