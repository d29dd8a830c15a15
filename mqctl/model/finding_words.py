"""The numbers and names of findings as their sentences have them."""

from __future__ import annotations

from mqctl.model.finding import Value
from mqctl.text import printable, sentence
from mqctl.units import measured, to_the_hour

_WEEKDAYS = (
    sentence("weekday-monday", "Monday"),
    sentence("weekday-tuesday", "Tuesday"),
    sentence("weekday-wednesday", "Wednesday"),
    sentence("weekday-thursday", "Thursday"),
    sentence("weekday-friday", "Friday"),
    sentence("weekday-saturday", "Saturday"),
    sentence("weekday-sunday", "Sunday"),
)


def finding_value(name: str, value: Value) -> Value:
    """Returns a value as sentences write it: a number by the unit that its name ends in (see `Evidence`).

    Of the instant of a forecast, `_expected_time_ms`, weekday and hour are as much as can be said.
    """
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool):
        return value
    if name.endswith("_expected_time_ms"):
        weekday, hour = to_the_hour(round(value))
        return sentence("weekday-and-hour", "{weekday} {hour}", weekday=_WEEKDAYS[weekday], hour=hour)
    return measured(name, value)
