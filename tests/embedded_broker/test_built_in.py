"""A fresh broker has the topics and groups that a fresh real one has; the recorded stores say which."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster

_RUN_TIME = {
    "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "StaticTopic",
    "AutoTopic1",
}
"""Topics that the recorded brokers made when they were used, or when their settings asked for it."""


@pytest.mark.parametrize(("version", "store"), [("4.9.8", "store-clean"), ("5.3.3", "store-5.3.3")])
def test_built_in_topics_and_groups(golden_store: Callable[[str], Path], version: str, store: str) -> None:
    config = golden_store(store) / "config"
    topics = json.loads((config / "topics.json").read_text())["topicConfigTable"]
    real = {
        name: (item["readQueueNums"], item["writeQueueNums"], item["perm"])
        for name, item in topics.items()
        if not name.startswith(("Topic", "%"))
    }
    groups = json.loads((config / "subscriptionGroup.json").read_text())["subscriptionGroupTable"]
    with EmbeddedCluster(version=version) as cluster:
        ours = cluster.broker().on_loop(lambda broker: dict(broker.topics.configs))
        our_groups = cluster.broker().on_loop(lambda broker: set(broker.groups.configs))
    table = {name: (item.read_queue_count, item.write_queue_count, item.perm) for name, item in ours.items()}
    assert {name: table[name] for name in real if name in table} == {name: real[name] for name in real if name in table}
    assert set(real) - set(table) <= _RUN_TIME
    assert set(table) - set(real) == set()
    assert our_groups <= set(groups)
