"""What brokers ask clients of this endpoint, by telemetry: half messages, single messages, what they are doing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.clients import GrpcClient, subscriptions_of
from embedded_broker.proxy.given import given
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeMessageDirectlyResult, ConsumerRunningInfo, PopProcessQueueInfo
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.requests_client import CheckTransactionState, GetConsumerRunningInfo

if TYPE_CHECKING:
    from embedded_broker.proxy.ground import ProxyGround
    from embedded_broker.proxy.halves import KnownHalves
    from embedded_broker.proxy.renewal import KeptHandles
    from mqctl.protocol.frame import RemotingCommand

_ANSWER_SECONDS = 3.0
_MOST_ASKED = 1_000
_ALL_QUEUES = -1
Send = Callable[[pb.TelemetryCommand], bool]


class Questions:
    """What brokers ask clients of this endpoint: half messages, single messages, what they do."""

    def __init__(self, ground: ProxyGround, halves: KnownHalves, kept: KeptHandles) -> None:
        self._ground, self._halves, self._kept = ground, halves, kept
        self._waiting: dict[str, tuple[Send, Callable[[pb.TelemetryCommand], None]]] = {}

    def ask(self, client: GrpcClient, command: RemotingCommand) -> None:
        """Hands a broker's request to a client; one that it cannot be asked is left without answer, as by a proxy."""
        if command.code == RequestCode.CHECK_TRANSACTION_STATE:
            self._check_half(client, command)
        elif command.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            self._verify(client, command)
        elif command.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            self._running_info(client, command)

    def answered(self, stream: Send, nonce: str, command: pb.TelemetryCommand) -> None:
        """Takes an answer that came on a telemetry stream; it counts if the question went out on that stream."""
        asked_on, take = self._waiting.get(nonce, (None, None))
        if take is not None and asked_on == stream:
            del self._waiting[nonce]
            take(command)

    def _put(
        self, client: GrpcClient, question: pb.TelemetryCommand, nonce: str, take: Callable[[pb.TelemetryCommand], None]
    ) -> bool:
        stream = client.send
        if stream is None or len(self._waiting) >= _MOST_ASKED or not stream(question):
            return False
        self._waiting[nonce] = stream, take
        give_up = partial(self.answered, stream, nonce, pb.TelemetryCommand())
        asyncio.get_running_loop().call_later(_ANSWER_SECONDS, give_up)
        return True

    def _check_half(self, client: GrpcClient, command: RemotingCommand) -> None:
        """Hands a broker's question about a half message (39) to the producer that it was sent to."""
        request = CheckTransactionState.from_ext(command.ext_fields)
        half = decode_message(command.body)
        transaction_id = request.transaction_id or half.unique_key or ""
        broker = next((one for one in self._ground.masters() if one.address == half.store_host), None)
        if broker is None or client.send is None or self._ground.topic_type(half.topic) != "TRANSACTION":
            return
        self._halves.note_half(
            half.topic, transaction_id, broker.name, request.offset_msg_id or "", request.tran_state_table_offset
        )
        question = pb.TelemetryCommand()
        sought = question.recover_orphaned_transaction_command
        sought.message.CopyFrom(given(half, attempt=half.reconsume_times + 1))
        sought.transaction_id = transaction_id
        client.send(question)

    def _verify(self, client: GrpcClient, command: RemotingCommand) -> None:
        message = decode_message(command.body)
        question, nonce = pb.TelemetryCommand(), _nonce()
        question.verify_message_command.nonce = nonce
        question.verify_message_command.message.CopyFrom(given(message, attempt=message.reconsume_times + 1))
        began_ms = self._ground.clock.now_ms()

        def take(answer: pb.TelemetryCommand) -> None:
            if not answer.HasField("verify_message_result"):
                return  # no answer: the broker's time runs out, as with any client
            is_fine = answer.status.code == pb.Code.OK
            result = ConsumeMessageDirectlyResult(
                consume_result="CR_SUCCESS" if is_fine else "CR_LATER",
                remark="from gRPC client",
                spent_time_mills=self._ground.clock.now_ms() - began_ms,
            )
            client.channel.answered(command, command.answer(ResponseCode.SUCCESS, body=result.to_bytes()))

        self._put(client, question, nonce, take)

    def _running_info(self, client: GrpcClient, command: RemotingCommand) -> None:
        """Answers what is known of a consumer; its stacks where it is asked for them and gives them."""
        request = GetConsumerRunningInfo.from_ext(command.ext_fields)

        def answer(stacks: str | None) -> None:
            held = self._kept.held(client.client_id)
            info = ConsumerRunningInfo(
                jstack=stacks,
                mq_pop_table=_by_topic(held),
                properties=_told(client, held),
                subscription_set=subscriptions_of(client),
            )
            client.channel.answered(command, command.answer(ResponseCode.SUCCESS, body=info.to_bytes()))

        question, nonce = pb.TelemetryCommand(), _nonce()
        question.print_thread_stack_trace_command.nonce = nonce
        wanted = bool(request.jstack_enable)
        if not wanted or not self._put(client, question, nonce, lambda got: answer(_stacks(got))):
            answer(None)


def _nonce() -> str:
    """Returns a name for a question that no other client can guess."""
    return token_hex(16)


def _stacks(answer: pb.TelemetryCommand) -> str | None:
    trace = answer.thread_stack_trace
    return trace.thread_stack_trace if trace.HasField("thread_stack_trace") else None


def _by_topic(held: list[tuple[str, int]]) -> dict[MessageQueue, PopProcessQueueInfo]:
    """Returns how many messages of each topic a client holds; as in Java's clients, -1 stands for all queues."""
    counts = Counter(topic for topic, _ in held)
    return {
        MessageQueue(topic, "", _ALL_QUEUES): PopProcessQueueInfo(wait_ack_count=count)
        for topic, count in counts.items()
    }


def _told(client: GrpcClient, held: list[tuple[str, int]]) -> dict[str, str]:
    """Returns a client's settings, under the names that remoting clients use for theirs where they have them."""
    settings = client.settings
    agent = settings.user_agent
    since = {"grpcHeldSince": str(min(since_ms for _, since_ms in held))} if held else {}
    return since | {
        "PROP_CLIENT_VERSION": f"{pb.Language.Name(agent.language)} {agent.version}".strip(),
        "PROP_CONSUME_TYPE": pb.ClientType.Name(settings.client_type),
        "PROP_CONSUMEORDERLY": "true" if client.is_ordered else "false",
        "PROP_CONSUMER_START_TIMESTAMP": str(client.since_ms),
        "grpcClientVersion": agent.version,
        "grpcClientType": pb.ClientType.Name(settings.client_type),
        "grpcMaxAttempts": str(settings.backoff_policy.max_attempts),
        "grpcReceiveBatchSize": str(settings.subscription.receive_batch_size),
    }
