"""Times as people type them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.spans import DAY_MS, span_ms
from mqctl.text import sentence

LONGEST_SPAN = "36500d"
_LONGEST_SPAN_MS = 36_500 * DAY_MS  # a century: waits of threads end at 292 years, dates at the year 9999
_FORMS = "ISO (2026-11-21T10:00), epoch milliseconds, now, -2h, 10 minutes ago, 10:42, yesterday 10:00"
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,3})?)?")
_OF_MQADMIN = re.compile(r"([0-9-]+)#([0-9:]+)(?::([0-9]{3}))")


@dataclass(frozen=True, slots=True)
class Instant:
    """A parsed time.

    Attributes:
        epoch_ms: milliseconds since the epoch.
        text: the instant as ISO text with its zone, to be echoed to the user.
    """

    epoch_ms: int
    text: str


def parse_instant(text: str, now: datetime, *, ahead: bool = False) -> Instant:
    """Parses a time given on the command line.

    Args:
        text: ISO, epoch milliseconds, `now`, a relative time such as `-2h30m`, or words such as `yesterday 10:00`; a
            time of day (`10:42`) is the last one that was, mqadmin's `yyyy-MM-dd#HH:mm:ss:SSS` is read as well.
        now: the current time with its zone; times without a zone are taken in that zone.
        ahead: a time of day is the next one that comes.

    Raises:
        UsageError: when `text` is none of these, or leads out of the calendar.
    """
    when = _of_day(text.strip(), now, ahead=ahead) or _parse(_OF_MQADMIN.sub(r"\1 \2.\3", text.strip()), now)
    if when is None:
        raise UsageError(
            sentence("cli-cannot-read-time", "cannot read the time {text!r}", text=text),
            remedy=sentence("common-use", "use one of: {names}", names=_FORMS),
        )
    if when.tzinfo is None:
        when = when.replace(tzinfo=now.tzinfo)
    return Instant(round(when.timestamp() * 1000), when.isoformat(sep=" ", timespec="milliseconds"))


def parse_span_ms(text: str) -> int:
    """Parses a duration such as `90s`, `1h30m` or `500ms` into milliseconds.

    Raises:
        UsageError: when `text` is no duration, or one that is longer than a century.
    """
    total = _span_ms(text.strip())
    if total is None:
        raise UsageError(
            sentence("cli-cannot-read-duration", "cannot read the duration {text!r}", text=text),
            remedy=sentence("cli-use-instance", "use for instance 90s, 15m, 1h30m, 2d"),
        )
    return total


def _span_ms(text: str) -> int | None:
    total = span_ms(text)
    if total is None:
        return None
    if total > _LONGEST_SPAN_MS:
        raise UsageError(
            sentence("cli-duration-too-long", "the duration {text!r} is too long", text=text),
            remedy=sentence("cli-longest", "the longest is {longest_span}", longest_span=LONGEST_SPAN),
        )
    return round(total)


def _of_day(text: str, now: datetime, *, ahead: bool) -> datetime | None:
    if not _CLOCK.fullmatch(text):
        return None
    try:
        when = datetime.fromisoformat(f"{now.date()} {text if text[1] != ':' else '0' + text}")
    except ValueError:
        return None
    bare_now = now.replace(tzinfo=None)
    if ahead:
        return when if when >= bare_now else when + timedelta(days=1)
    return when if when <= bare_now else when - timedelta(days=1)


def _parse(text: str, now: datetime) -> datetime | None:
    if text == "now":
        return now
    if text[:1] in "+-" and (span := _span_ms(text[1:])) is not None:
        delta = timedelta(milliseconds=span)
        return now - delta if text[0] == "-" else now + delta
    try:
        instant_ms = decimal(text) if len(text) >= 11 else None
        if instant_ms is not None:
            return datetime.fromtimestamp(instant_ms / 1000, now.tzinfo)
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        # Digits that are no date must not be guessed at: dateparser would swap month and day.
        return _parse_words(text, now) if any(char.isalpha() for char in text) else None


def _parse_words(text: str, now: datetime) -> datetime | None:
    import dateparser

    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "RETURN_AS_TIMEZONE_AWARE": False}
    moment: datetime | None = dateparser.parse(text, languages=["en", "zh"], settings=settings)
    return moment
