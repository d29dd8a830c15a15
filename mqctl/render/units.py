"""Numbers as people read them: counts, bytes, durations and instants."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from mqctl.model.spans import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

_DURATION_STEPS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))
_BYTE_STEPS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def count(value: int) -> str:
    """Returns `value` with thousands separators."""
    return f"{value:,}"


def change(value: int) -> str:
    """Returns a difference with its sign."""
    return f"{value:+,}"


def rate(value: float) -> str:
    """Returns a rate per second: whole from 100 on, else with one decimal."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def size(value_bytes: int) -> str:
    """Returns a size in the largest binary unit that leaves at least 1, with three significant digits."""
    for step, unit in _BYTE_STEPS:
        if abs(value_bytes) >= step:
            number = value_bytes / step
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{value_bytes} B"


def duration(value_ms: int) -> str:
    """Returns a duration in its two largest units that are not 0: `2 h 5 min`, `10 h 1 s`, `12 s`, `340 ms`.

    Negative ones keep their sign; milliseconds are shown only where there are no seconds.
    """
    if value_ms < 0:
        return f"-{duration(-value_ms)}"
    if value_ms < 1_000:
        return f"{value_ms} ms"
    for position, (step, unit) in enumerate(_DURATION_STEPS):
        if value_ms >= step:
            whole, rest = divmod(value_ms, step)
            for smaller, smaller_unit in _DURATION_STEPS[position + 1 :]:
                if rest >= smaller:
                    return f"{whole} {unit} {rest // smaller} {smaller_unit}"
            return f"{whole} {unit}"
    return f"{value_ms} ms"


def instant(value_ms: int, zone: tzinfo | None = None) -> str:
    """Returns an epoch instant as ISO text with seconds and zone offset; local time unless `zone` says otherwise.

    A value beyond what the calendar holds is shown as it is, in milliseconds.
    """
    try:
        when = datetime.fromtimestamp(value_ms / 1000, UTC)
        return when.astimezone(zone).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{value_ms} ms"


def to_the_hour(value_ms: int) -> tuple[int, str]:
    """Returns the weekday (0 is Monday) and the nearest hour of an epoch instant, in local time."""
    nearest_ms = (value_ms + HOUR_MS // 2) // HOUR_MS * HOUR_MS
    when = datetime.fromtimestamp(nearest_ms / 1000, UTC).astimezone()
    return when.weekday(), when.strftime("%Y-%m-%d %H:%M%z")


def share(value: float) -> str:
    """Returns a fraction as a percentage with at most one decimal."""
    return f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def ratio(value: float) -> str:
    """Returns a plain number with two decimals."""
    return f"{value:,.2f}"
