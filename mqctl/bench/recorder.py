"""What happened, second by second: counts, errors by code, and times in HdrHistograms (microseconds)."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.bench.task import SecondTold
from mqctl.errors import ConfigurationError
from mqctl.model.command_line import command_line
from mqctl.text import sentence

try:
    from hdrh.histogram import HdrHistogram
except ImportError as missing:
    raise ConfigurationError(
        sentence("bench-needs-library-hdrhistogram", "bench needs the library hdrhistogram"),
        reason=sentence("not-installed", "it is not installed"),
        remedy=command_line("pip install 'mqctl[bench]'"),
    ) from missing

LONGEST_US = 3_600_000_000
DIGITS = 3


def new_histogram() -> HdrHistogram:
    """Returns an empty histogram of microseconds, up to an hour."""
    return HdrHistogram(1, LONGEST_US, DIGITS)


class Recorder:
    """Counts of one process, a second at a time.

    Args:
        scheduled: whether the time since a message was due differs from the time since it was sent.
    """

    def __init__(self, *, scheduled: bool) -> None:
        self._scheduled = scheduled
        self._latency = new_histogram()
        self._service = new_histogram()
        self._errors: dict[str, tuple[int, str]] = {}
        self.request_count = self.message_count = self.size_bytes = 0

    def answered(self, latency_s: float, service_s: float, messages: int, size_bytes: int) -> None:
        """Counts a request that succeeded."""
        self.request_count += 1
        self.message_count += messages
        self.size_bytes += size_bytes
        self._latency.record_value(_clamped(latency_s))
        if self._scheduled:
            self._service.record_value(_clamped(service_s))

    def sent(self, messages: int, size_bytes: int) -> None:
        """Counts a request that nobody answers."""
        self.request_count += 1
        self.message_count += messages
        self.size_bytes += size_bytes

    def received(self, ages_s: Sequence[float], service_s: float, messages: int, size_bytes: int) -> None:
        """Counts a pull that brought messages.

        Args:
            ages_s: since each of them was due to be sent, where they say so.
        """
        self.request_count += 1
        self.message_count += messages
        self.size_bytes += size_bytes
        self._service.record_value(_clamped(service_s))
        for age_s in ages_s:
            self._latency.record_value(_clamped(age_s))

    def failed(self, name: str, remark: str, waited_s: float | None, count: int = 1) -> None:
        """Counts requests that failed.

        Args:
            waited_s: for what was never answered, how long it has waited: with a schedule it counts as at least so
                slow, so that a stall does not make the percentiles better.
        """
        known, first = self._errors.get(name, (0, remark))
        self._errors[name] = (known + count, first)
        if waited_s is not None and self._scheduled:
            self._latency.record_value(_clamped(waited_s), count)

    def take(self, second: int) -> SecondTold:
        """Returns what happened since the last call."""
        second_of_run = SecondTold(
            second=second,
            request_count=self.request_count,
            message_count=self.message_count,
            size_bytes=self.size_bytes,
            errors=dict(self._errors),
            latency=_encoded(self._latency),
            service=_encoded(self._service) if self._scheduled else "",
        )
        self.request_count = self.message_count = self.size_bytes = 0
        self._errors.clear()
        self._latency.reset()
        self._service.reset()
        return second_of_run


def _clamped(duration_s: float) -> int:
    return min(LONGEST_US, max(1, round(duration_s * 1_000_000)))


def _encoded(histogram: HdrHistogram) -> str:
    return bytes(histogram.encode()).decode("ascii")
