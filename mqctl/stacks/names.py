"""What the name of a thread says: consume thread, one of the client's own threads, or somebody else's.

Names are those of the Java client 4.x and 5.x, of our own client, which uses the same ones, and of the gRPC clients for
Java (`RocketmqMessageConsumption-0-7`) and Python (`host@pid@0@id_message_consumption_thread_0`). Sources:
`ConsumeMessageConcurrentlyService` and `...OrderlyService` (`ConsumeMessageThread_`, in old clients with a number only,
in newer ones with the group, cut to 100 characters), `ConsumeMessagePop...Service` of 5.x,
`DefaultLitePullConsumerImpl` (`PullMsgThread-`), `MQClientInstance`, `NettyRemotingClient`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal

CUT_LENGTHS = (15, 40)
"""Where tools cut names: Linux' `comm` at 15 characters, older console tools at 40."""

_CONSUME = re.compile(r"ConsumeMessage(?:Pop)?Thread_(?:(?P<group>.+)_)?(?P<number>\d+)$")
_CONSUME_PREFIX = re.compile(r"ConsumeMessage(?:Pop)?Thread_(?P<group>.*)$", re.DOTALL)
_GRPC = re.compile(
    r"(?:RocketmqMessageConsumption(?:-\d+)?-|.*_message_consumption_thread_)(?P<number>\d+)$", re.DOTALL
)
_GRPC_CLIENT = re.compile(r"Rocketmq[A-Z]|.*_message_decode_thread_\d+$|transaction_check_thread_\d+$", re.DOTALL)
_DIRECT = "ConsumeMessageDirectly"
_CUT_CONSUME = "ConsumeMessageThread"[: min(CUT_LENGTHS)]
_LITE = re.compile(r"PullMsgThread-(?P<group>.+?)(?:_(?P<number>\d+))?$")
_CLIENT = re.compile(
    r"MQClientFactoryScheduledThread|PullMessageService|PopMessageService|RebalanceService|CleanExpireMsgScheduledThread_"
    r"|ConsumeMessageScheduledThread_|NettyClient|PersistOffset|AsyncSenderExecutor_|AsyncSenderThread_"
    r"|MQ-AsyncTraceDispatcher|MQ-AsyncArrayDispatcher|MonitorMessageQueueChangeThread|RequestHouseKeepingService"
    r"|LatencyFaultTolerance|PullMessageServiceScheduledThread|ClientHouseKeepingService|FlushConsumerOffset"
)
_RUNTIME = re.compile(
    r"Reference Handler|Finalizer|Signal Dispatcher|Attach Listener|Common-Cleaner|Service Thread|Monitor Deflation"
    r"|Notification Thread|C[12] CompilerThread\d*|Sweeper thread|DestroyJavaVM|Cleaner-\d|VM Thread|VM Periodic"
    r"|GC Thread|G1 |ParGC |Concurrent Mark|Surrogate Locker|JVMCI"
)


class Role(StrEnum):
    """Whose thread it is."""

    CONSUME = "consume"
    CLIENT = "client"
    RUNTIME = "runtime"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadName:
    """A thread's name, understood.

    Attributes:
        group: consumer group; None where the name does not tell it (clients up to 4.9.0). Cut when `cut`.
        number: of the thread in its pool.
        cut: the tool cut the name: the group may be longer, the number is lost.
    """

    role: Role
    group: str | None = None
    number: int | None = None
    cut: bool = False


@lru_cache(maxsize=16_384)
def understand(name: str) -> ThreadName:
    """Returns what `name` says."""
    whole = _CONSUME.match(name)
    if whole is not None:
        cut = len(name) in CUT_LENGTHS  # the number, or the end of the group, may be missing
        return ThreadName(role=Role.CONSUME, group=whole["group"], number=decimal(whole["number"]), cut=cut)
    part = _CONSUME_PREFIX.match(name)
    if part is not None:
        return ThreadName(role=Role.CONSUME, group=part["group"].rstrip("_") or None, cut=True)
    own_pool = _GRPC.match(name)
    if own_pool is not None:
        return ThreadName(role=Role.CONSUME, number=decimal(own_pool["number"]))
    if name.startswith(_DIRECT) or name == _CUT_CONSUME:
        return ThreadName(role=Role.CONSUME, cut=name == _CUT_CONSUME)
    lite = _LITE.match(name)
    if lite is not None:
        return ThreadName(role=Role.CLIENT, group=lite["group"], number=decimal(lite["number"]))
    own = Role.RUNTIME if _RUNTIME.match(name) else Role.OTHER
    return ThreadName(role=Role.CLIENT if _CLIENT.match(name) or _GRPC_CLIENT.match(name) else own)
