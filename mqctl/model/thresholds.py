"""Windows and guards of the rules; the defaults weigh what brokers and clients do by default."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.room_rule import RoomRule
from mqctl.model.spans import HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Thresholds of the rules.

    Attributes:
        lag_warning_ms, lag_error_ms: age of the next message to consume from which a group is behind.
        lag_min_count: lags of fewer messages are no backlog, however old: a quiet topic is not a sick one.
        retry_waiting_ms: retries are consumed as they come, and commits follow within five seconds; what waits for
            longer waits.
        expiry_margin_ms: a group this close to the oldest message that is left is about to lose messages; a quarter of
            the retention where that is less.
        revive_late_ms: popped messages that are due this long without coming again are stuck; two to four seconds
            are usual.
        popped_held_ms: popped messages whose time is lengthened for so long hang, or take longer than any should.
        hot_queue_factor: a queue with more than this many times the mean of its topic is hot.
        hot_queue_min_count: smaller queues are noise.
        hot_key_share: share of one key among a hot queue's messages that explains it.
        clock_step_ms: smaller steps back of the broker's clock do not matter.
        many_checks: check rounds after which a transaction is on its way to be discarded (at 15).
        trusted_mtime_ms: a configuration file this much younger than the newest message may have been copied; ages that
            rest on it are less certain.
        settle_ms: a group whose members started, came or went this recently is still settling.
        blocked_ms: a consumer that holds messages and has finished none for this long is blocked.
        pull_stopped_ms: a queue that its consumer has not pulled for this long is not consumed: twice what a pull
            takes, and half of the 120 s after which the consumer itself gives the queue up and takes it anew.
        lock_expired_ms: an orderly consumer must renew its queue locks within this time.
        cache_limit_count, cache_limit_mib, span_limit_count: a consumer's pull thresholds for one queue.
        dispatch_behind_bytes: what dispatching may be behind by without being called late.
        failed_share: share of failed messages from which consumption counts as failing.
        drain_window_ms: rates over less time than this are no rates: consumers commit every five seconds.
        drain_target_ms: a backlog should be gone within this time; what that takes is computed from it.
        hot_lag_share: share of a group's backlog in one queue from which that queue is what bounds it.
        busy_share: share of its threads' time that listeners take from which threads are what bounds a consumer.
        many_threads: threads of one instance beyond which more of them are no cure.
        slow_listener_ms: a listener that takes this long for a batch is itself what bounds the group.
        room_rule: how names tell their machine room; None leaves the rules about rooms out.
        time_scale: how much faster than real time the cluster under examination runs; client and broker times shrink
            by it.
        outlived_ms: what is kept for so long beyond its retention is not about to be deleted: two nights of cleaning
            have passed it by.
        file_reserved_ms: retention when the broker's configuration is not known (72 h).
    """

    lag_warning_ms: int = 5 * 60_000
    lag_error_ms: int = 60 * 60_000
    lag_min_count: int = 1
    retry_waiting_ms: int = 30_000
    expiry_margin_ms: int = 2 * HOUR_MS
    revive_late_ms: int = 60_000
    popped_held_ms: int = 5 * 60_000
    hot_queue_factor: float = 2.0
    hot_queue_min_count: int = 400
    hot_key_share: float = 0.5
    clock_step_ms: int = 1_000
    many_checks: int = 10
    trusted_mtime_ms: int = 60 * 60_000
    settle_ms: int = 120_000
    blocked_ms: int = 60_000
    pull_stopped_ms: int = 60_000
    lock_expired_ms: int = 30_000
    cache_limit_count: int = 1_000
    cache_limit_mib: int = 100
    span_limit_count: int = 2_000
    dispatch_behind_bytes: int = 64 << 20
    failed_share: float = 0.01
    drain_window_ms: int = 8_000
    drain_target_ms: int = HOUR_MS
    hot_lag_share: float = 0.8
    busy_share: float = 0.5
    many_threads: int = 64
    slow_listener_ms: int = 200
    room_rule: RoomRule | None = None
    time_scale: float = 1.0
    outlived_ms: int = 48 * HOUR_MS
    file_reserved_ms: int = 72 * HOUR_MS

    def scaled(self, duration_ms: int) -> int:
        """Returns a duration of real time as this cluster's clocks measure it."""
        return round(duration_ms / self.time_scale)
