"""What one process of a bench is told, as JSON on its standard input, and what it says: one JSON line a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mqctl.client.remoting.tls import TlsSettings
from mqctl.model.bench import Workload
from mqctl.protocol.acl import Credentials


class BenchTask(msgspec.Struct, frozen=True, kw_only=True):
    """What one process sends, or pulls.

    Attributes:
        consumer_group: of one that pulls; empty for one that sends.
        begin_offsets: where it pulls from, by queue.
        end_offsets: up to where; None for whatever comes.
        number: of this process, from 0.
        addresses: of the masters, by broker name.
        queues: broker name and queue id of those that are written.
        max_messages, max_bytes, duration_ms: its share of the quota.
        due_at: by `time.monotonic`, when all processes begin.
    """

    number: int
    topic: str
    producer_group: str
    workload: Workload
    addresses: Mapping[str, str]
    queues: Sequence[tuple[str, int]]
    max_messages: int
    max_bytes: int
    duration_ms: int
    timeout_ms: int
    consumer_group: str = ""
    begin_offsets: Sequence[int] = ()
    end_offsets: Sequence[int] | None = None
    credentials: Credentials | None = None
    tls: TlsSettings | None = None


class SecondTold(msgspec.Struct, frozen=True, kw_only=True):
    """One second of one process.

    Attributes:
        errors: count and first remark by code, or by name where no broker answered.
        latency, service: histograms as Base64; service is empty where it would be the same.
    """

    second: int
    request_count: int
    message_count: int
    size_bytes: int
    errors: Mapping[str, tuple[int, str]]
    latency: str
    service: str


class EndTold(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of a process."""

    ended_by: str
    busy_s: float
    cpu_s: float
    blocked_s: float
    arriving_s: float = 0.0
    connect_ms: float | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One line: ready, a second, the end, or why it could not go on."""

    is_ready: bool = False
    second: SecondTold | None = None
    end: EndTold | None = None
    trouble: str = ""
