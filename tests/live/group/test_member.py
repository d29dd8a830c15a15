"""One instance of a group, asked through the command line while it consumes."""

from __future__ import annotations

import msgspec
import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.commands.group.rows import InstanceReport
from tests.client.consuming import Heard, quick, quick_client, wait_for_queues
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run


def test_an_instance_tells_its_queues_rates_and_properties(live: Run, cluster: EmbeddedCluster) -> None:
    consumer = PushConsumer("G", quick_client(cluster), Heard(), quick(threads=3))
    consumer.subscribe("Pay", "A || B")
    with consumer:
        wait_for_queues(consumer, 6)
        client = consumer.client_id
        outcome = live("group", "members", "--client", client, "-g", "G", "-o", "json")
        shown = live("group", "members", "--client", client, "-g", "G")
        missing = live("group", "members", "--client", "nobody@1", "-g", "G")
    assert outcome.exit_code == 0, outcome.stderr
    document = outcome.json
    assert document.pop("schema") == "group.member/1"
    report = msgspec.convert(document, InstanceReport, strict=True)
    held = {(item.broker, item.queue_id) for item in report.queues if item.topic == "Pay"}
    assert held == {(broker, queue) for broker in ("broker-a", "broker-b") for queue in (0, 1)}
    wanted = {item.topic: item.tags for item in report.subscriptions}
    assert (wanted["Pay"], report.thread_count, report.orderly) == (("A", "B"), 3, False)
    assert report.properties["PROP_CONSUMER_START_TIMESTAMP"] == str(report.start_time_ms)
    assert (shown.exit_code, "consume threads 3" in shown.stdout) == (0, True)
    assert (missing.exit_code, client in missing.stderr) == (66, True)


def test_an_instance_of_a_group_with_nobody_online_or_that_nobody_knows(live: Run) -> None:
    outcome = live("group", "members", "--client", "a@1", "-g", "G")
    assert (outcome.exit_code, "no member is online" in outcome.stderr) == (66, True)
    outcome = live("group", "members", "--client", "a@1", "-g", "misspelt")
    assert (outcome.exit_code, "there is no consumer group misspelt" in outcome.stderr) == (66, True)


@pytest.mark.parametrize(("limit", "most", "said"), [("-1", 2_147_483_647, "without a limit"), ("7", 7, "at most: 7")])
def test_orderly_members_tell_that_they_retry_in_place(
    live: Run, cluster: EmbeddedCluster, limit: str, most: int, said: str
) -> None:
    own = {"PROP_CONSUMEORDERLY": "true", "maxReconsumeTimes": limit}
    with Cast(cluster) as cast:
        cast.join(Scripted(client_id="one@1", properties=own))
        words = ("group", "describe", "G")
        assert live(*words, "-o", "json").json["retries_in_place"] == most
        assert said in live(*words).stdout
