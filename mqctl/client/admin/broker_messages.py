"""Questions to brokers about messages: pulling, viewing and finding them (`MQClientAPIImpl`)."""

from __future__ import annotations

from enum import IntEnum

from mqctl.client.remoting.answers import RefusedAnswerError, UnreadableAnswerError
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.protocol import requests_admin as admin
from mqctl.protocol import requests_client as client
from mqctl.protocol.codes import PULL_RESULTS, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import decode_message, decode_messages

_SUCCESS = int(ResponseCode.SUCCESS)
SYS_FLAG_COMMIT = 1
SYS_FLAG_SUSPEND = 2
SYS_FLAG_SUBSCRIPTION = 4
SYS_FLAG_LITE = 16


class PullStatus(IntEnum):
    """How a pull ended: the response codes of its four results."""

    FOUND = 0
    NO_NEW_MESSAGE = 19
    NO_MATCHED_MESSAGE = 20
    OFFSET_MOVED = 21


@dataclass(frozen=True, slots=True)
class Pulled:
    """The answer to a pull. Offsets are queue offsets."""

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    suggested_broker_id: int
    messages: tuple[Message, ...] = ()


def read_pull(answer: RemotingCommand) -> Pulled:
    """Reads the answer to a pull."""
    reply = client.PullMessageReply.from_ext(answer.ext_fields)
    return Pulled(
        PullStatus(answer.code),
        reply.next_begin_offset,
        reply.min_offset,
        reply.max_offset,
        reply.suggest_which_broker_id,
        tuple(decode_messages(answer.body)) if answer.code == _SUCCESS else (),
    )


def pull(
    group: str,
    topic: str,
    queue_id: int,
    offset: int,
    *,
    max_count: int = 32,
    expression: str = "*",
    expression_type: str = "TAG",
    suspend_ms: int = 0,
) -> Question[Pulled]:
    """Fetch messages of one queue without being a member of the group; commits nothing.

    Args:
        suspend_ms: how long the broker may hold the request when there is nothing new.
    """
    request = client.PullMessage(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=max_count,
        sys_flag=SYS_FLAG_SUBSCRIPTION | (SYS_FLAG_SUSPEND if suspend_ms else 0),
        commit_offset=0,
        suspend_timeout_millis=suspend_ms,
        subscription=expression,
        sub_version=0,
        expression_type=expression_type,
    )
    return Question(request, read_pull, accepts=PULL_RESULTS)


def message_at(physical_offset: int, topic: str | None = None) -> Question[Message]:
    """The message at a physical offset; an offset inside a message returns garbage, so compare what comes back."""
    request = admin.ViewMessage(offset=physical_offset, topic=topic)
    return Question(request, lambda answer: decode_message(answer.body))


def says_no_message(error: MqctlError) -> bool:
    """Tells whether a broker says to `message_at` that it has no message there.

    4.9.8 refuses, 5.x answers without one (`QueryMessageProcessor.viewMessageById`), and bytes may come that are none.
    """
    if isinstance(error, NotFoundError | UnreadableAnswerError):
        return True
    if not isinstance(error, RefusedAnswerError) or error.code != ResponseCode.SYSTEM_ERROR:
        return False
    return "can not find message" in (error.remark or "")


def messages_by_key(
    topic: str, key: str, *, begin_ms: int, end_ms: int, max_count: int = 64, unique: bool = False
) -> Question[tuple[Message, ...]]:
    """Messages whose key has the same hash: compare the keys of what comes back.

    Args:
        begin_ms, end_ms: store times between which to look, epoch milliseconds.
        unique: `key` is a unique key (UNIQ_KEY) rather than one of KEYS.
    """

    def read(answer: RemotingCommand) -> tuple[Message, ...]:
        return tuple(decode_messages(answer.body)) if answer.code == _SUCCESS else ()

    request = admin.QueryMessage(
        topic=topic,
        key=key,
        max_num=max_count,
        begin_timestamp=begin_ms,
        end_timestamp=end_ms,
        unique_key_query=True if unique else None,
    )
    return Question(request, read, accepts=frozenset({_SUCCESS, int(ResponseCode.QUERY_NOT_FOUND)}))
