"""The gRPC server of a cluster: calls in, parts of the proxy behind them, limits around them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.acknowledging import ack_message, change_invisible, forward_to_dead_letters
from embedded_broker.proxy.callers import Caller
from embedded_broker.proxy.ground import Members, checked_group, checked_topic
from embedded_broker.proxy.parts import Parts
from embedded_broker.proxy.receiving import delivered_at, receive_message
from embedded_broker.proxy.routing import query_assignment, query_route
from embedded_broker.proxy.sending import conflict, send_message
from embedded_broker.proxy.settings import SettingsRefused
from embedded_broker.proxy.statuses import PROXY_ERROR, Refused, ok
from embedded_broker.proxy.telemetry import Session
from embedded_broker.proxy.transactions import end_transaction
from embedded_broker.proxy.unread import MOST_UNREAD_BYTES, SMALL_BYTES, CallAnswer
from embedded_broker.remoting.listener import PortError
from mqctl.errors import MqctlError
from mqctl.protocol.requests_client import RecallMessage, RecallMessageReply

if TYPE_CHECKING:
    from embedded_broker.remoting.tls import ServerTls

log = logging.getLogger("embedded_broker")

_SERVICE = "apache.rocketmq.v2.MessagingService"
_NOT_SERVED = ("PullMessage", "GetOffset", "UpdateOffset", "QueryOffset")
_MOST_REQUEST_BYTES = 16 * 1024 * 1024
_MOST_HEADER_BYTES = 64 * 1024
_MOST_STREAMS = 20_000
"""Calls of one connection; 5.3.3 sets no limit."""
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", _MOST_REQUEST_BYTES),
    ("grpc.max_metadata_size", _MOST_HEADER_BYTES),
    ("grpc.absolute_max_metadata_size", _MOST_HEADER_BYTES),
    ("grpc.max_concurrent_streams", _MOST_STREAMS),
    # Beyond 1,000 calls that wait to be taken gRPC drops some by lot, those of healthy clients among them.
    ("grpc.server.max_pending_requests", _MOST_STREAMS),
    ("grpc.server.max_pending_requests_hard_limit", 2 * _MOST_STREAMS),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
)

Serve = Callable[[Parts, Any, Caller], Awaitable[Any]]
_LONG = frozenset({"QueryRoute", "QueryAssignment"})
"""Methods whose answers grow with the queues of a topic: one of a connection at a time."""


class Endpoint:
    """The endpoint with all its parts.

    Attributes:
        port: what it listens on.
        parts: what its methods work on.
    """

    def __init__(self, members: Members) -> None:
        self.port = 0
        self.parts = Parts(members)
        self._server: grpc.aio.Server | None = None

    async def start(self, host: str, port: int, tls: ServerTls | None, most_connections: int) -> None:
        """Listens, and closes connections beyond so many. Raises PortError, ConfigurationError."""
        server = grpc.aio.server(options=(*_OPTIONS, ("grpc.max_allowed_incoming_connections", most_connections)))
        server.add_generic_rpc_handlers((_Methods(self.parts),))
        address = f"{host}:{port}"
        try:
            if tls is None:
                self.port = server.add_insecure_port(address)
            else:
                self.port = server.add_secure_port(address, _credentials(tls))
        except RuntimeError as error:
            raise PortError(
                f"could not listen on {address}",
                reason="the address is in use, or not ours",
                remedy="choose another port",
            ) from error
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Ends all calls and listens no more."""
        server, self._server = self._server, None
        self.parts.stop()
        if server is not None:
            await server.stop(None)


def _credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Returns the cluster's certificate for gRPC. Raises ConfigurationError."""
    from embedded_broker.remoting.tls import ClientAuth

    tls.server_context()  # says what is wrong with the files
    trusted = tls.trust_cert_path.read_bytes() if tls.trust_cert_path is not None else None
    return grpc.ssl_server_credentials(
        [(tls.key_path.read_bytes(), tls.cert_path.read_bytes())],
        root_certificates=trusted,
        require_client_auth=tls.need_client_auth is ClientAuth.REQUIRE,
    )


# Small methods


async def note_heartbeat(parts: Parts, request: pb.HeartbeatRequest, caller: Caller) -> pb.HeartbeatResponse:
    """Notes that a client is there. Raises Refused."""
    client = parts.clients.known(caller)
    if client.group:
        checked_group(request.group)
    await parts.clients.register(client)
    return pb.HeartbeatResponse(status=ok())


async def notify_termination(
    parts: Parts, request: pb.NotifyClientTerminationRequest, caller: Caller
) -> pb.NotifyClientTerminationResponse:
    """Has a client leave. Raises Refused."""
    client = parts.clients.known(caller)
    if client.group:
        checked_group(request.group)
    await parts.clients.drop(client)
    return pb.NotifyClientTerminationResponse(status=ok())


async def recall_message(parts: Parts, request: pb.RecallMessageRequest, caller: Caller) -> pb.RecallMessageResponse:
    """Takes back a delayed message. Raises Refused."""
    from mqctl.protocol.recall_handle import RecallHandle, RecallHandleError

    topic = checked_topic(request.topic)
    try:
        handle = RecallHandle.parse(request.recall_handle)
    except RecallHandleError as error:
        raise Refused(pb.Code.INTERNAL_SERVER_ERROR, f"{PROXY_ERROR}recall handle is invalid") from error
    kind = parts.ground.topic_type(topic)
    if kind not in ("DELAY", "MIXED"):
        raise Refused(pb.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, conflict(kind, "DELAY"))
    broker = parts.ground.master(handle.broker_name)
    recall = RecallMessage(producer_group=topic, topic=topic, recall_handle=request.recall_handle)
    answer = await parts.ground.ask_well(parts.channel_of(caller), broker, recall)
    message_id = RecallMessageReply.from_ext(answer.ext_fields).msg_id
    return pb.RecallMessageResponse(status=ok(), message_id=message_id)


_UNARY: dict[str, tuple[Serve, Any, Any]] = {
    "QueryRoute": (query_route, pb.QueryRouteRequest, pb.QueryRouteResponse),
    "Heartbeat": (note_heartbeat, pb.HeartbeatRequest, pb.HeartbeatResponse),
    "SendMessage": (send_message, pb.SendMessageRequest, pb.SendMessageResponse),
    "QueryAssignment": (query_assignment, pb.QueryAssignmentRequest, pb.QueryAssignmentResponse),
    "AckMessage": (ack_message, pb.AckMessageRequest, pb.AckMessageResponse),
    "ForwardMessageToDeadLetterQueue": (
        forward_to_dead_letters,
        pb.ForwardMessageToDeadLetterQueueRequest,
        pb.ForwardMessageToDeadLetterQueueResponse,
    ),
    "EndTransaction": (end_transaction, pb.EndTransactionRequest, pb.EndTransactionResponse),
    "NotifyClientTermination": (
        notify_termination,
        pb.NotifyClientTerminationRequest,
        pb.NotifyClientTerminationResponse,
    ),
    "ChangeInvisibleDuration": (
        change_invisible,
        pb.ChangeInvisibleDurationRequest,
        pb.ChangeInvisibleDurationResponse,
    ),
    "RecallMessage": (recall_message, pb.RecallMessageRequest, pb.RecallMessageResponse),
}


class _Methods(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Finds what serves a method."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._handlers = {f"/{_SERVICE}/{name}": self._unary(name, *entry) for name, entry in _UNARY.items()}
        self._handlers[f"/{_SERVICE}/ReceiveMessage"] = grpc.unary_stream_rpc_method_handler(
            self._receive, pb.ReceiveMessageRequest.FromString, pb.ReceiveMessageResponse.SerializeToString
        )
        self._handlers[f"/{_SERVICE}/Telemetry"] = grpc.stream_stream_rpc_method_handler(
            self._telemetry, pb.TelemetryCommand.FromString, pb.TelemetryCommand.SerializeToString
        )
        for name in _NOT_SERVED:
            self._handlers[f"/{_SERVICE}/{name}"] = grpc.unary_unary_rpc_method_handler(_not_served(name))

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._handlers.get(handler_call_details.method)

    def _unary(self, name: str, serve: Serve, request_type: Any, response_type: Any) -> grpc.RpcMethodHandler:
        room = MOST_UNREAD_BYTES if name in _LONG else SMALL_BYTES

        async def call(request: Any, context: grpc.aio.ServicerContext) -> bytes:
            caller, answer = _caller(context), self._answer_of(context)
            try:
                self._admit(request, caller)
                await answer.wait_for_room(room, request.ByteSize())
                response = await serve(self._parts, request, caller)
            except Refused as refused:
                response = response_type(status=refused.status)
            except MqctlError as error:
                log.warning("%s of %s refused: %s", request_type.__name__, caller.peer, error)
                response = response_type(status=pb.Status(code=pb.Code.INTERNAL_SERVER_ERROR, message=str(error)))
            data: bytes = response if isinstance(response, bytes) else response.SerializeToString()
            answer.set_size(len(data))
            return data

        return grpc.unary_unary_rpc_method_handler(call, request_type.FromString, None)

    def _answer_of(self, context: grpc.aio.ServicerContext) -> CallAnswer:
        """Returns the room of a call's answer, which is given back when the call has ended."""
        answer = self._parts.unread.of_call(context.peer())
        context.add_done_callback(lambda _: answer.release())
        return answer

    def _admit(self, request: Any, caller: Caller) -> None:
        """Passes when a call has a client id, and its user may call. Raises Refused."""
        self._parts.access.check(request, caller)
        _ = caller.client_id

    async def _receive(
        self, request: pb.ReceiveMessageRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.ReceiveMessageResponse]:
        caller, answer = _caller(context), self._answer_of(context)
        try:
            self._admit(request, caller)
            await answer.wait_for_room(0, request.ByteSize())  # a long poll holds nothing until messages come
            async for response in receive_message(self._parts, request, caller, answer.set_size):
                yield response
        except Refused as refused:
            yield pb.ReceiveMessageResponse(status=refused.status)
        except MqctlError as error:
            log.warning("a receive of %s refused: %s", caller.peer, error)
            yield pb.ReceiveMessageResponse(status=pb.Status(code=pb.Code.INTERNAL_SERVER_ERROR, message=str(error)))
        yield delivered_at(self._parts)

    async def _telemetry(self, commands: AsyncIterator[pb.TelemetryCommand], context: grpc.aio.ServicerContext) -> None:
        try:
            await Session(self._parts, _caller(context)).run(commands, context.write)
            return
        except SettingsRefused as refused:
            why = str(refused)
        # Neither in the handler of that error nor with what reads the stream: both hold the large settings, and gRPC
        # keeps what aborts a call, with this frame.
        del commands
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, why)


def _not_served(name: str) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]:
    async def refuse(_request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"Method {_SERVICE}/{name} is unimplemented")
        return b""

    return refuse


def _caller(context: grpc.aio.ServicerContext) -> Caller:
    return Caller.of(context.invocation_metadata(), context.peer(), context.time_remaining())
