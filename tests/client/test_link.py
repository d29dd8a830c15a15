"""Connections against a scripted peer: matching, deadlines, errors that name who was asked what."""

from __future__ import annotations

import struct
from threading import Event

import pytest

from mqctl.client.admin.broker_messages import messages_by_key
from mqctl.client.admin.broker_queries import max_offset, runtime_info
from mqctl.client.admin.nameserver import route
from mqctl.client.remoting.answers import (
    AnswerError,
    DeniedAnswerError,
    NotFoundAnswerError,
    RefusedAnswerError,
    UnreadableAnswerError,
)
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link, LinkSettings, PendingRequest, split_address
from mqctl.client.remoting.links import Links
from mqctl.errors import DeadlineError, ExitCode, UnreachableError, UsageError
from mqctl.protocol.acl import Credentials, signature_matches
from mqctl.protocol.frame import FLAG_ONEWAY, RemotingCommand, SerializeType
from mqctl.protocol.requests_client import GetMaxOffset, NotifyConsumerIdsChanged, UnregisterClient
from tests.client.wire_server import Peer, WireServer, answering, closed_address, silent

SECOND = 1000
LONG = 20_000


def test_answers_in_any_order_find_their_calls() -> None:
    held: list[RemotingCommand] = []

    def backwards(peer: Peer, command: RemotingCommand) -> None:
        held.append(command)
        if len(held) == 20:
            for request in reversed(held):
                peer.send(request.answer(0, ext_fields={"offset": request.ext("queueId") or ""}))

    with WireServer(backwards) as server, Links() as links:
        link = links.get(server.address)
        calls = [
            link.submit(GetMaxOffset(topic="T", queue_id=queue_id), deadline=Deadline(LONG)) for queue_id in range(20)
        ]
        assert all(call.wait() for call in calls)
        assert [call.result().ext("offset") for call in calls] == [str(number) for number in range(20)]
        assert link.in_flight == 0
        assert len(server.peers) == 1


def test_a_refused_connection_names_address_request_and_reason() -> None:
    address = closed_address()
    with Links() as links, pytest.raises(UnreachableError) as caught:
        links.ask(address, runtime_info(), Deadline(LONG))
    assert str(caught.value) == f"GET_BROKER_RUNTIME_INFO could not be sent to {address}: connection refused"
    assert caught.value.exit_code is ExitCode.UNREACHABLE
    assert caught.value.remedy


def test_silence_ends_at_the_deadline_and_a_late_answer_is_ignored() -> None:
    held: list[tuple[Peer, RemotingCommand]] = []

    def second_only(peer: Peer, command: RemotingCommand) -> None:
        held.append((peer, command))
        if len(held) == 2:
            late_peer, late = held[0]
            late_peer.send(late.answer(0, ext_fields={"offset": "111"}))
            peer.send(command.answer(0, ext_fields={"offset": "222"}))

    with WireServer(second_only) as server, Links() as links:
        with pytest.raises(DeadlineError, match=r"GET_MAX_OFFSET was not answered by .* no answer within 500 ms"):
            links.ask(server.address, max_offset("T", 0), Deadline(500))
        assert links.ask(server.address, max_offset("T", 0), Deadline(LONG)) == 222


def test_a_lost_connection_fails_what_is_in_flight_and_the_next_call_connects_anew() -> None:
    seen: list[RemotingCommand] = []

    def close_first(peer: Peer, command: RemotingCommand) -> None:
        seen.append(command)
        if len(seen) == 1:
            peer.close()
        else:
            peer.send(command.answer(0, ext_fields={"offset": "5"}))

    with WireServer(close_first) as server, Links() as links:
        with pytest.raises(UnreachableError, match=r"closed by the other side|connection was lost"):
            links.ask(server.address, max_offset("T", 0), Deadline(LONG))
        assert links.ask(server.address, max_offset("T", 0), Deadline(LONG)) == 5
        assert len(server.peers) == 2


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">i", -5), struct.pack(">ii", 8, 7 << 24) + b"abcd"]
)
def test_a_peer_that_speaks_something_else_is_named(garbage: bytes) -> None:
    with (
        WireServer(lambda peer, _: peer.socket.sendall(garbage)) as server,
        Links() as links,
        pytest.raises(UnreachableError, match="not a RocketMQ frame"),
    ):
        links.ask(server.address, runtime_info(), Deadline(LONG))


@pytest.mark.parametrize(
    ("code", "remark", "kind", "exit_code"),
    [
        (1, "something broke", RefusedAnswerError, ExitCode.REFUSED),
        (1, "org.apache.rocketmq.acl.common.AclException: no", DeniedAnswerError, ExitCode.PERMISSION),
        (16, "forbidden", DeniedAnswerError, ExitCode.PERMISSION),
        (17, "No topic", NotFoundAnswerError, ExitCode.NOT_FOUND),
        (206, "not online", RefusedAnswerError, ExitCode.REFUSED),
    ],
)
def test_refusals_keep_code_and_remark(code: int, remark: str, kind: type[AnswerError], exit_code: ExitCode) -> None:
    with WireServer(answering(code, remark=remark)) as server, Links() as links:
        with pytest.raises(kind) as caught:
            links.ask(server.address, route("T"), Deadline(LONG))
        error = caught.value
        assert (error.code, error.remark, error.address, error.exit_code) == (code, remark, server.address, exit_code)
        assert remark in str(error)
        assert server.address in str(error)


@pytest.mark.parametrize("parts", [{"body": b"<html>"}, {"body": b""}, {"body": b'{"queueDatas":7}'}])
def test_an_answer_with_wrong_fields_is_unreadable(parts: dict[str, object]) -> None:
    with (
        WireServer(answering(0, **parts)) as server,
        Links() as links,
        pytest.raises(UnreadableAnswerError, match="GET_ROUTEINFO_BY_TOPIC cannot be read"),
    ):
        links.ask(server.address, route("T"), Deadline(LONG))


def test_a_missing_header_field_is_unreadable() -> None:
    with WireServer(answering(0)) as server, Links() as links, pytest.raises(UnreadableAnswerError, match="offset"):
        links.ask(server.address, max_offset("T", 0), Deadline(LONG))


def test_sweeping_ends_calls_that_nobody_waits_for() -> None:
    ended: list[PendingRequest] = []
    with WireServer(silent) as server, Links() as links:
        link = links.get(server.address)
        link.submit(GetMaxOffset(topic="T", queue_id=1), deadline=Deadline(0), on_done=ended.append)
        link.submit(GetMaxOffset(topic="T", queue_id=2), deadline=Deadline(LONG), on_done=ended.append)
        links.sweep()
        assert [type(call.error) for call in ended] == [DeadlineError]
    assert [type(call.error) for call in ended] == [DeadlineError, UnreachableError]


def test_oneway_requests_carry_the_flag_and_wait_for_nothing() -> None:
    with WireServer(answering(0, ext_fields={"offset": "1"})) as server, Links() as links:
        links.get(server.address).oneway(UnregisterClient(client_id="me"))
        links.ask(server.address, max_offset("T", 0), Deadline(LONG))
        assert [command.flag for command in server.requests] == [FLAG_ONEWAY, 0]


def test_requests_of_the_other_side_reach_us_and_can_be_answered() -> None:
    answered = Event()

    def notify(peer: Peer, command: RemotingCommand) -> None:
        if command.is_response:
            assert (command.opaque, command.code) == (77, 0)
            answered.set()
        else:
            peer.send(NotifyConsumerIdsChanged(consumer_group="G").command(opaque=77))
            peer.send(command.answer(0, ext_fields={"offset": "1"}))

    heard: list[str | None] = []

    def on_request(link: Link, command: RemotingCommand) -> None:
        heard.append(command.ext("consumerGroup"))
        link.reply(command.answer(0))

    with WireServer(notify) as server, Links(on_request=on_request) as links:
        links.ask(server.address, max_offset("T", 0), Deadline(LONG))
        assert answered.wait(60)
    assert heard == ["G"]


@pytest.mark.parametrize("form", list(SerializeType))
def test_signed_requests_verify(form: SerializeType) -> None:
    settings = LinkSettings(credentials=Credentials("ak1234", "secret1", "token"), serialize_type=form)
    with WireServer(answering(0, ext_fields={"offset": "1"})) as server, Links(settings) as links:
        links.ask(server.address, max_offset("主题", 0), Deadline(LONG))
        links.ask(server.address, messages_by_key("T", "K", begin_ms=0, end_ms=9, unique=True), Deadline(LONG))
        plain, unique = server.requests
        assert plain.serialize_type is form
        assert signature_matches(plain, "secret1")
        assert not signature_matches(plain, "secret2")
        assert signature_matches(unique, "secret1")
        assert unique.ext("_UNIQUE_KEY_QUERY") == "true"
        assert (plain.version, unique.version) == (409, 399)


def test_closing_while_calls_wait_ends_them() -> None:
    with WireServer(silent) as server:
        links = Links()
        call = links.get(server.address).submit(GetMaxOffset(topic="T", queue_id=1), deadline=Deadline(LONG))
        links.close()
        assert call.wait()
        assert isinstance(call.error, UnreachableError)
        with pytest.raises(UsageError, match="closed"):
            links.get(server.address)


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:x", "host:70000", "host:-1"])
def test_what_is_no_address_is_said_so(text: str) -> None:
    with pytest.raises(UsageError):
        split_address(text)


def test_ipv6_addresses_lose_their_brackets() -> None:
    assert split_address("[::1]:9876") == ("::1", 9876)
