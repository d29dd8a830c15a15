"""`mqctl message send` to a topic that is not there, on brokers that create topics by themselves."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from tests.live.changing import changes
from tests.live.conftest import Run

_SENDS = {10, 310, 320}


def topics(live: Run) -> set[str]:
    return {row["topic"] for row in live("topic", "list", "--all", "-o", "json").json["topics"]}


def test_a_misspelt_topic_is_named_and_not_created(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    refused = live("message", "send", "-t", "Pya", "--body", "x")
    assert changes(cluster) == []
    assert _SENDS.isdisjoint(item.code for item in cluster.requests())
    cluster.record_requests(on=False)
    assert refused.exit_code == 66, refused.stderr
    assert "there is no topic Pya: nothing was sent" in refused.stderr
    assert "did you mean Pay? --create lets" in refused.stderr
    assert "Pya" not in topics(live)


def test_create_lets_the_brokers_create_it(live: Run) -> None:
    sent = live("message", "send", "-t", "Fresh", "--create", "--body", "x", "-o", "json")
    assert (sent.exit_code, sent.json["status"]) == (0, "SEND_OK"), sent.stderr
    assert "Fresh" in topics(live)
    assert live("message", "send", "-t", "Fresh", "--body", "y").exit_code == 0
