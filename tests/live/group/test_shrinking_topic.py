"""Topics on their way to fewer queues: what can still be read counts, and what cannot is counted nowhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, delete_topic, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change

QUEUES, SENT, CONSUMED = 4, 3, 1


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def shared_shrinking(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param) as running:
        yield running


@pytest.fixture
def shrinking(shared_shrinking: EmbeddedCluster) -> EmbeddedCluster:
    """Topic Pay of four queues with three messages each, of which group G consumed one."""
    shared_shrinking.reset()
    change(shared_shrinking, "broker-a", put_group(SubscriptionGroupConfig(name="G")))
    change(shared_shrinking, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=4, write_queue_count=4)))
    with Peer(shared_shrinking.broker().address) as peer:
        for number in range(QUEUES):
            for _ in range(SENT):
                assert peer.call(send("Pay", queue_id=number), b"x").code == 0
            change(shared_shrinking, "broker-a", commit_offset("G", "Pay", number, CONSUMED))
    return shared_shrinking


@pytest.mark.both_releases
@pytest.mark.parametrize(("write", "read"), [(4, 4), (2, 4), (1, 3), (0, 4), (0, 1), (2, 2), (4, 2)])
def test_queues_that_are_only_read_any_more_are_no_removed_ones(
    mqctl: Run, shrinking: EmbeddedCluster, write: int, read: int
) -> None:
    """Who shrinks a topic rightly lowers the write queues first, and brokers of 4.9 list the bounds of those (202)."""
    change(shrinking, "broker-a", put_topic(TopicConfig(name="Pay", read_queue_count=read, write_queue_count=write)))
    lag = mqctl("group", "lag", "-g", "G", "-o", "json", env={"MQCTL_NAMESRV": shrinking.namesrv}).json
    there = max(write, read)
    (total,) = lag["groups"]
    assert [row["state"] for row in lag["queues"]] == [*["behind"] * there, *["removed"] * (QUEUES - there)]
    assert (total["queue_count"], total["lag_count"]) == (there, there * (SENT - CONSUMED))
    diagnosis = mqctl("doctor", "-g", "G", "--only", "MQ404", "-o", "json", env={"MQCTL_NAMESRV": shrinking.namesrv})
    assert diagnosis.json["findings"] == [], "nothing lies beyond the end of a queue"


@pytest.mark.both_releases
def test_offsets_that_a_deleted_topic_leaves_are_no_lag(mqctl: Run, shrinking: EmbeddedCluster) -> None:
    """Brokers of 4.9 keep them, those of 5.3 drop them with the topic."""
    change(shrinking, "broker-a", delete_topic("Pay"))
    env = {"MQCTL_NAMESRV": shrinking.namesrv}
    outcome = mqctl("group", "lag", "-g", "G", "-o", "json", env=env)
    if shrinking.broker().on_loop(lambda broker: broker.release.is_v5):
        assert outcome.exit_code == 66
        return
    assert (outcome.exit_code, outcome.json["groups"]) == (0, [])
    assert [row["state"] for row in outcome.json["queues"]] == ["removed"] * QUEUES
    shown = mqctl("group", "lag", "-g", "G", env=env).stdout
    assert f"offsets remain in {QUEUES} removed queues" in shown and "never committed" not in shown
