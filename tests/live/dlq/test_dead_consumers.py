"""What real consumers give up, in both modes, comes back to them once it is resent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from tests.live.conftest import Run

_SECONDS = 60
LETTERS = Counter({f"k{number}": 2 for number in range(5)})
"""Group D has consumed nothing: it gives up all five messages of each broker."""


def consumer(
    cluster: EmbeddedCluster, mode: ConsumeMode, answer: Callable[[ReceivedMessage], Consumed]
) -> PushConsumer:
    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        return answer(messages[0])

    settings = ConsumerSettings(
        consume_from=ConsumeFrom.FIRST_OFFSET,
        threads=2,
        max_reconsume_times=0,
        rebalance_period_ms=300,
        suspend_queue_ms=10,
        failure_delay_ms=50,
    )
    client = ClientSettings(
        name_servers=cluster.namesrv,
        instance_name=f"member-{mode.name}",
        persist_period_ms=100,
        route_period_ms=300,
        heartbeat_period_ms=300,
    )
    member = PushConsumer("D", client, listener, settings, mode=mode)
    member.subscribe("Pay", "*")
    return member


@pytest.mark.parametrize("mode", [ConsumeMode.CONCURRENT, ConsumeMode.ORDERLY], ids=["concurrent", "orderly"])
def test_what_is_given_up_comes_back_once(live: Run, cluster: EmbeddedCluster, mode: ConsumeMode) -> None:
    def letters() -> Counter[str]:
        outcome = live("dlq", "list", "-g", "D", "-o", "json")
        return Counter(item["keys"] for item in outcome.json["letters"]) if outcome.exit_code == 0 else Counter()

    failure = Consumed.RECONSUME_LATER if mode is ConsumeMode.CONCURRENT else Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT
    end = monotonic() + _SECONDS
    with consumer(cluster, mode, lambda _: failure):
        while letters() != LETTERS:
            assert monotonic() < end, letters()
    got: Counter[str] = Counter()

    def note(message: ReceivedMessage) -> Consumed:
        got[message.keys[0]] += 1
        return Consumed.SUCCESS

    with consumer(cluster, mode, note):
        words = ("dlq", "resend", "-g", "D", "--execute", "--confirm", "D", "-o", "json")
        done = live(*words)
        assert (done.exit_code, done.json["sent_count"]) == (0, 10), done.stderr
        assert live(*words).json["send_count"] == 0
        while sum(got.values()) < 10:
            assert monotonic() < end, got
        lag = ("group", "lag", "-g", "D", "-t", "Pay", "-o", "json")
        while any(row["lag_count"] for row in live(*lag).json["queues"]):
            assert monotonic() < end
    assert got == LETTERS
    assert letters() == LETTERS
