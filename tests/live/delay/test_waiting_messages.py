"""Messages that wait for their time are found by key and id where they will be, with the moment they are due."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from tests.client.consuming import create_topic, quick_client
from tests.live.conftest import Run

_LEVEL, _DELAY_MS = 9, 300_000


@pytest.fixture(params=["4.9.8", "5.3.3"])
def still(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A cluster whose time stands still."""
    settings = {"messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m", "timerWheelEnable": "true"}
    with EmbeddedCluster(virtual_time=True, version=request.param, settings=settings) as cluster:
        create_topic(cluster, "Pay")
        yield cluster


def put(cluster: EmbeddedCluster, key: str, **more: object) -> str:
    """Sends a message and returns its unique id."""
    with Producer("shop", quick_client(cluster)) as shop:
        return shop.send(OutgoingMessage(topic="Pay", body=b"x", keys=key, **more)).message_id  # type: ignore[arg-type]


def test_a_message_of_a_delay_level_says_when_it_is_due_until_delivered(mqctl: Run, still: EmbeddedCluster) -> None:
    where = ("-t", "Pay", "-n", still.namesrv)
    put(still, "K", delay_level=1)
    still.advance(1_100)
    unique = put(still, "K", delay_level=_LEVEL)
    due_ms = still.now_ms() + _DELAY_MS
    for words in (("find", "K"), ("get", unique)):
        messages = mqctl("message", *words, *where, "-o", "json").json["messages"]
        assert messages[-1]["waiting"] == {"topic": "Pay", "level": _LEVEL, "due_time_ms": due_ms}
    delivered, waiting = mqctl("message", "get", "K", *where, "-o", "json").json["messages"]
    assert (delivered["topic"], delivered["waiting"]) == ("Pay", None)
    assert f"Pay: waiting on level {_LEVEL}, due " in mqctl("message", "get", "K", *where).stdout
    by_place = mqctl("message", "get", waiting["message_id"], "-n", still.namesrv, "-o", "json").json["messages"]
    assert by_place[0]["waiting"]["due_time_ms"] == due_ms
    traced = mqctl("message", "trace", unique, *where)
    assert "it is not delivered yet: no group can have consumed it" in traced.stdout
    still.advance(_DELAY_MS + 2_000)
    for words in (("find", "K"), ("get", unique), ("get", waiting["message_id"])):
        messages = mqctl("message", *words, *where, "-o", "json").json["messages"]
        assert [item["waiting"] for item in messages] == [None] * len(messages)


@pytest.mark.parametrize("still", ["5.3.3"], indirect=True)
def test_a_message_of_a_timer_says_when_it_is_due(mqctl: Run, still: EmbeddedCluster) -> None:
    due_ms = (still.now_ms() // 1_000 + 100) * 1_000
    put(still, "K", properties={"TIMER_DELIVER_MS": str(due_ms)})
    (message,) = mqctl("message", "get", "K", "-t", "Pay", "-n", still.namesrv, "-o", "json").json["messages"]
    assert (message["waiting"]["topic"], message["waiting"]["level"]) == ("Pay", None)
    assert 0 <= due_ms - message["waiting"]["due_time_ms"] <= 1_000
    assert "Pay: waiting in the timer, due " in mqctl("message", "get", "K", "-t", "Pay", "-n", still.namesrv).stdout


def test_of_a_broker_that_does_not_tell_nothing_is_claimed(mqctl: Run, still: EmbeddedCluster) -> None:
    put(still, "K", delay_level=_LEVEL)
    still.fault(26, Drop())
    outcome = mqctl("message", "get", "K", "-t", "Pay", "-n", still.namesrv, "--timeout", "2s", "-o", "json")
    assert outcome.json["messages"][0]["waiting"]["due_time_ms"] is None
    assert outcome.exit_code in {69, 75}
