"""When a message that failed is tried again, and when it becomes a dead letter if every try fails.

Source: `AbstractSendMessageProcessor.consumerSendMsgBack` of 4.9.8 and 5.3.3: a failure with n failures before it waits
behind delay level 3 + n, and is given up when n has reached the group's `retryMaxTimes`. A client with a limit of its
own (`maxReconsumeTimes`) may give up sooner; an orderly one retries in memory and knows no ladder.
"""

from __future__ import annotations

from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass

_FIRST_LEVEL = 3
# So many steps of a ladder are computed: a group may allow two billion retries.
MOST_STEPS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLadder:
    """The waits of one group on one broker.

    Attributes:
        retry_max_times: the group's limit; the message is tried once more often than that.
    """

    retry_max_times: int
    levels: DelayLevelTable = DEFAULT_TABLE

    def wait_ms(self, failed_count: int) -> int | None:
        """Returns how long a message waits that failed for the `failed_count`-th time; None without delay levels."""
        return self.levels.delay_ms(min(_FIRST_LEVEL + failed_count - 1, self.levels.max_level))

    def left(self, failed_count: int) -> int:
        """Returns how often a message that failed so often is tried again before it is given up."""
        return max(1, self.retry_max_times - failed_count + 1)

    def tries_ms(self, failed_count: int, next_ms: int) -> tuple[int, ...]:
        """Returns when it is tried, epoch milliseconds: at `next_ms` and after each failure, if all fail at once.

        The last is the moment at which it becomes a dead letter, unless there are more than `MOST_STEPS`.
        """
        times = [next_ms]
        for failures in range(failed_count + 1, failed_count + min(self.left(failed_count), MOST_STEPS)):
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
        """Returns how long after its first failure a message becomes a dead letter, at the soonest."""
        first = self.wait_ms(1)
        if first is None or self.retry_max_times < 1:
            return 0
        steps = self.tries_ms(1, first)
        return steps[-1] + (self.retry_max_times - len(steps)) * (self.wait_ms(len(steps)) or 0)
