"""`stacks find` on real processes: consumers of our client, joined with what the cluster says of its clients."""

from __future__ import annotations

import os

from embedded_broker import EmbeddedCluster
from tests.live.conftest import Consume, Run


def test_a_consumer_is_found_with_its_group_and_client_id(
    live: Run, consume: Consume, cluster: EmbeddedCluster
) -> None:
    sleeping = consume("sleep")
    burning = consume("burn", name="two", group="H")
    rows = {row["pid"]: row for row in live("stacks", "find", "-o", "json").json["processes"]}
    assert os.getpid() not in rows  # the brokers of this test are connected to name servers, and consume nothing
    one, two = rows[sleeping.pid], rows[burning.pid]
    columns = ("runtime", "group", "client_id", "known_by", "obstacle")
    assert [one[name] for name in columns] == ["python", "G", "127.0.0.1@one", "connection", None]
    assert (two["group"], two["client_id"]) == ("H", "127.0.0.1@two")
    assert two["cpu_share"] > one["cpu_share"]
    assert one["rss_bytes"] > 10 << 20
    assert one["thread_count"] > 2
    assert set(one["connected_to"]) <= {
        *cluster.namesrv.split(";"),
        *(cluster.broker(name).address for name in cluster.brokers),
    }
    only = live("stacks", "find", "-g", "H", "-o", "json").json["processes"]
    # Other tests run beside this one, with groups of the same name.
    assert {row["group"] for row in only} == {"H"}
    assert burning.pid in {row["pid"] for row in only}


def test_without_a_cluster_command_lines_speak(mqctl: Run, consume: Consume, live: Run) -> None:
    process = consume("content")
    outcome = mqctl("stacks", "find", "-o", "json")
    assert (outcome.exit_code, "no cluster selected" in outcome.stderr) == (0, True)
    assert process.pid not in {row["pid"] for row in outcome.json["processes"] if row["group"]}
    silent = live("stacks", "find", "--namesrv", "127.0.0.1:1", "--timeout", "2s", "-o", "json")
    assert (silent.exit_code, "members not read" in silent.stderr) == (69, True)
