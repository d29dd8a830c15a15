"""Each recorded request gets the recorded answer, but for ids, times and addresses."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

from embedded_broker import EmbeddedCluster
from embedded_broker.proxy import messages as pb
from mqctl.protocol.requests_admin import (
    CreateTopic,
    GetConsumerConnectionList,
    UpdateAndCreateSubscriptionGroup,
    UpdateBrokerConfig,
)
from mqctl.protocol.requests_client import ConsumeMessageDirectly
from tests.conftest import GOLDEN
from tests.embedded_broker.grpc_wire import SERVICE, GrpcWire, Stream, settings
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.pop_recording import recorded_pop_frames

_MOMENT_S, _STEP_MS = 0.01, 500
_TYPES = {"GTN": "NORMAL", "GTF": "FIFO", "GTD": "DELAY", "GTT": "TRANSACTION"}
_FREE = frozenset(
    {"store_timestamp", "store_host", "delivery_timestamp", "receipt_handle", "recall_handle", "born_timestamp"}
)
_TURNS = frozenset({"queue_id", "queue_offset", "offset"})
"""What depends on the queue that a message without a group came to."""

_SECOND = "bjI="
"""Body of the second message of a call with two: there it bears the id of the first, here its own."""

Call = dict[str, Any]


def recorded(*sessions: str) -> list[Call]:
    """Returns the calls of some sessions in their order."""
    with gzip.open(GOLDEN / "grpc" / "calls.ndjson.gz", "rt", encoding="utf-8") as lines:
        calls: list[Call] = [json.loads(line) for line in lines]
    return [call for call in calls if call["session"] in sessions]


def said(call: Call, direction: str) -> list[Any]:
    """Returns the messages of a call in one direction; those of methods that are not served are left empty."""
    return [
        getattr(pb, kind).FromString(b64decode(data)) if hasattr(pb, kind) else pb.Status()
        for way, kind, data in call["said"]
        if way == direction
    ]


class Replay:
    """Plays calls against an endpoint whose clock moves as the recorded one did."""

    def __init__(self, cluster: EmbeddedCluster, wire: GrpcWire) -> None:
        self.cluster, self.wire = cluster, wire
        self._handles: dict[str, str] = {}
        self._streams: list[Stream] = []
        self._until_ms = 0
        self.differences: list[str] = []

    def play(self, calls: list[Call]) -> None:
        shift_ms = self.cluster.now_ms() - calls[0]["t_ms"]
        for call, following in zip(calls, [*calls[1:], calls[-1]], strict=True):
            self._until_ms = following["t_ms"] + shift_ms + _STEP_MS
            self.cluster.advance(max(0, call["t_ms"] + shift_ms - self.cluster.now_ms()))
            if call["note"] == "recall":
                with Peer(self.cluster.broker().address) as peer:
                    assert peer.call(UpdateBrokerConfig(), b"recallMessageEnable=true").code == 0
            self.play_one(call)

    def play_one(self, call: Call) -> None:
        number, method, metadata = call["call"], call["method"], list(call["headers"].items())
        requests, wanted = said(call, "c2s"), said(call, "s2c")
        if method == "Telemetry":
            got, status = self._telemetry(requests, metadata)
            wanted = wanted[:1]
        else:
            request = self._now(requests[0], call["t_ms"]) if requests else _too_large()
            got, status = self._call(method, request, metadata, call["deadline_s"])
            while 0 < _count(got) < _count(wanted):  # one answer there may be two here: the first retry wakes the pop
                more, status = self._call(method, request, metadata, call["deadline_s"])
                got = [one for one in got if not one.HasField("delivery_timestamp")] + more[1:]
        self._learn(wanted, got)
        expected_status = ("OK", "") if method == "Telemetry" and wanted else (call["status"], call["details"])
        ours, theirs = self._shown(got), self._shown(wanted)
        if (ours, status) != (theirs, expected_status):
            note = f"call {number} {method} ({call['note']})"
            self.differences.append(f"{note}:\n  is     {status} {ours}\n  wanted {expected_status} {theirs}")

    def _call(self, method: str, request: Any, metadata: Any, deadline_s: float) -> tuple[list[Any], tuple[str, str]]:
        try:
            if method == "ReceiveMessage":
                call = self.wire.channel.unary_stream(
                    SERVICE + method, type(request).SerializeToString, pb.ReceiveMessageResponse.FromString
                )
                with ThreadPoolExecutor(1) as pool:
                    received = pool.submit(lambda: list(call(request, metadata=metadata, timeout=deadline_s)))
                    while not wait([received], _MOMENT_S).done:
                        if self.cluster.now_ms() < self._until_ms:
                            self.cluster.advance(_STEP_MS)
                    return received.result(), ("OK", "")
            response = getattr(pb, f"{method}Response", pb.Status)
            unary = self.wire.channel.unary_unary(
                SERVICE + method, type(request).SerializeToString, response.FromString
            )
            return [unary(request, metadata=metadata, timeout=deadline_s)], ("OK", "")
        except grpc.RpcError as error:
            return [], (error.code().name, error.details())

    def _telemetry(self, requests: list[Any], metadata: Any) -> tuple[list[Any], tuple[str, str]]:
        stream = Stream(self.wire, metadata)
        self._streams.append(stream)
        stream.send(requests[0])
        answer = stream.next()
        if isinstance(answer, grpc.RpcError):
            return [], (answer.code().name, answer.details())
        return [answer], ("OK", "")

    def close(self) -> None:
        for stream in self._streams:
            stream.close()

    def _now(self, request: Any, recorded_ms: int) -> Any:
        """Returns a request with its times as they would be now, and the handles that were given out here."""
        shift_ms = self.cluster.now_ms() - recorded_ms
        for message in getattr(request, "messages", ()):
            system = message.system_properties
            for field in ("born_timestamp", "delivery_timestamp"):
                if system.HasField(field):
                    moment = getattr(system, field)
                    moment.FromMilliseconds(moment.ToMilliseconds() + shift_ms)
        for entry in getattr(request, "entries", ()):
            entry.receipt_handle = self._handles.get(entry.receipt_handle, entry.receipt_handle)
        for field in ("receipt_handle", "recall_handle"):
            text = getattr(request, field, "")
            if text:
                setattr(request, field, self._handles.get(text, text))
        return request

    def _learn(self, wanted: list[Any], got: list[Any]) -> None:
        """Notes which handle here stands for which there."""
        theirs, ours = dict(_handles(wanted)), dict(_handles(got))
        self._handles.update({theirs[key]: ours[key] for key in theirs.keys() & ours.keys()})

    def _shown(self, said: list[Any]) -> list[str]:
        """Returns messages without what may differ; those of one answer in any order of queues."""
        shown = [
            json.dumps(_plain(MessageToDict(one, preserving_proto_field_name=True)), sort_keys=True) for one in said
        ]
        return sorted(shown)


def _handles(said: list[Any]) -> Iterator[tuple[str, str]]:
    for one in said:
        if isinstance(one, pb.ReceiveMessageResponse) and one.HasField("message"):
            system = one.message.system_properties
            yield repr(one.message.body), system.receipt_handle
        elif isinstance(one, pb.ChangeInvisibleDurationResponse) and one.receipt_handle:
            yield "changed", one.receipt_handle
        for entry in getattr(one, "entries", ()):
            if getattr(entry, "recall_handle", ""):
                yield entry.message_id, entry.recall_handle


def _count(said: list[Any]) -> int:
    return sum(isinstance(one, pb.ReceiveMessageResponse) and one.HasField("message") for one in said)


def _plain(value: Any, topic: str = "") -> Any:
    if isinstance(value, list):
        return [_plain(item, topic) for item in value]
    if not isinstance(value, dict):
        return value
    free = _FREE | _TURNS
    if value.get("body") == _SECOND:
        value["system_properties"].pop("message_id")
    shown = {name: _plain(item) for name, item in value.items() if name not in free}
    return shown | {name: True for name in _FREE if name in value}


def _too_large() -> pb.SendMessageRequest:
    message = pb.Message(body=b"y" * (4 * 1024 * 1024 + 1))
    message.topic.name = "GTN"
    message.system_properties.message_id = "01007D112233446B02BC7C00000003"
    return pb.SendMessageRequest(messages=[message])


def _make(address: str) -> None:
    with Peer(address) as peer:
        for topic, kind in _TYPES.items():
            request = CreateTopic(
                topic=topic,
                default_topic="TBW102",
                read_queue_nums=2,
                write_queue_nums=2,
                perm=6,
                topic_filter_type="SINGLE_TAG",
                attributes=f"+message.type={kind}",
            )
            assert peer.call(request).code == 0
        for group, ordered, retries in (("GGN", False, 16), ("GGF", True, 16), ("GGQ", False, 1)):
            wanted = {"groupName": group, "consumeMessageOrderly": ordered, "retryMaxTimes": retries}
            body = json.dumps(wanted).encode()
            assert peer.call(UpdateAndCreateSubscriptionGroup(), body).code == 0


_RAW = (
    *("raw_route", "raw_heartbeat", "raw_telemetry", "raw_send", "raw_send_errors", "raw_assignment", "raw_receive"),
    *("raw_fifo", "raw_transaction", "raw_recall", "raw_not_served", "raw_dlq", "raw_termination"),
)


@pytest.mark.parametrize("sessions", [_RAW, ("raw_local",)], ids=["cluster", "local"])
def test_recorded_requests_get_the_recorded_answers(sessions: tuple[str, ...]) -> None:
    settings = {"enablePropertyFilter": "true"}
    with EmbeddedCluster(grpc=True, virtual_time=True, settings=settings) as cluster, GrpcWire(cluster.grpc) as wire:
        _make(cluster.broker().address)
        replay = Replay(cluster, wire)
        try:
            replay.play(recorded(*sessions))
        finally:
            replay.close()
    assert not replay.differences, "\n".join(replay.differences)


def test_a_broker_tells_of_its_proxys_clients_as_recorded() -> None:
    """Session local_proxy: who is in the group (203), and a message that the broker has one of them consume (309).

    A real one leaves 307 without an answer; the embedded endpoint passes it on.
    """
    frames = [one for one in recorded_pop_frames() if one.session == "local_proxy"]
    answers = {one.request_seq: one.command for one in frames if one.is_ours}
    clients = {"client-host@1@1@cons": "SIMPLE_CONSUMER", "client-host@1@4@push": "PUSH_CONSUMER"}
    with EmbeddedCluster(grpc=True, virtual_time=True) as cluster, GrpcWire(cluster.grpc) as wire:
        _make(cluster.broker().address)
        streams = {name: wire.telemetry(name) for name in clients}
        for name, kind in reversed(clients.items()):
            streams[name].send(settings(kind, "GTN", group="GGN"))
            assert streams[name].next().HasField("settings")
        with Peer(cluster.broker().address, version=479) as peer:
            assert peer.call(send("GTN", properties={"UNIQ_KEY": "01007D112233446B02BC7C00000001"}), b"l0").code == 0
            requests = {one.request_code: one for one in frames if not one.is_ours}
            members = peer.call(GetConsumerConnectionList.from_ext(requests[203].command.ext_fields))
            opaque = peer.post(ConsumeMessageDirectly.from_ext(requests[309].command.ext_fields))
            question = streams["client-host@1@4@push"].next().verify_message_command
            assert question.message.body == b"l0"
            answer = pb.TelemetryCommand(status=pb.Status(code=pb.Code.OK))
            answer.verify_message_result.nonce = question.nonce
            streams["client-host@1@4@push"].send(answer)
            consumed = peer.answer_to(opaque)
    assert _known(members.body) == _known(answers[requests[203].seq].body)
    assert consumed.body == answers[requests[309].seq].body


def _known(body: bytes) -> Any:
    """Returns who is in a group without what is of the moment: addresses, versions of subscriptions."""
    value = json.loads(body)
    value["connectionSet"].sort(key=lambda item: item["clientId"])
    for item in (*value["connectionSet"], *value["subscriptionTable"].values()):
        item.pop("clientAddr", None)
        item.pop("subVersion", None)
    return value
