"""The gRPC endpoint, by calls made by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.sending import consistent_hash
from mqctl.errors import UsageError
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.requests_admin import CreateTopic
from mqctl.protocol.requests_client import GetConsumerRunningInfo
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.grpc_wire import SERVICE, GrpcWire, messages_of, settings
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

CLIENT = "host@1@0@abc"


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(grpc=True) as cluster:
        yield cluster


@pytest.fixture
def wire(shared: EmbeddedCluster) -> Iterator[GrpcWire]:
    with GrpcWire(shared.grpc) as wire:
        yield wire


def make_topic(cluster: EmbeddedCluster, topic: str, kind: str = "NORMAL", queues: int = 2) -> str:
    request = CreateTopic(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        attributes=f"+message.type={kind}",
    )
    with Peer(cluster.broker().address) as peer:
        assert peer.call(request).code == 0
    return topic


def message(topic: str, body: bytes, number: int = 1, **system: Any) -> pb.Message:
    made = pb.Message(body=body, system_properties=pb.SystemProperties(message_id=f"01007D{number:026X}", **system))
    made.topic.name = topic
    made.system_properties.body_encoding = pb.Encoding.IDENTITY
    made.system_properties.born_timestamp.GetCurrentTime()
    return made


def wanted(topic: str, group: str, *, auto_renew: bool = False) -> pb.ReceiveMessageRequest:
    request = pb.ReceiveMessageRequest(batch_size=8, auto_renew=auto_renew)
    request.group.name, request.message_queue.topic.name = group, topic
    request.message_queue.broker.name = "broker-a"
    request.filter_expression.type, request.filter_expression.expression = pb.FilterType.TAG, "*"
    request.invisible_duration.seconds = 15
    request.long_polling_timeout.seconds = 5
    return request


def waits(cluster: EmbeddedCluster, topic: str, group: str) -> bool:
    """Tells whether a receive waits for messages."""
    return cluster.broker().on_loop(
        lambda broker: broker.pop is not None and broker.pop.polls.count((topic, group, -1)) == 1
    )


def test_remoting_and_grpc_clients_read_each_other(shared: EmbeddedCluster, wire: GrpcWire) -> None:
    topic = make_topic(shared, "Both", queues=1)
    sent = message(topic, b"by grpc", tag="T", keys=["k1", "k2"])
    sent.user_properties["colour"] = "red"
    answer = wire.call("SendMessage", pb.SendMessageRequest(messages=[sent]), CLIENT)
    assert answer.status.code == answer.entries[0].status.code == pb.Code.OK
    with Peer(shared.broker().address) as peer:
        stored_as = {"TAGS": "T", "KEYS": "k3", "shape": "round"}
        assert peer.call(send(topic, properties=stored_as), b"by remoting").code == 0
    wire.telemetry(CLIENT).send(settings("SIMPLE_CONSUMER", topic, group="GBoth"))
    messages = list(messages_of(wire.receive(wanted(topic, "GBoth"), CLIENT)))
    assert [(one.body, dict(one.user_properties), list(one.system_properties.keys)) for one in messages] == [
        (b"by grpc", {"colour": "red"}, ["k1", "k2"]),
        (b"by remoting", {"shape": "round"}, ["k3"]),
    ]
    stored = shared.broker().on_loop(lambda broker: broker.storage.message_at(0))
    assert stored is not None
    assert b"TAGS\x01T\x02" in stored and b"PGROUP\x01Both\x02" in stored and b"colour\x01red\x02" in stored


def test_a_receive_before_the_settings_waits_for_them(shared: EmbeddedCluster, wire: GrpcWire) -> None:
    """The Python client receives right after it has opened its stream, and takes an error as one."""
    topic = make_topic(shared, "Early")
    wire.call("SendMessage", pb.SendMessageRequest(messages=[message(topic, b"x")]), CLIENT)
    call = wire.channel.unary_stream(
        f"{SERVICE}ReceiveMessage", pb.ReceiveMessageRequest.SerializeToString, pb.ReceiveMessageResponse.FromString
    )
    early = call(wanted(topic, "GEarly"), metadata=[("x-mq-client-id", "early")], timeout=20)
    wire.telemetry("early").send(settings("SIMPLE_CONSUMER", topic, group="GEarly"))
    assert [one.body for one in messages_of(list(early))] == [b"x"]


def test_messages_of_a_client_that_hung_up_are_not_taken_for_it(shared: EmbeddedCluster, wire: GrpcWire) -> None:
    topic = make_topic(shared, "HungUp")
    wire.telemetry("gone").send(settings("SIMPLE_CONSUMER", topic, group="GHungUp"))
    call = wire.channel.unary_stream(
        f"{SERVICE}ReceiveMessage", pb.ReceiveMessageRequest.SerializeToString, pb.ReceiveMessageResponse.FromString
    )
    waiting = call(wanted(topic, "GHungUp"), metadata=[("x-mq-client-id", "gone")], timeout=20)
    wait_until(lambda: waits(shared, topic, "GHungUp"), "a receive waits")
    waiting.cancel()
    wire.telemetry("there").send(settings("SIMPLE_CONSUMER", topic, group="GHungUp"))
    wire.call("SendMessage", pb.SendMessageRequest(messages=[message(topic, b"for who is there")]), CLIENT)
    assert [one.body for one in messages_of(wire.receive(wanted(topic, "GHungUp"), "there"))] == [b"for who is there"]


def test_members_of_groups_are_known_to_the_broker_until_they_leave(shared: EmbeddedCluster, wire: GrpcWire) -> None:
    topic = make_topic(shared, "Members")
    stream = wire.telemetry("member")
    stream.send(settings("PUSH_CONSUMER", topic, group="GMembers"))
    assert stream.next().settings.subscription.receive_batch_size == 32

    def members() -> list[str]:
        return shared.broker().on_loop(
            lambda broker: (
                [one.client_id for one in broker.clients.consumers["GMembers"].members.values()]
                if "GMembers" in broker.clients.consumers
                else []
            )
        )

    assert members() == ["member"]
    leave = pb.NotifyClientTerminationRequest()
    leave.group.name = "GMembers"
    assert wire.call("NotifyClientTermination", leave, "member").status.code == pb.Code.OK
    assert members() == []


def test_what_a_client_told_is_seen_by_the_command_line(
    shared: EmbeddedCluster, wire: GrpcWire, mqctl: Callable[..., Outcome]
) -> None:
    topic = make_topic(shared, "Seen")
    stream = wire.telemetry("seen")
    stream.send(settings("PUSH_CONSUMER", topic, group="GSeen", expression="A || B"))
    assert stream.next().HasField("settings")
    (member,) = mqctl("group", "members", "GSeen", "--namesrv", shared.namesrv, "-o", "json").json["members"]
    assert (member["client_id"], member["language"], member["version"]) == ("seen", "PYTHON", "5.1.2 (gRPC)")
    assert member["subscriptions"] == "Seen: A || B"
    assert member["grpc_settings"] == "push_consumer, 17 deliveries, batches of 32"
    assert (member["cached_count"], member["held_since_ms"]) == (0, None)
    sender = wire.telemetry("host@1@0@sends")
    sender.send(settings("PRODUCER", topic))
    assert sender.next().HasField("settings")
    listed = mqctl("producer", "list", "-g", topic, "--namesrv", shared.namesrv, "-o", "json").json["producers"]
    assert [(row["client_id"], row["language"], row["version"]) for row in listed] == [
        ("host@1@0@sends", "PYTHON", "gRPC")
    ]


def test_what_a_push_consumer_works_on_is_counted_for_it(
    shared: EmbeddedCluster, wire: GrpcWire, mqctl: Callable[..., Outcome]
) -> None:
    topic = make_topic(shared, "Worked")
    wire.telemetry("works").send(settings("PUSH_CONSUMER", topic, group="GWorked"))
    for body in (b"one", b"two"):
        wire.call("SendMessage", pb.SendMessageRequest(messages=[message(topic, body)]), CLIENT)
    before_ms = shared.now_ms()
    request = wanted(topic, "GWorked")
    request.auto_renew = True
    given = list(messages_of(wire.receive(request, "works")))

    def shown() -> tuple[int, bool]:
        (member,) = mqctl("group", "members", "GWorked", "--namesrv", shared.namesrv, "-o", "json").json["members"]
        return member["cached_count"], (member["held_since_ms"] or 0) >= before_ms

    assert shown() == (2, True)
    done = pb.AckMessageRequest(
        entries=[
            pb.AckMessageEntry(
                message_id=one.system_properties.message_id, receipt_handle=one.system_properties.receipt_handle
            )
            for one in given
        ]
    )
    done.group.name, done.topic.name = "GWorked", topic
    assert wire.call("AckMessage", done, "works").status.code == pb.Code.OK
    assert shown() == (0, False)


def test_stacks_come_by_telemetry_from_a_client_that_gives_them(shared: EmbeddedCluster, wire: GrpcWire) -> None:
    topic = make_topic(shared, "Stacks")
    stream = wire.telemetry("stacks")
    stream.send(settings("PUSH_CONSUMER", topic, group="GStacks"))
    assert stream.next().HasField("settings")
    with Peer(shared.broker().address) as peer:
        request = GetConsumerRunningInfo(consumer_group="GStacks", client_id="stacks", jstack_enable=True)
        opaque = peer.post(request)
        question = stream.next()
        answer = pb.TelemetryCommand()
        answer.thread_stack_trace.nonce = question.print_thread_stack_trace_command.nonce
        answer.thread_stack_trace.thread_stack_trace = "at shop.Billing.wait(Billing.java:7)"
        stream.send(answer)
        info = ConsumerRunningInfo.from_bytes(peer.answer_to(opaque).body)
    assert (info.jstack, info.properties["grpcClientVersion"]) == ("at shop.Billing.wait(Billing.java:7)", "5.1.2")


def test_the_endpoint_goes_and_comes_back_on_its_port(wire: GrpcWire) -> None:
    with EmbeddedCluster(grpc=True) as cluster:
        address = cluster.grpc
        cluster.stop_grpc()
        with GrpcWire(address) as gone, pytest.raises(grpc.RpcError) as refused:
            gone.call("Heartbeat", pb.HeartbeatRequest(), CLIENT, seconds=5)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
        cluster.start_grpc()
        assert cluster.grpc == address
        with GrpcWire(address) as back:
            answer = back.call("Heartbeat", pb.HeartbeatRequest(), CLIENT)
            assert answer.status.code == pb.Code.UNRECOGNIZED_CLIENT_TYPE


def test_a_killed_broker_ends_what_waits_for_it(wire: GrpcWire) -> None:
    with EmbeddedCluster(grpc=True) as cluster, GrpcWire(cluster.grpc) as own:
        topic = make_topic(cluster, "Killed")
        own.telemetry("waits").send(settings("SIMPLE_CONSUMER", topic, group="GKilled"))
        call = own.channel.unary_stream(
            f"{SERVICE}ReceiveMessage", pb.ReceiveMessageRequest.SerializeToString, pb.ReceiveMessageResponse.FromString
        )
        waiting = call(wanted(topic, "GKilled"), metadata=[("x-mq-client-id", "waits")], timeout=20)
        wait_until(lambda: waits(cluster, topic, "GKilled"), "a receive waits")
        cluster.broker().kill()
        first = next(iter(waiting))
        assert first.status.code == pb.Code.INTERNAL_SERVER_ERROR
        assert "closed the connection" in first.status.message
        cluster.broker().start()
        answer = own.call("SendMessage", pb.SendMessageRequest(messages=[message(topic, b"again")]), CLIENT)
        assert answer.status.code == pb.Code.OK


def test_message_groups_go_where_guava_sends_them() -> None:
    known = [0, 55, 62, 8, 45, 59, 86, 97, 82, 59, 73, 37, 17, 56, 86, 21, 90, 37, 38, 83]
    assert [consistent_hash(number, 100) for number in range(20)] == known
    assert consistent_hash(10863919174838991, 11) == 6


def test_4_9_has_no_endpoint() -> None:
    with pytest.raises(UsageError, match="no gRPC endpoint"):
        EmbeddedCluster(grpc=True, version="4.9.8").start()


def test_without_the_extra_the_error_names_it_and_nothing_else_changes(tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise ImportError('not installed')\n")
    words = [sys.executable, "-m", "embedded_broker", "--memory", "--grpc"]
    done = subprocess.run(
        words,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 78
    assert "mqctl[grpc]" in done.stderr


def test_an_endpoint_costs_nothing_where_none_is_asked_for() -> None:
    probe = (
        "import sys, embedded_broker as e\n"
        "with e.EmbeddedCluster(version='5.3.3'):\n"
        "    print(sorted(name for name in sys.modules if name.startswith(('grpc', 'google'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
