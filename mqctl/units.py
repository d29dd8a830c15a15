"""Numbers as people read them, in all languages: counts with their nouns, bytes, durations, instants, shares and rates.

Functions write a number. A `Count`, a `Duration`, ... is a number that a text names: the text writes it so, JSON has
the number itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

_HOUR_MS = 3_600_000
_DURATION_STEPS = ((24 * _HOUR_MS, "d"), (_HOUR_MS, "h"), (60_000, "min"), (1_000, "s"))
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


def span(value_ms: float) -> str:
    """Returns a span of time that was measured or set, to three significant digits: `0.35 ms`, `1.5 s`.

    From two minutes on it is written as `duration` does.
    """
    if abs(value_ms) < 1_000:
        return f"{value_ms:.3g} ms"
    return f"{value_ms / 1_000:.3g} s" if abs(value_ms) < 120_000 else duration(round(value_ms))


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
    nearest_ms = (value_ms + _HOUR_MS // 2) // _HOUR_MS * _HOUR_MS
    when = datetime.fromtimestamp(nearest_ms / 1000, UTC).astimezone()
    return when.weekday(), when.strftime("%Y-%m-%d %H:%M%z")


def share(value: float) -> str:
    """Returns a fraction as a percentage with at most one decimal."""
    return f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def ratio(value: float) -> str:
    """Returns a plain number with two decimals."""
    return f"{value:,.2f}"


class Count(int):
    """A count that can bring its noun and its verb, or the unit of a rate.

    `{lost:message}` gives `1 message` or `2 messages`, `{lost:message is/are}` brings the verb as well, and
    `{lost:/is/are}` gives the verb of a count that the sentence has told before.
    """

    __slots__ = ()

    def __format__(self, words: str) -> str:
        if words and not (words[0].isalpha() or words[0] == "/"):
            return int.__format__(self, words)  # a form of numbers: `{shift_count:+,}`
        return _with_words(count(int(self)), words, single=self == 1)


class Stand(str):
    """What stands where a count would, `unknown` or `<lost>`: its noun and its verb are those of several."""

    __slots__ = ()

    def __format__(self, words: str) -> str:
        return _with_words(str.__str__(self), words, single=False)


class Duration(int):
    """A span of time in milliseconds."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return duration(int(self))


class Limit(int):
    """A span of time in milliseconds that somebody set: half seconds are told."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return span(int(self))


class Span(float):
    """A span of time in milliseconds that was measured more finely."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return span(float(self))


class Instant(int):
    """An instant in milliseconds since the epoch."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return instant(int(self))


class Size(int):
    """A number of bytes. `{size_bytes:byte}` and `{size_bytes:,}` count them to the last one."""

    __slots__ = ()

    def __format__(self, words: str) -> str:
        return format(Count(self), words) if words else size(int(self))


class Share(float):
    """A fraction of 1."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return share(float(self))


class Rate(float):
    """A rate per second; `{in_tps:/s}` has its unit too."""

    __slots__ = ()

    def __format__(self, unit: str) -> str:
        return f"{rate(float(self))}{unit}"


class Figure(float):
    """Any other number, with four significant digits."""

    __slots__ = ()

    def __format__(self, _: str) -> str:
        return f"{float(self):,.4g}"


_WRITTEN = Count | Duration | Limit | Span | Instant | Size | Share | Rate | Figure
_BY_ENDING: tuple[tuple[str, type[float]], ...] = (
    ("_count", Count),
    ("_time_ms", Instant),
    ("_at_ms", Instant),
    ("_limit_ms", Limit),
    ("_ms", Duration),
    ("_bytes", Size),
    ("_bytes_per_s", Size),
    ("_per_s", Count),
)
_FRACTIONS: tuple[tuple[str, type[float]], ...] = (
    ("_share", Share),
    ("_tps", Rate),
    ("_ms", Span),
    ("_per_s", Rate),
)


def by_unit(name: str, value: float) -> float:
    """Returns a mere number as it is written by the unit that its name ends in; any other number as it is."""
    if isinstance(value, bool | _WRITTEN):
        return value
    known = (*_BY_ENDING, *_FRACTIONS) if isinstance(value, int) else _FRACTIONS
    return next((kind(value) for ending, kind in known if f"_{name}".endswith(ending)), value)


def measured(name: str, value: float) -> float:
    """Returns a number of a finding as its sentences have it: by its unit, a fraction without one to four digits."""
    written = by_unit(name, value)
    return Figure(written) if isinstance(written, float) and not isinstance(written, _WRITTEN) else written


def plain(value: float) -> float:
    """Returns the number itself, as JSON has it."""
    if isinstance(value, bool):
        return value
    return int(value) if isinstance(value, int) else float(value)


def _with_words(text: str, words: str, *, single: bool) -> str:
    if words in ("", ","):
        return text
    if words.startswith("/"):
        return agreeing(words[1:], single=single) if "/" in words[1:] else f"{text}{words}"
    return f"{text} {agreeing(words, single=single)}"


def agreeing(words: str, *, single: bool) -> str:
    """Returns a noun, a verb given as `is/are`, or both, as they go with one or with many."""
    noun, _, verb = words.rpartition(" ") if "/" in words else (words, "", "")
    one, _, many = verb.partition("/")
    return " ".join(filter(None, (noun, one) if single else (noun and _plural(noun), many)))


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"
