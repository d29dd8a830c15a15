"""When a message that failed is tried again, and when it becomes a dead letter if every try fails.

Source: `AbstractSendMessageProcessor.consumerSendMsgBack` of 4.9.8 and 5.3.3: a failure with n failures before it waits
behind delay level 3 + n, and is given up when n has reached the limit: that of the member that sends it back
(`maxReconsumeTimes`, see `mqctl.model.retry_limit`), or the group's `retryMaxTimes` where members do not tell. An
orderly member retries in memory and knows no ladder.
"""

from __future__ import annotations

from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.retry_limit import LimitOf, MemberLimit

_FIRST_LEVEL = 3
# So many steps of a ladder are computed: a group may allow two billion retries.
MOST_STEPS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLadder:
    """The waits of one group on one broker.

    Attributes:
        retry_max_times: the limit; the message is tried once more often than that. None without end.
        levels: none where members try again in place.
        limit_of: whose limit it is.
    """

    retry_max_times: int | None
    levels: DelayLevelTable = DEFAULT_TABLE
    limit_of: LimitOf = LimitOf.GROUP

    def wait_ms(self, failed_count: int) -> int | None:
        """Returns how long a message waits that failed for the `failed_count`-th time; None without delay levels."""
        return self.levels.delay_ms(min(_FIRST_LEVEL + failed_count - 1, self.levels.max_level))

    def of_members(self, limit: MemberLimit) -> RetryLadder:
        """Returns the ladder of members that reported this limit."""
        levels = DelayLevelTable(()) if limit.orderly else self.levels
        return RetryLadder(retry_max_times=limit.most, levels=levels, limit_of=LimitOf.MEMBERS)

    def exceeded(self, failed_count: int) -> bool:
        """Tells whether a message failed more often than the limit lets it: then the limit is another one."""
        return self.retry_max_times is not None and failed_count > self.retry_max_times

    def left(self, failed_count: int) -> int | None:
        """Returns how often a message that failed so often is tried again before it is given up.

        None without end, and where its count shows that the limit is not known.
        """
        if self.retry_max_times is None or self.exceeded(failed_count):
            return None
        return self.retry_max_times - failed_count + 1

    def tries_ms(self, failed_count: int, next_ms: int) -> tuple[int, ...]:
        """Returns when it is tried, epoch milliseconds: at `next_ms` and after each failure, if all fail at once.

        The last is the moment at which it becomes a dead letter, unless `left` has more or none.
        """
        left = self.left(failed_count)
        if left is None:
            return (next_ms,)
        times = [next_ms]
        for failures in range(failed_count + 1, failed_count + min(left, MOST_STEPS)):
            wait_ms = self.wait_ms(failures)
            if wait_ms is None:
                break
            times.append(times[-1] + wait_ms)
        return tuple(times)

    def failed_by_ms(self, failed_count: int, given_up_ms: int) -> tuple[int, ...]:
        """Returns when each failure of a dead letter was at the latest, epoch milliseconds; the last `MOST_STEPS`.

        A try comes no sooner than its wait lets it; a consumer that is slow, or was away, has failed earlier.
        """
        times = [given_up_ms]
        for failures in range(failed_count - 1, max(failed_count - MOST_STEPS, 0), -1):
            times.append(times[-1] - (self.wait_ms(failures) or 0))
        return tuple(reversed(times))

    def whole_ms(self) -> int:
        """Returns how long after its first failure a message becomes a dead letter, at the soonest; 0 without end."""
        first = self.wait_ms(1)
        if first is None or self.retry_max_times is None or self.retry_max_times < 1:
            return 0
        steps = self.tries_ms(1, first)
        return steps[-1] + (self.retry_max_times - len(steps)) * (self.wait_ms(len(steps)) or 0)
