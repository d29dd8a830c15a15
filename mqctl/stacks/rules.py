"""The rule table by which a stack is given its class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StackClass(StrEnum):
    """What a thread does. A user's rules may name classes of their own beside these."""

    IDLE = "idle"
    DEADLOCK = "deadlock"
    QUEUE_LOCK = "queue-lock"
    LOCK = "lock"
    HTTP = "http"
    DATABASE = "database"
    REDIS = "redis"
    RPC = "rpc"
    CONNECTION_POOL = "connection-pool"
    DNS = "dns"
    SOCKET = "socket"
    SLEEP = "sleep"
    RETRY = "retry"
    SEND = "send"
    LOGGING = "logging"
    FILE = "file"
    SERIALISATION = "serialisation"
    CLASS_LOADING = "class-loading"
    GC = "gc"
    WAIT = "wait"
    CPU = "cpu"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRule:
    """One line of the table; the first rule that matches decides."""

    name: str
    cls: str
