"""`message trace`: sends and consumptions as clients traced them, and groups judged by their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from docs.schemas import LIVE
from embedded_broker import CloseConnection, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage, SendResult
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.trace import Tracer
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.member import MessageModel
from tests.client.consuming import Heard, create_topic, quick, quick_client, send, wait_for_topic, wait_until
from tests.conftest import Outcome
from tests.live.conftest import Run, change


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def shared_single(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, settings={"traceTopicEnable": "true"}) as running:
        yield running


@pytest.fixture
def single(shared_single: EmbeddedCluster) -> EmbeddedCluster:
    """One broker with a trace topic and topic T of one queue."""
    shared_single.reset()
    create_topic(shared_single, "T", queues=1)
    return shared_single


@pytest.fixture
def asked(mqctl: Run, single: EmbeddedCluster) -> Run:
    return lambda *words: mqctl("message", "trace", *words, env={"MQCTL_NAMESRV": single.namesrv})


def traced_send(cluster: EmbeddedCluster) -> SendResult:
    client = quick_client(cluster)
    with Tracer("PG", client) as tracer, Producer("PG", client, after_send=tracer.sent) as producer:
        return producer.send(OutgoingMessage(topic="T", body=b"hello", tags="A", keys=["order-1"]))


def report(asked: Run, *words: str) -> Any:
    """Asks until the index has the message, as brokers build it a moment later."""
    outcomes: list[Outcome] = []
    wait_until(lambda: outcomes.append(asked(*words, "-o", "json")) or outcomes[-1].exit_code == 0, "indexed")  # type: ignore[func-returns-value]
    document = outcomes[-1].json
    assert document.pop("schema") == "message.trace/1"
    msgspec.convert(document, LIVE["message.trace/1"], strict=True)
    return document


def test_who_sent_and_who_consumed(single: EmbeddedCluster, asked: Run) -> None:
    sent = traced_send(single)
    client = quick_client(single, instance_name="one")
    heard = Heard()
    with Tracer("G", client, flush_period_ms=20) as tracer:
        consumer = PushConsumer("G", client, heard, quick(), after_consume=tracer.consumed)
        consumer.subscribe("T", "A")
        with consumer:
            heard.wait_for(1)
            wait_until(lambda: bool(report(asked, sent.message_id)["consumptions"]), "traced")
            wait_until(lambda: report(asked, sent.message_id)["tracks"][0]["state"] == "consumed", "committed")
            traced = report(asked, sent.message_id)
    assert (traced["unique_id"], traced["message"]["body"], traced["traced"]) == (sent.message_id, "hello", True)
    (publication,) = traced["sends"]
    assert (publication["kind"], publication["group"], publication["succeeded"]) == ("Pub", "PG", True)
    assert publication["client_host"] == "127.0.0.1"
    (call,) = traced["consumptions"]
    assert (call["group"], call["outcome"], call["retries"], call["succeeded"]) == ("G", "success", 0, True)
    assert call["ended_ms"] >= call["began_ms"]
    (track,) = traced["tracks"]
    assert (track["group"], track["online"], track["consumer_offset"], track["track_type"]) == (
        "G",
        True,
        1,
        "CONSUMED",
    )
    by_offset_id = report(asked, sent.offset_id)
    assert (by_offset_id["sends"], by_offset_id["unique_id"]) == (traced["sends"], sent.message_id)
    text = asked(sent.message_id).stdout
    assert ("PG" in text, "success" in text, "passed" in text) == (True, True, True)


def test_a_key_stands_for_the_only_message_that_has_it(single: EmbeddedCluster, asked: Run) -> None:
    sent = traced_send(single)
    assert report(asked, "order-1", "-t", "T")["unique_id"] == sent.message_id
    assert (asked("no-such-key", "-t", "T").exit_code, asked("order-1").exit_code) == (66, 64)
    again = traced_send(single)
    wait_until(lambda: asked("order-1", "-t", "T").exit_code == 64, "indexed")
    refused = asked("order-1", "-t", "T").stderr
    assert f"2 messages of T have the key order-1: {sent.message_id}, {again.message_id}" in refused


def test_groups_by_their_offsets(single: EmbeddedCluster, asked: Run) -> None:
    (sent,) = send(single, [OutgoingMessage(topic="T", body=b"x", tags="A")])
    for group, offset in (("past", 1), ("before", 0)):
        change(single, "broker-a", put_group(SubscriptionGroupConfig(name=group)))
        change(single, "broker-a", commit_offset(group, "T", 0, offset))
    other = PushConsumer("wants-b", quick_client(single, instance_name="b"), Heard(), quick())
    other.subscribe("T", "B")
    everyone = quick(message_model=MessageModel.BROADCASTING)
    caster = PushConsumer("caster", quick_client(single, instance_name="c"), Heard(), everyone)
    caster.subscribe("T")
    with other, caster:

        def tracks() -> dict[str, tuple[str, str]]:
            rows = report(asked, sent.message_id, "-t", "T")["tracks"]
            return {row["group"]: (row["state"], row["track_type"]) for row in rows}

        wait_until(lambda: tracks().get("wants-b", ("", ""))[0] == "filtered", "the filtered message is passed")
        assert tracks() == {
            "past": ("passed", "NOT_ONLINE"),
            "before": ("not-yet", "NOT_ONLINE"),
            "wants-b": ("filtered", "CONSUMED_BUT_FILTERED"),
            "caster": ("broadcasting", "CONSUME_BROADCASTING"),
        }


@pytest.mark.parametrize(("owner", "other", "state"), [("A", "A || B", "filtered"), ("A || B", "A", "passed")])
def test_what_the_owner_of_the_queue_does_not_want_was_not_consumed(
    single: EmbeddedCluster, asked: Run, owner: str, other: str, state: str
) -> None:
    """Members that differ: a broker filters by who spoke last, and the message is gone where its owner wants less."""
    (sent,) = send(single, [OutgoingMessage(topic="T", body=b"x", tags="B")])
    once = quick_client(single, instance_name="a", heartbeat_period_ms=60_000)  # or it would now and then speak last
    first = PushConsumer("G", once, Heard(), quick())
    first.subscribe("T", owner)
    with first:
        wait_for_topic(first, "T")
        second = PushConsumer("G", quick_client(single, instance_name="b"), Heard(), quick())
        second.subscribe("T", other)
        with second:
            change(single, "broker-a", commit_offset("G", "T", 0, 1))

            def track() -> tuple[str, str]:
                (row,) = report(asked, sent.message_id, "-t", "T")["tracks"]
                return row["owner"] or "", row["state"]

            def second_speaks_last() -> bool:
                second.subscribe("T", other)  # a member whose queues changed subscribes anew: here the first, late
                return track() == ("127.0.0.1@a", state)

            wait_until(second_speaks_last, "the second member spoke last", every_s=0.1)


@pytest.mark.parametrize("others", [0, 5, 65])
def test_a_message_whose_topic_no_trace_names_is_looked_up_in_all(
    single: EmbeddedCluster, asked: Run, others: int
) -> None:
    """Consumers of 4.9 trace without a topic; `message send` does not trace at all. "Gone" needs a look."""
    create_topic(single, "Y", queues=1)
    (sent,) = send(single, [OutgoingMessage(topic="T", body=b"hello")])
    client = quick_client(single, instance_name="one")
    heard = Heard()
    with Tracer("G", client, flush_period_ms=20) as tracer:
        consumer = PushConsumer("G", client, heard, quick(), after_consume=tracer.consumed)
        consumer.subscribe("T")
        with consumer:
            heard.wait_for(1)
            wait_until(lambda: bool(report(asked, sent.message_id, "-t", "T")["consumptions"]), "traced")
    for number in range(others):
        create_topic(single, f"other-{number}", queues=1)
    outcome = asked(sent.message_id, "-o", "json")
    assert (outcome.json["searched_topic_count"] > others) is (others < 64)
    if others < 64:
        assert (outcome.exit_code, outcome.json["message"]["body"]) == (0, "hello")
    else:
        said = asked(sent.message_id)
        assert (said.exit_code, outcome.json["message"]) == (69, None)
        assert "the message was not looked for" in said.stdout and "not there any more" not in said.stdout
        assert "add -t TOPIC" in said.stderr


def test_nobody_traced_it(single: EmbeddedCluster, asked: Run) -> None:
    (sent,) = send(single, [OutgoingMessage(topic="T", body=b"x")])
    traced = report(asked, sent.message_id, "-t", "T")
    assert (traced["traced"], traced["sends"], traced["consumptions"]) == (True, [], [])
    assert "clients must switch tracing on" in asked(sent.message_id, "-t", "T").stdout
    elsewhere = asked(sent.message_id, "-t", "T", "--trace-topic", "nowhere")
    assert (elsewhere.exit_code, "there is no trace topic" in elsewhere.stdout) == (0, True)


def test_a_message_that_could_not_be_looked_up_is_not_said_to_be_gone(single: EmbeddedCluster, asked: Run) -> None:
    sent = traced_send(single)
    single.fault(12, CloseConnection())
    outcome = asked(sent.message_id, "-t", "T")
    assert outcome.exit_code == 69
    assert "not every broker could be asked" in outcome.stdout
    assert "not there any more" not in outcome.stdout
    assert "no group" not in outcome.stdout


def test_what_cannot_be_asked_is_named(single: EmbeddedCluster, asked: Run) -> None:
    (sent,) = send(single, [OutgoingMessage(topic="T", body=b"x")])
    single.fault(43, Drop())
    outcome = asked(sent.message_id, "-t", "T", "--timeout", "3s", "-o", "json")
    single.clear_faults()
    assert (outcome.exit_code, outcome.json["tracks"], outcome.json["message"]["body"]) == (75, [], "x")
    assert "consumer-offsets not read" in outcome.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("garbage",), 64, "message get KEY -t TOPIC"),
        (("00" * 16,), 66, "it may have expired"),
        (("00" * 16, "-t", "T"), 66, "it may have expired"),
        (("00" * 16, "-t", "nope"), 66, "nope"),
    ],
)
def test_what_is_not_there(asked: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = asked(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr
