"""What a broker tells of itself (request 28), as typed values with units. None means that it does not tell."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT64, decimal, fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate over three spans, per second; brokers that started a moment ago know fewer."""

    ten_seconds: float | None = None
    one_minute: float | None = None
    ten_minutes: float | None = None

    @property
    def newest(self) -> float | None:
        return self.ten_seconds if self.ten_seconds is not None else self.one_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Requests that wait for a thread: how many, for how many there is room, and how long the oldest waits."""

    count: int | None = None
    capacity: int | None = None
    head_wait_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRuntime:
    """The state of a broker.

    Attributes:
        put_total_count, get_total_count: messages stored and delivered since midnight of the broker's own day.
        put_today_count: since that midnight; before it the broker counts from its start.
        commit_log_bytes: distance between the ends of the commit log.
        flush_behind_bytes, dispatch_behind_bytes: what is not on disk, and not in consume queues yet.
        append_p99_ms: one append in a hundred takes longer.
    """

    version: str | None = None
    boot_time_ms: int | None = None
    put_tps: Rate = Rate()
    get_tps: Rate = Rate()
    put_total_count: int | None = None
    get_total_count: int | None = None
    put_today_count: int | None = None
    get_today_count: int | None = None
    commit_log_min_offset: int | None = None
    commit_log_max_offset: int | None = None
    oldest_message_time_ms: int | None = None
    disk_used_share: float | None = None
    dispatch_behind_bytes: int | None = None
    append_p99_ms: float | None = None
    page_cache_lock_ms: int | None = None
    sends: Waiting = Waiting()
    pulls: Waiting = Waiting()

    @property
    def commit_log_bytes(self) -> int | None:
        if self.commit_log_min_offset is None or self.commit_log_max_offset is None:
            return None
        return self.commit_log_max_offset - self.commit_log_min_offset


def read_runtime(table: Mapping[str, str]) -> BrokerRuntime:
    """Reads a broker's table; values that are no numbers count as not told."""

    def whole(key: str) -> int | None:
        return decimal(table.get(key, "").strip(), -MOST_INT64)

    def real(key: str) -> float | None:
        return fraction(table.get(key))

    def rate(key: str) -> Rate:
        parts = [number for part in table.get(key, "").split() if (number := fraction(part)) is not None]
        known = [*parts, None, None, None]
        return Rate(ten_seconds=known[0], one_minute=known[1], ten_minutes=known[2])

    def waiting(prefix: str) -> Waiting:
        return Waiting(
            count=whole(f"{prefix}Size"),
            capacity=whole(f"{prefix}Capacity"),
            head_wait_ms=whole(f"{prefix}HeadWaitTimeMills"),
        )

    put_now, put_morning = whole("msgPutTotalTodayNow"), whole("msgPutTotalTodayMorning")
    get_now, get_morning = whole("msgGetTotalTodayNow"), whole("msgGetTotalTodayMorning")
    oldest = whole("earliestMessageTimeStamp")
    ratios = [value for key in ("commitLogDiskRatio", "consumeQueueDiskRatio") if (value := real(key)) is not None]
    return BrokerRuntime(
        version=table.get("brokerVersionDesc"),
        boot_time_ms=whole("bootTimestamp"),
        put_tps=rate("putTps"),
        get_tps=rate("getTransferedTps") if "getTransferedTps" in table else rate("getTransferredTps"),
        put_total_count=put_now,
        get_total_count=get_now,
        put_today_count=put_now - put_morning if put_now is not None and put_morning is not None else None,
        get_today_count=get_now - get_morning if get_now is not None and get_morning is not None else None,
        commit_log_min_offset=whole("commitLogMinOffset"),
        commit_log_max_offset=whole("commitLogMaxOffset"),
        oldest_message_time_ms=oldest if oldest is not None and oldest > 0 else None,
        disk_used_share=max(ratios, default=None),
        dispatch_behind_bytes=whole("dispatchBehindBytes"),
        append_p99_ms=real("putLatency99"),
        page_cache_lock_ms=whole("pageCacheLockTimeMills"),
        sends=waiting("sendThreadPoolQueue"),
        pulls=waiting("pullThreadPoolQueue"),
    )
