"""The gRPC endpoint with users, with certificates, and against callers that mean it no good."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
import trustme

from embedded_broker import EmbeddedCluster
from embedded_broker.cluster import RunningCluster
from embedded_broker.handlers.heartbeat import MOST_GROUPS
from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.unread import MOST_UNREAD_BYTES
from embedded_broker.remoting.server import Limits
from embedded_broker.remoting.tls import ServerTls
from mqctl.protocol.bodies_access import UserInfo
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.requests_admin import UpdateAndCreateSubscriptionGroup
from mqctl.protocol.requests_client import GetConsumerRunningInfo
from tests.client.consuming import wait_until
from tests.embedded_broker.grpc_wire import SERVICE, GrpcWire, HalfOpen, headers, settings
from tests.embedded_broker.test_grpc import CLIENT, make_topic, message
from tests.embedded_broker.test_grpc_replay import Replay, recorded
from tests.embedded_broker.wire import Peer

_UNUSED = 1_500
"""Streams at once: from 1,000 calls on that wait to be taken gRPC begins to drop some, unless it is told otherwise."""
_WINDOW_BYTES = 65_535
"""What may be sent on a stream before the other side has read any of it."""


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(grpc=True) as cluster:
        make_topic(cluster, "Plain")
        yield cluster


@pytest.fixture
def wire(shared: EmbeddedCluster) -> Iterator[GrpcWire]:
    with GrpcWire(shared.grpc) as wire:
        yield wire


def raw(wire: GrpcWire, method: str, body: bytes, metadata: list[tuple[str, str]] | None = None) -> grpc.RpcError:
    """Makes a call with these bytes and returns how it failed."""
    call = wire.channel.unary_unary(SERVICE + method, lambda data: data, lambda data: data)
    with pytest.raises(grpc.RpcError) as failed:
        call(body, metadata=headers(CLIENT) if metadata is None else metadata, timeout=20)
    return failed.value


def is_served(wire: GrpcWire) -> bool:
    request = pb.SendMessageRequest(messages=[message("Plain", b"x")])
    return bool(wire.call("SendMessage", request, CLIENT).status.code == pb.Code.OK)


def test_users_and_acls_judge_grpc_calls_as_recorded() -> None:
    checks = {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "initAuthenticationUser": '{"username":"admin","password":"adm12345"}',
    }
    calls = recorded("raw_auth")
    at = next(
        number for number, call in enumerate(calls) if (call["method"], call["note"]) == ("SendMessage", "super user")
    )
    with EmbeddedCluster(grpc=True, settings=checks) as cluster, GrpcWire(cluster.grpc) as wire:
        bob = UserInfo(username="bob", password="bob12345")
        cluster.broker().on_loop(lambda broker: broker.access.users.create(bob) if broker.access.users else None)
        replay = Replay(cluster, wire)
        try:
            for call in calls[:at]:
                replay.play_one(call)
            cluster.broker().on_loop(lambda broker: broker.topics.find_or_create("GTN", 2))
            cluster.broker().on_loop(lambda broker: broker.register_again())
            wait_until(
                lambda: (
                    cluster.on_loop(lambda running: running.name_servers["namesrv"].routes.route("GTN")) is not None
                ),
                "the topic is registered",
            )
            for call in calls[at:]:
                replay.play_one(call)
        finally:
            replay.close()
    assert not replay.differences, "\n".join(replay.differences)


def test_with_a_certificate_the_endpoint_is_secured(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    trusted = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
    tls = ServerTls(cert_path=cert, key_path=key)
    with EmbeddedCluster(grpc=True, tls=tls) as cluster, GrpcWire(cluster.grpc, trusted) as wire:
        answer = wire.call("Heartbeat", pb.HeartbeatRequest(), CLIENT)
        assert answer.status.code == pb.Code.UNRECOGNIZED_CLIENT_TYPE
        with GrpcWire(cluster.grpc) as plain, pytest.raises(grpc.RpcError) as refused:
            plain.call("Heartbeat", pb.HeartbeatRequest(), CLIENT, seconds=10)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x03\x0a\x01\xff"])
def test_bytes_that_are_no_message_fail_their_call_only(wire: GrpcWire, body: bytes) -> None:
    assert raw(wire, "SendMessage", body).code() == grpc.StatusCode.UNKNOWN
    assert is_served(wire)


def test_a_method_that_there_is_not_is_unimplemented(wire: GrpcWire) -> None:
    assert raw(wire, "EatMessage", b"").code() == grpc.StatusCode.UNIMPLEMENTED


def test_headers_that_are_huge_end_their_call_only(wire: GrpcWire) -> None:
    failed = raw(wire, "Heartbeat", b"", [("x-mq-client-id", "c"), ("x-mq-junk", "x" * 200_000)])
    assert failed.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE)
    assert is_served(wire)


def test_a_client_id_that_nobody_has_is_refused(wire: GrpcWire) -> None:
    assert wire.call("Heartbeat", pb.HeartbeatRequest(), "c" * 2_000).status.code == pb.Code.BAD_REQUEST
    assert wire.call("Heartbeat", pb.HeartbeatRequest(), " ").status.code == pb.Code.CLIENT_ID_REQUIRED


@pytest.mark.parametrize(
    "handle", ["", "0 1 2", "x 1 2 3 4 broker-a 0 0", f"0 {2**62} 15000 0 0 nobody 0 0 0", "9" * 5_000]
)
def test_handles_that_were_never_given_out_are_answered(wire: GrpcWire, handle: str) -> None:
    request = pb.AckMessageRequest(entries=[pb.AckMessageEntry(message_id="m", receipt_handle=handle)])
    request.group.name, request.topic.name = "G", "Plain"
    answer = wire.call("AckMessage", request, CLIENT)
    assert answer.status.code in (pb.Code.INTERNAL_SERVER_ERROR, pb.Code.INVALID_RECEIPT_HANDLE)
    assert is_served(wire)


@pytest.mark.parametrize(
    ("method", "said"),
    [("Telemetry", b""), ("SendMessage", b"\0\0\0\xff\xff\x0a"), ("EatMessage", b"")],
    ids=["telemetry", "half-a-message", "no-method"],
)
def test_streams_that_are_opened_and_not_used_hold_nobody_up(
    wire: GrpcWire, shared: EmbeddedCluster, method: str, said: bytes
) -> None:
    """`python -m benchmarks.broker.grpc_clients` opens ten thousand, and measures what a healthy client feels of it."""

    def calls() -> int:
        return shared.on_loop(lambda running: len(asyncio.all_tasks()))

    before = calls()
    with HalfOpen(shared.grpc, method, _UNUSED, said=said):
        if method != "EatMessage":
            wait_until(lambda: calls() >= before + _UNUSED, "the streams are there")
        for _ in range(10):
            assert is_served(wire)
    wait_until(lambda: calls() < before + _UNUSED, "the streams are gone with their connection")
    assert is_served(wire)


def test_connections_beyond_the_limit_are_closed_and_those_that_are_there_served() -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(EmbeddedCluster(grpc=True, limits=Limits(connections=2)))
        healthy = stack.enter_context(GrpcWire(cluster.grpc))
        make_topic(cluster, "Plain")
        assert is_served(healthy)
        with HalfOpen(cluster.grpc, "Telemetry", 1), GrpcWire(cluster.grpc) as further:
            with pytest.raises(grpc.RpcError) as refused:
                further.call("Heartbeat", pb.HeartbeatRequest(), CLIENT, seconds=10)
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
            assert is_served(healthy)


def test_a_stream_that_asks_and_never_reads_loses_answers_and_nothing_else(
    wire: GrpcWire, shared: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    command = pb.TelemetryCommand()
    command.settings.publishing.SetInParent()
    said = command.SerializeToString()
    frame = (b"\0" + len(said).to_bytes(4, "big") + said) * (_WINDOW_BYTES // (5 + len(said)))
    before = shared.on_loop(lambda running: len(asyncio.all_tasks()))
    with HalfOpen(shared.grpc, "Telemetry", 1, said=frame, ends=True):
        wait_until(lambda: "reads nothing" in caplog.text, "answers are dropped")
        assert is_served(wire)
    wait_until(lambda: shared.on_loop(lambda running: len(asyncio.all_tasks())) <= before, "the stream is gone")
    assert caplog.text.count("reads nothing") == 1
    assert "QueueFull" not in caplog.text


WIDE = 16_384
"""Queues of a topic whose route has a million bytes."""


@pytest.fixture(scope="module")
def wide(shared: EmbeddedCluster) -> str:
    return make_topic(shared, "Wide", queues=WIDE)


def framed(message: Any) -> bytes:
    said: bytes = message.SerializeToString()
    return b"\0" + len(said).to_bytes(4, "big") + said


def unread_bytes(cluster: EmbeddedCluster) -> list[int]:
    """What the connections of a cluster's endpoint have not read, and ask for, now."""

    def look(running: RunningCluster) -> list[int]:
        assert running.grpc is not None
        endpoint = running.grpc._running
        assert endpoint is not None
        return [each.unread_bytes for each in endpoint.parts.unread._connections.values()]

    return cluster.on_loop(look)


def rss_bytes() -> int:
    return psutil.Process().memory_info().rss


def test_who_reads_no_answer_gets_no_further_ones(wire: GrpcWire, shared: EmbeddedCluster, wide: str) -> None:
    """A connection keeps 4 MiB, and what was being made; gRPC itself would keep what 300 routes are: 300 MB."""
    request = pb.QueryRouteRequest(topic=pb.Resource(name=wide))
    answer_bytes = wire.call("QueryRoute", request, CLIENT).ByteSize()
    before = rss_bytes()
    with HalfOpen(shared.grpc, "QueryRoute", 300, said=framed(request), ends=True):
        wait_until(lambda: answer_bytes in unread_bytes(shared), "an answer lies there")
        for _ in range(20):
            assert is_served(wire)
        assert max(unread_bytes(shared)) <= 2 * MOST_UNREAD_BYTES
        assert rss_bytes() - before < 64 << 20
    wait_until(lambda: not unread_bytes(shared), "all is forgotten with the connection")


def test_who_asks_much_at_once_and_reads_gets_all(wire: GrpcWire, shared: EmbeddedCluster, wide: str) -> None:
    request = pb.QueryRouteRequest(topic=pb.Resource(name=wide))
    call = wire.channel.unary_unary(
        f"{SERVICE}QueryRoute", pb.QueryRouteRequest.SerializeToString, pb.QueryRouteResponse.FromString
    )
    asked_for = [call.future(request, metadata=headers(CLIENT), timeout=60) for _ in range(40)]
    assert {len(each.result().message_queues) for each in asked_for} == {WIDE}
    wait_until(lambda: not unread_bytes(shared), "nothing is left")


def test_requests_that_wait_for_room_are_bounded(shared: EmbeddedCluster, wide: str) -> None:
    """Of the requests whose answers nobody reads 16 MiB are kept; the others are refused at once."""
    request = pb.QueryRouteRequest(topic=pb.Resource(name=wide), endpoints=pb.Endpoints(scheme=pb.AddressScheme.IPv4))
    request.endpoints.addresses.extend(pb.Address(host="h" * 100, port=1) for _ in range(8))
    before = rss_bytes()
    with HalfOpen(shared.grpc, "QueryRoute", 3_000, said=framed(request), ends=True):
        wait_until(lambda: max(unread_bytes(shared), default=0) > MOST_UNREAD_BYTES // 2, "answers lie there")
        with GrpcWire(shared.grpc) as healthy:
            assert is_served(healthy)
        assert rss_bytes() - before < 128 << 20
    wait_until(lambda: not unread_bytes(shared), "all is forgotten with the connection")


def test_addresses_that_a_route_would_repeat_for_each_queue_are_bounded(wire: GrpcWire, wide: str) -> None:
    request = pb.QueryRouteRequest(topic=pb.Resource(name=wide))
    request.endpoints.addresses.extend(pb.Address(host="h" * 1_000, port=1) for _ in range(1_000))
    before = rss_bytes()
    assert wire.call("QueryRoute", request, CLIENT).status.code == pb.Code.BAD_REQUEST
    assert rss_bytes() - before < 64 << 20


@pytest.mark.parametrize("orders", [False, True])
def test_answers_about_many_queues_are_those_of_the_library(
    wire: GrpcWire, shared: EmbeddedCluster, wide: str, orders: bool
) -> None:
    """Their bytes are put together by hand: read and written again by the library they are the same."""
    topic, group = pb.Resource(name=wide), pb.Resource(name=f"wide-{orders}")
    with Peer(shared.broker().address) as peer:
        body = dump_bytes({"groupName": group.name, "consumeMessageOrderly": orders})
        assert peer.call(UpdateAndCreateSubscriptionGroup(), body).code == 0
    endpoints = pb.Endpoints(scheme=pb.AddressScheme.IPv4, addresses=[pb.Address(host="here", port=8081)])
    for method, request in (
        ("QueryRoute", pb.QueryRouteRequest(topic=topic, endpoints=endpoints)),
        ("QueryAssignment", pb.QueryAssignmentRequest(topic=topic, group=group, endpoints=endpoints)),
    ):
        call = wire.channel.unary_unary(SERVICE + method, type(request).SerializeToString, lambda data: data)
        data = call(request, metadata=headers(CLIENT), timeout=60)
        answer = getattr(pb, f"{method}Response").FromString(data)
        assert answer.SerializeToString() == data
        queues = (
            answer.message_queues if method == "QueryRoute" else [each.message_queue for each in answer.assignments]
        )
        assert [queue.id for queue in queues] == (list(range(WIDE)) if orders or method == "QueryRoute" else [-1])
        assert {queue.topic.name for queue in queues} == {wide}
        assert {queue.broker.endpoints.addresses[0].host for queue in queues} == {"here"}


def test_settings_that_were_refused_are_gone_without_a_collection(wire: GrpcWire) -> None:
    """Six of 5 MB left 250 MB behind: what reads a stream of gRPC and its last message held each other."""
    large = settings("PUSH_CONSUMER", *(f"t{number}" for number in range(50_000)), group="G")
    data = large.SerializeToString()
    del large
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            call = wire.channel.stream_stream(f"{SERVICE}Telemetry", lambda data: data, lambda data: data)
            with pytest.raises(grpc.RpcError, match="at most"):
                list(call(iter([data]), metadata=headers(CLIENT), timeout=20))

        def kept() -> int:
            known = (each for each in gc.get_objects() if isinstance(each, pb.TelemetryCommand))
            return sum(each.ByteSize() > len(data) // 2 for each in known)

        wait_until(lambda: not kept(), "nothing holds them")
    finally:
        gc.enable()


def test_settings_of_more_topics_than_a_heartbeat_may_name_are_refused(wire: GrpcWire) -> None:
    for count, kind in product((MOST_GROUPS, MOST_GROUPS + 1), ("publishing", "subscription")):
        command = settings("PUSH_CONSUMER", "Plain", group="GMany") if kind == "subscription" else pb.TelemetryCommand()
        topics = [f"{kind}-{number}" for number in range(count)]
        if kind == "publishing":
            command.settings.publishing.topics.extend([pb.Resource(name=topic) for topic in topics])
        else:
            del command.settings.subscription.subscriptions[:]
            entries = [pb.SubscriptionEntry(topic=pb.Resource(name=topic)) for topic in topics]
            command.settings.subscription.subscriptions.extend(entries)
        stream = wire.telemetry(f"many-{kind}-{count}")
        stream.send(command)
        answer = stream.next()
        if count == MOST_GROUPS:
            assert answer.HasField("settings"), (kind, answer)
        else:
            assert answer.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert f"the settings name {count} topics" in answer.details()


@pytest.mark.parametrize("knows_nonce", [False, True])
def test_answers_count_from_the_stream_that_was_asked(
    wire: GrpcWire, shared: EmbeddedCluster, knows_nonce: bool
) -> None:
    """A stream that told no settings, under the name of the client that is asked."""
    victim, liar = wire.telemetry("victim"), wire.telemetry("victim")
    victim.send(settings("PUSH_CONSUMER", "Plain", group="GVictim"))
    assert victim.next().HasField("settings")
    with Peer(shared.broker().address) as peer:
        opaque = peer.post(GetConsumerRunningInfo(consumer_group="GVictim", client_id="victim", jstack_enable=True))
        nonce = victim.next().print_thread_stack_trace_command.nonce
        guesses = [nonce] if knows_nonce else [str(number) for number in range(1, 100)]
        for guess in guesses:
            liar.send(stacks(guess, "invented"))
        assert is_served(wire)
        victim.send(stacks(nonce, "at shop.Billing.wait(Billing.java:7)"))
        info = ConsumerRunningInfo.from_bytes(peer.answer_to(opaque).body)
    assert info.jstack == "at shop.Billing.wait(Billing.java:7)"


def stacks(nonce: str, text: str) -> pb.TelemetryCommand:
    answer = pb.TelemetryCommand()
    answer.thread_stack_trace.nonce, answer.thread_stack_trace.thread_stack_trace = nonce, text
    return answer
