"""A look at one group asks what that group needs: how many others there are does not count."""

from __future__ import annotations

from collections import Counter

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_broker_settings, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.codes import RequestCode
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.live.members import member

_OTHERS = 30
_BROKERS = ("broker-a", "broker-b")
# Two brokers, two name servers; group G with its topic, its retry topic and its dead letters.
_MOST = 70
_OF_BROKERS = {RequestCode.REGISTER_BROKER, RequestCode.BROKER_HEARTBEAT}
"""What brokers say by themselves, at their own times."""


def crowd(cluster: EmbeddedCluster) -> None:
    """Adds topics with messages, each with a group that is behind."""
    for name in _BROKERS:
        with Peer(cluster.broker(name).address) as peer:
            for number in range(_OTHERS):
                topic, group = f"Other{number}", f"others-{number}"
                change(cluster, name, put_topic(TopicConfig(name=topic, read_queue_count=1, write_queue_count=1)))
                change(cluster, name, put_group(SubscriptionGroupConfig(name=group)))
                assert peer.call(send(topic, queue_id=0, properties={"TAGS": "A"}), b"x").code == 0
                change(cluster, name, commit_offset(group, topic, 0, 0))


def asked_for(live: Run, cluster: EmbeddedCluster, *words: str) -> tuple[Counter[int], set[str]]:
    """Returns how many requests of each code a diagnosis puts, and the topics and groups that they name."""
    cluster.record_requests()
    outcome = live("doctor", *words, "-o", "json")
    requests = [item for item in cluster.requests() if item.code not in _OF_BROKERS]
    cluster.record_requests(on=False)
    assert not [item for item in outcome.json["not_judged"] if item["causes"]]  # nothing was asked in vain
    fields = (item.ext_fields or {} for item in requests)
    names = {field[key] for field in fields for key in ("topic", "group", "consumerGroup") if key in field}
    return Counter(item.code for item in requests), names


def test_other_groups_and_topics_cost_a_look_at_one_group_nothing(live: Run, cluster: EmbeddedCluster) -> None:
    for name in _BROKERS:  # who subscribes is asked topic by topic where brokers create no groups
        change(cluster, name, put_broker_settings({"autoCreateSubscriptionGroup": "false"}))
    alone, _ = asked_for(live, cluster, "-g", "G")
    crowd(cluster)
    among_others, names = asked_for(live, cluster, "-g", "G")
    assert among_others == alone
    assert among_others.total() <= _MOST, among_others
    assert not [name for name in names if name.lower().startswith("other")]
    everything, names = asked_for(live, cluster)
    assert everything.total() > among_others.total() + _OTHERS * len(_BROKERS) * 3
    assert {"Other0", "others-0"} <= names


def test_a_topic_that_a_member_subscribes_to_and_has_no_offset_on_is_looked_at(
    live: Run, cluster: EmbeddedCluster
) -> None:
    for name in _BROKERS:
        change(cluster, name, put_topic(TopicConfig(name="Fresh", read_queue_count=1, write_queue_count=1)))
    with member(cluster, topic="Fresh"):
        _, names = asked_for(live, cluster, "-g", "G")
    assert {"Pay", "Fresh"} <= names
