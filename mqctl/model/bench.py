"""What a bench is asked to do, and what came of it: plain values, as JSON has them and `bench compare` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts

BENCH_SCHEMA = "bench.run/1"


class BenchKind(StrEnum):
    """What was measured."""

    PRODUCE = "produce"
    CONSUME = "consume"
    LATENCY = "latency"


class SendMode(StrEnum):
    """SYNC: each of so many senders waits for its answer before it sends again. ASYNC: one sender goes on until so many
    answers are outstanding. ONEWAY: no answer is asked for."""

    SYNC = "sync"
    ASYNC = "async"
    ONEWAY = "oneway"


class MessageType(StrEnum):
    """Kind of the messages, by 5.x's names."""

    NORMAL = "normal"
    FIFO = "fifo"
    DELAY = "delay"
    TRANSACTION = "transaction"


class CompressionName(StrEnum):
    """How bodies are compressed."""

    NONE = "none"
    ZLIB = "zlib"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is sent, and how.

    Attributes:
        min_bytes, max_bytes: sizes of bodies, evenly spread between both, before compression.
        key_count: distinct message keys; 0 sends none.
        batch_count: messages of one request.
        in_flight: requests without an answer at any time, over all processes.
        connection_count: to each broker, from each process.
        rate: messages a second of the schedule, over all processes; None is as fast as it goes.
        delay_level: of delayed messages.
        rollback_share: transactions that are rolled back; the others are committed.
        seed: of bodies, sizes and keys.
    """

    mode: SendMode = SendMode.SYNC
    message_type: MessageType = MessageType.NORMAL
    min_bytes: int = 1024
    max_bytes: int = 1024
    key_count: int = 0
    tag: str | None = None
    batch_count: int = 1
    in_flight: int = 64
    connection_count: int = 4
    process_count: int = 1
    rate: float | None = None
    delay_level: int = 0
    rollback_share: float = 0.0
    compression: CompressionName = CompressionName.NONE
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """A distribution of times, in milliseconds; from an HdrHistogram with three significant digits.

    Attributes:
        histogram: the whole distribution in microseconds, in HdrHistogram's V2 form, compressed, as Base64.
    """

    count: int
    mean_ms: float
    min_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    p9999_ms: float
    max_ms: float
    histogram: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSecond:
    """One second of a run.

    Attributes:
        second: since the start.
        counted: False while the run warms up.
        p50_ms, p99_ms, max_ms: None when nothing was answered.
    """

    second: int
    counted: bool
    message_count: int
    size_bytes: int
    error_count: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchError:
    """Requests that failed alike.

    Attributes:
        code: response code; None for what no broker answered.
        name: its name, or TIMEOUT, CONNECTION, NOT_SENT (due by the schedule, but the run ended before).
        example: what the first of them said.
    """

    code: int | None
    name: str
    count: int
    example: str
    example_key: str | None = None
    example_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "example")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """What a broker tells of the same time; None where it did not tell.

    Attributes:
        stored_count: how far the ends of the topic's queues moved. Others may have written too where the topic is
            somebody else's.
        put_tps_max: highest of its own ten-second averages, all topics.
        send_wait_max_ms: longest time that the oldest waiting send was seen to wait for a thread.
        send_queue_max: most sends seen waiting.
        page_cache_lock_max_ms: longest append seen under way.
    """

    broker_name: str
    version: str | None
    stored_count: int | None
    put_tps_max: float | None
    get_tps_max: float | None
    send_wait_max_ms: int | None
    send_queue_max: int | None
    page_cache_lock_max_ms: int | None
    sample_count: int


class LimitKind(StrEnum):
    """What kept a run from being faster."""

    SCHEDULE = "schedule"
    CLIENT_CPU = "client-cpu"
    IN_FLIGHT = "in-flight"
    BROKER = "broker"
    NETWORK = "network"
    QUOTA = "quota"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLimit:
    """What limited the run, the numbers that say so, and what to do for more."""

    what: LimitKind
    evidence: str
    next: str
    evidence_key: str | None = None
    evidence_values: dict[str, Any] | None = None
    next_key: str | None = None
    next_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "evidence", "next")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchClient:
    """The cost on our side.

    Attributes:
        cpu_share: of one core, of the busiest process.
        blocked_share: of the time in which a connection took no more bytes, of the process with the most.
        arriving_share: of the time in which a part of an answer was there and the rest was not, of the process with the
            most; readers measure it.
        connect_ms: fastest TCP connect to a broker: the network's round trip at best.
    """

    cpu_share: float
    cpu_us_per_message: float | None
    blocked_share: float
    connect_ms: float | None
    arriving_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """A run.

    Attributes:
        ended_by: duration, count, quota, interrupt, or end: all that was there was read.
        counted_s: seconds that the figures are of: without warming up, to the last answer.
        latency: with a rate, from the moment each message was due: a stall counts for all that had to wait; else
            from the moment it was sent. With `consume` and `latency`, until a consumer had it.
        service: from the moment it was sent to the answer, where that differs from `latency`.
        send: with `latency`, from the moment it was due to the answer of the broker.
    """

    kind: BenchKind
    topic: str
    group: str | None
    cluster: str
    began_ms: int
    ended_by: str
    workload: Workload
    counted_s: float
    request_count: int
    message_count: int
    size_bytes: int
    messages_per_s: float
    bytes_per_s: float
    error_count: int
    errors: Sequence[BenchError]
    latency: Percentiles | None
    service: Percentiles | None
    send: Percentiles | None = None
    series: Sequence[BenchSecond] = ()
    brokers: Sequence[BrokerView] = ()
    client: BenchClient | None = None
    limit: BenchLimit | None = None
    counting: str = ""
    counting_key: str | None = None
    counting_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "counting")
