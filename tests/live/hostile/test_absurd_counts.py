"""Numbers and counts that no cluster has are refused by name where they enter; long tables come whole in every form."""

from __future__ import annotations

import json

import yaml

from embedded_broker import Answer, EmbeddedCluster
from mqctl.protocol.bodies_cluster import MOST_BROKERS
from mqctl.protocol.codes import RequestCode
from tests.live.conftest import Run


def _fault(cluster: EmbeddedCluster, code: RequestCode, body: object) -> None:
    cluster.fault(code, Answer(0, body=json.dumps(body).encode()))


def test_a_cluster_of_more_brokers_than_anybody_runs_is_refused(live: Run, cluster: EmbeddedCluster) -> None:
    names = [f"b{number}" for number in range(MOST_BROKERS + 1)]
    brokers = {name: {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": "127.0.0.1:9"}} for name in names}
    _fault(cluster, RequestCode.GET_BROKER_CLUSTER_INFO, {"brokerAddrTable": brokers, "clusterAddrTable": {"C": names}})
    refused = live("broker", "list")
    assert refused.exit_code == 65
    assert "it names 2,001 brokers, at most 2,000 are read" in refused.stderr


def test_a_queue_id_beyond_32_bits_is_a_gap_and_no_wrong_usage(live: Run, cluster: EmbeddedCluster) -> None:
    key = '{"brokerName":"broker-a","queueId":253402300800000,"topic":"Pay"}'
    offset = {"lastUpdateTimestamp": 0, "maxOffset": 5, "minOffset": 0}
    _fault(cluster, RequestCode.GET_TOPIC_STATS_INFO, {"offsetTable": {key: offset}})
    outcome = live("topic", "stats", "-t", "Pay")
    assert outcome.exit_code == 74
    assert "the id of a queue, of 32 bits, is expected, not '253402300800000'" in outcome.stderr


def test_a_table_of_thousands_of_rows_is_the_same_in_yaml(live: Run, cluster: EmbeddedCluster) -> None:
    groups = {f"group-{number}": {"groupName": f"group-{number}"} for number in range(2_500)}
    _fault(cluster, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {"subscriptionGroupTable": groups})
    as_json = live("group", "list", "-o", "json").json
    assert len(as_json["groups"]) >= len(groups)
    assert yaml.safe_load(live("group", "list", "-o", "yaml").stdout) == as_json
