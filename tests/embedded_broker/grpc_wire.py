"""A gRPC client by hand: calls with the headers that they need, telemetry streams, messages as they are recorded."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from typing import Any, Self

import grpc

from embedded_broker.proxy import messages as pb

SERVICE = "/apache.rocketmq.v2.MessagingService/"
_SECONDS = 30.0
_FRAME = 16_384
"""Bytes of the longest frame that a server takes untold."""


def headers(client_id: str | None, **more: str) -> list[tuple[str, str]]:
    """Returns the metadata of a call."""
    known = {"x-mq-language": "PYTHON", "x-mq-client-version": "5.1.2", "x-mq-protocol": "v2"}
    own = {} if client_id is None else {"x-mq-client-id": client_id}
    return list({**known, **own, **{name.replace("_", "-"): value for name, value in more.items()}}.items())


class Stream:
    """One telemetry stream, read by a thread of its own."""

    def __init__(self, wire: GrpcWire, metadata: list[tuple[str, str]]) -> None:
        self.received: queue.Queue[pb.TelemetryCommand | grpc.RpcError] = queue.Queue()
        self._outgoing: queue.Queue[pb.TelemetryCommand | None] = queue.Queue()
        call = wire.channel.stream_stream(
            f"{SERVICE}Telemetry", pb.TelemetryCommand.SerializeToString, pb.TelemetryCommand.FromString
        )
        self._call = call(iter(self._outgoing.get, None), metadata=metadata)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for command in self._call:
                self.received.put(command)
        except grpc.RpcError as error:
            self.received.put(error)

    def send(self, command: pb.TelemetryCommand) -> None:
        self._outgoing.put(command)

    def next(self, seconds: float = _SECONDS) -> Any:
        """Returns the next command, or the error that ended the stream."""
        return self.received.get(timeout=seconds)

    def close(self) -> None:
        self._call.cancel()
        self._reader.join(_SECONDS)


class GrpcWire:
    """A connection to an endpoint."""

    def __init__(self, address: str, trusted: grpc.ChannelCredentials | None = None) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        if trusted is None:
            self.channel = grpc.insecure_channel(address, options=options)
        else:
            self.channel = grpc.secure_channel(address, trusted, options=options)
        self._streams: list[Stream] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()
        self.channel.close()

    def call(
        self, method: str, request: Any, client_id: str | None = "c@1@0@x", *, seconds: float = _SECONDS, **more: str
    ) -> Any:
        """Makes a unary call."""
        response = getattr(pb, f"{method}Response")
        call = self.channel.unary_unary(
            SERVICE + method, type(request).SerializeToString, response.FromString if response else None
        )
        return call(request, metadata=headers(client_id, **more), timeout=seconds)

    def receive(
        self,
        request: pb.ReceiveMessageRequest,
        client_id: str | None = "c@1@0@x",
        *,
        seconds: float = _SECONDS,
        **more: str,
    ) -> list[pb.ReceiveMessageResponse]:
        """Receives messages."""
        call = self.channel.unary_stream(
            f"{SERVICE}ReceiveMessage",
            pb.ReceiveMessageRequest.SerializeToString,
            pb.ReceiveMessageResponse.FromString,
        )
        return list(call(request, metadata=headers(client_id, **more), timeout=seconds))

    def telemetry(self, client_id: str | None = "c@1@0@x", **more: str) -> Stream:
        """Opens a telemetry stream."""
        stream = Stream(self, headers(client_id, **more))
        self._streams.append(stream)
        return stream


class HalfOpen:
    """A connection with streams that were opened and never used: headers, and neither a message nor an end.

    Its bytes are made by hand (RFC 9113): a client library would say more. It never reads.

    Args:
        said: what each stream says after its headers; half a message, or many whole ones.
        ends: whether it is ended then.
    """

    def __init__(self, address: str, method: str, count: int, *, said: bytes = b"", ends: bool = False) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=_SECONDS)
        fields = {
            ":method": "POST", ":scheme": "http", ":path": SERVICE + method, ":authority": address,
            "te": "trailers", "content-type": "application/grpc", **dict(headers("half-open")),
        }  # fmt: skip
        block = b"".join(b"\0" + _counted(name) + _counted(value) for name, value in fields.items())
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b""))
        for number in range(count):
            stream = 2 * number + 1
            frames = [_frame(1, 4, stream, block)]
            frames += [_frame(0, 0, stream, said[at : at + _FRAME]) for at in range(0, len(said), _FRAME)]
            frames += [_frame(0, 1, stream, b"")] if ends else []
            self._socket.sendall(b"".join(frames))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _counted(text: str) -> bytes:
    """Returns a string of HPACK as it is; its length fits into the seven bits before the first extension."""
    assert len(text) < 127
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def settings(kind: str, *topics: str, group: str = "", expression: str = "*") -> pb.TelemetryCommand:
    """Returns the settings that a client sends first."""
    command = pb.TelemetryCommand()
    own = command.settings
    own.client_type = pb.ClientType.Value(kind)
    own.request_timeout.seconds = 3
    own.user_agent.language = pb.Language.PYTHON
    own.user_agent.version = "5.1.2"
    if kind == "PRODUCER":
        own.publishing.topics.extend(pb.Resource(name=topic) for topic in topics)
        own.publishing.SetInParent()
        return command
    own.subscription.group.name = group
    for topic in topics:
        entry = own.subscription.subscriptions.add()
        entry.topic.name = topic
        entry.expression.type, entry.expression.expression = pb.FilterType.TAG, expression
    return command


def messages_of(responses: list[pb.ReceiveMessageResponse]) -> Iterator[pb.Message]:
    """Yields the messages of an answer."""
    for response in responses:
        if response.HasField("message"):
            yield response.message
