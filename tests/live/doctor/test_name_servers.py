"""Two name servers of which one knows less than the other, as after a restart or with a forgotten address."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from tests.live.conftest import Run


def test_a_name_server_that_knows_nobody_is_no_all_clear_and_one_finding(mqctl: Run) -> None:
    with EmbeddedCluster(brokers=2) as cluster, EmbeddedCluster(brokers=["away"]) as other:
        other.broker("away").stop()
        empty = other.namesrv
        both = f"{cluster.namesrv};{empty}"
        assert mqctl("doctor", "--namesrv", cluster.namesrv).exit_code == 0
        outcome = mqctl("doctor", "--namesrv", both, "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["code"], finding["confidence"]) == (1, "MQ635", "low")
    assert f"{empty} does not list 2 of 2 brokers that others list: broker-a, broker-b" in finding["what"]
