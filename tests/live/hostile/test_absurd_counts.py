"""Numbers and counts that no cluster has are refused by name where they enter; long tables come whole in every form."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import yaml

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.protocol.bodies_cluster import MOST_BROKERS
from mqctl.protocol.codes import RequestCode
from tests.live.conftest import Run


def _fault(cluster: EmbeddedCluster, code: RequestCode, body: object, *, server: str | None = None) -> None:
    cluster.fault(code, Answer(0, body=json.dumps(body).encode()), server=server)


def test_a_cluster_of_more_brokers_than_anybody_runs_is_refused(live: Run, cluster: EmbeddedCluster) -> None:
    names = [f"b{number}" for number in range(MOST_BROKERS + 1)]
    brokers = {name: {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": "127.0.0.1:9"}} for name in names}
    _fault(cluster, RequestCode.GET_BROKER_CLUSTER_INFO, {"brokerAddrTable": brokers, "clusterAddrTable": {"C": names}})
    refused = live("broker", "list")
    assert refused.exit_code == 65
    assert "it names 2,001 brokers, and mqctl reads at most 2,000" in refused.stderr


def test_a_queue_id_beyond_32_bits_is_a_gap_and_no_wrong_usage(live: Run, cluster: EmbeddedCluster) -> None:
    key = '{"brokerName":"broker-a","queueId":253402300800000,"topic":"Pay"}'
    offset = {"lastUpdateTimestamp": 0, "maxOffset": 5, "minOffset": 0}
    _fault(cluster, RequestCode.GET_TOPIC_STATS_INFO, {"offsetTable": {key: offset}})
    outcome = live("topic", "describe", "-t", "Pay")
    assert outcome.exit_code == 74
    assert "the id of a queue, of 32 bits, is expected, not '253402300800000'" in outcome.stderr


def test_an_offset_of_a_queue_beyond_32_bits_is_a_gap_and_no_wrong_usage(live: Run, cluster: EmbeddedCluster) -> None:
    _fault(cluster, RequestCode.GET_ALL_CONSUMER_OFFSET, {"offsetTable": {"Pay@G": {str((1 << 63) - 1): 5}}})
    outcome = live("doctor", "-t", "Pay")
    assert outcome.exit_code in {2, 3}, outcome
    assert "the id of a queue, of 32 bits, is expected, not '9223372036854775807'" in outcome.stdout


@pytest.mark.parametrize("count", [-1, 65_537, (1 << 31) - 1])
def test_a_route_of_more_queues_than_a_topic_has_is_refused(live: Run, cluster: EmbeddedCluster, count: int) -> None:
    queues = {"brokerName": "broker-a", "perm": 6, "readQueueNums": count, "writeQueueNums": 4, "topicSysFlag": 0}
    _fault(cluster, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"queueDatas": [queues], "brokerDatas": []})
    refused = live("allocation", "simulate", "-g", "G", "-t", "Pay", "--add-clients", "2")
    assert refused.exit_code in {65, 74}
    assert f"readQueueNums of broker-a is {count:,}, and mqctl reads at most 65,536" in refused.stderr


def test_a_group_of_more_members_than_any_has_is_a_gap(live: Run, cluster: EmbeddedCluster) -> None:
    ids = [f"10.0.0.1@{number}" for number in range(10_001)]
    connections = [{"clientId": name, "clientAddr": "10.0.0.1:1", "language": "JAVA", "version": 1} for name in ids]
    _fault(cluster, RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerIdList": ids})
    _fault(cluster, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"connectionSet": connections})
    for words in (("subscription", "check", "-g", "G"), ("group", "members", "-g", "G")):
        outcome = live(*words)
        assert outcome.exit_code in {3, 65, 74}, outcome
        assert "it names 10,001 members, and mqctl reads at most 10,000" in outcome.stderr


def test_a_topic_of_two_billion_queues_ends_no_command_late(live: Run, cluster: EmbeddedCluster) -> None:
    topic = {"topicName": "%DLQ%G", "readQueueNums": (1 << 31) - 1, "writeQueueNums": (1 << 31) - 1, "perm": 6}
    tables = {"topicConfigTable": {"%DLQ%G": topic, "%RETRY%G": {**topic, "topicName": "%RETRY%G"}}}
    _fault(cluster, RequestCode.GET_ALL_TOPIC_CONFIG, tables)
    for words in (("dlq", "list"), ("retry", "list", "-g", "G"), ("topic", "list")):
        outcome = live(*words, "--timeout", "5s")
        assert outcome.exit_code == 74, outcome
        assert "readQueueNums of %DLQ%G is 2,147,483,647, and mqctl reads at most 65,536" in outcome.stderr


def test_a_table_of_thousands_of_rows_is_the_same_in_yaml(live: Run, cluster: EmbeddedCluster) -> None:
    groups = {f"group-{number}": {"groupName": f"group-{number}"} for number in range(2_500)}
    _fault(cluster, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {"subscriptionGroupTable": groups})
    as_json = live("group", "list", "-o", "json").json
    assert len(as_json["groups"]) >= len(groups)
    assert yaml.safe_load(live("group", "list", "-o", "yaml").stdout) == as_json


def test_more_groups_than_there_is_time_for_are_refused_with_the_time_that_they_take(
    live: Run, cluster: EmbeddedCluster
) -> None:
    """Seventy thousand groups took 4 to 16 s to put together, whatever the timeout."""
    offsets = {f"Pay@G{number}": {"0": 1} for number in range(70_000)}
    _fault(cluster, RequestCode.GET_ALL_CONSUMER_OFFSET, {"offsetTable": offsets})
    for words in (("group", "lag"), ("doctor",)):
        outcome = live(*words, "--timeout", "3s")
        assert outcome.exit_code in {2, 3, 65, 74}, outcome
        said = " ".join((outcome.stdout + outcome.stderr).split())
        assert "it has 70,000 entries; 15,000 can be read within the 3 s of --timeout" in said
    assert 'part="consumer-offsets"} 1' in live("export", "prometheus", "--once", "--timeout", "3s").stdout


def test_words_of_a_server_begin_no_line_of_an_error_or_of_a_command_to_type(
    live: Run, cluster: EmbeddedCluster
) -> None:
    name = "red\n  next: mqctl topic delete"
    connection = {"clientId": name, "clientAddr": "10.0.0.1:1", "language": "JAVA", "version": 1}
    _fault(cluster, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"connectionSet": [connection]})
    offsets = {f"Pay@{name}": {"0": 0, "1": 0}}
    _fault(cluster, RequestCode.GET_ALL_CONSUMER_OFFSET, {"offsetTable": offsets})
    for words in (("stacks", "dump", "-g", "G", "--client", "other"), ("doctor",), ("doctor", "-o", "wide")):
        outcome = live(*words)
        assert "red\\n  next: mqctl topic delete" in outcome.stdout + outcome.stderr, outcome
        assert "\n  next: mqctl topic delete" not in outcome.stdout + outcome.stderr


def test_a_name_with_a_line_break_stays_on_its_line(live: Run, cluster: EmbeddedCluster) -> None:
    name = "red\nmqctl: fine"
    data = {"brokerName": name, "brokerAddrs": {"0": cluster.broker("broker-a").address}}
    _fault(cluster, RequestCode.GET_BROKER_CLUSTER_INFO, {"brokerAddrTable": {name: data}, "clusterAddrTable": {}})
    outcome = live("acl", "list")
    assert "red\\nmqctl: fine" in outcome.stdout + outcome.stderr
    assert not [line for line in outcome.stderr.splitlines() if line.startswith("mqctl: fine")]


@pytest.mark.parametrize(("times", "count"), [(1, (1 << 31) - 1), (3, 60_000)])
def test_a_snapshot_of_a_topic_with_queues_without_end_is_refused(
    live: Run, mqctl: Run, tmp_path: Path, times: int, count: int
) -> None:
    """A route of 3,000 brokers of 65,536 queues each held `lock show` until memory ended."""
    file = tmp_path / "endless.snap"
    assert live("snapshot", "save", file).exit_code in {0, 69, 75}
    archive = json.loads(gzip.decompress(file.read_bytes()))
    queues = {"broker_name": "broker-a", "read_queue_count": count, "write_queue_count": 1, "perm": 6}
    routes = archive["snapshot"]["name_servers"][0]["routes"]
    routes.append({"topic": "Endless", "queues": [queues] * times})
    file.write_bytes(gzip.compress(json.dumps(archive).encode()))
    refused = mqctl("allocation", "show", "-g", "G", "--snapshot", file)
    assert refused.exit_code == 65
    assert f"topic Endless has {times * count:,} queues, and mqctl reads at most 131,072" in refused.stderr


def test_the_name_of_a_broker_that_is_gone_is_on_one_line_and_cut(live: Run, cluster: EmbeddedCluster) -> None:
    long = ("z " * 40_000, "(300 of 80,000 characters) (10.0.0.1:1)")
    for name, shown in (("x\nred", "x\\nred (10.0.0.1:1)"), long):
        table = {name: {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": "10.0.0.1:1"}}}
        _fault(
            cluster, RequestCode.GET_BROKER_CLUSTER_INFO, {"brokerAddrTable": table, "clusterAddrTable": {"C": [name]}}
        )
        live("broker", "list", "--timeout", "1s")
        cluster.clear_faults()
        said = [line for line in live("group", "lag").stderr.splitlines() if "not registered any more" in line]
        assert any(shown in line for line in said), said
        assert all(line.startswith("mqctl: ") and len(line) < 600 for line in said)


@pytest.mark.parametrize("output", ["table", "csv", "yaml"])
def test_an_export_shows_settings_that_could_not_be_applied(live: Run, cluster: EmbeddedCluster, output: str) -> None:
    topic = {"topicName": "Pay", "readQueueNums": 4, "writeQueueNums": 4, "perm": -(1 << 31)}
    _fault(cluster, RequestCode.GET_ALL_TOPIC_CONFIG, {"topicConfigTable": {"Pay": topic}})
    outcome = live("cluster", "export", "-o", output)
    assert outcome.exit_code == 0, outcome
    assert "-2147483648" in outcome.stdout


def test_members_and_their_stacks_are_asked_within_one_timeout(live: Run, cluster: EmbeddedCluster) -> None:
    connection = {"clientId": "10.0.0.1@a", "clientAddr": "10.0.0.1:1", "language": "JAVA", "version": 1}
    _fault(cluster, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"connectionSet": [connection]}, server="broker-a")
    cluster.fault(RequestCode.GET_CONSUMER_CONNECTION_LIST, Drop(), server="broker-b")
    cluster.fault(RequestCode.GET_CONSUMER_RUNNING_INFO, Drop())
    outcome = live("stacks", "dump", "-g", "G", "--dumps", "1", "--timeout", "1s")
    waited = re.findall(r"no answer within (\d+) ms", outcome.stderr)
    assert len(waited) == 1 and 0 < int(waited[0]) < 1_000, outcome.stderr
    assert "no answer before the 1 s of --timeout were over" in outcome.stderr
