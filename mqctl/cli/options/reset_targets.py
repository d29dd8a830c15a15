"""Where a reset is to go, as somebody says it who does not know our options: `--to now`, `--since 10m`."""

from __future__ import annotations

from mqctl.model.spans import span_ms

_EPOCH_DIGITS = 11  # of a time in milliseconds
_PLACES = {
    **dict.fromkeys(("now", "latest", "end", "newest", "max"), "--to-latest"),
    **dict.fromkeys(("earliest", "beginning", "begin", "start", "oldest", "min"), "--to-earliest"),
    "current": "--to-current",
}
_TYPED = frozenset(
    f"--{word}" for word in ("since", "from", "to", "back", "ago", "last", "duration", "span", "time", "start", "begin")
)


def natural_target(typed: str, value: str) -> list[str]:
    """Returns the words of `offset reset` for an option of another name, by its value; none where it is no target.

    A span is always one to go back by: as a time it may lie behind what a late group has still to come to.
    """
    if typed not in _TYPED or not value:
        return []
    if value in _PLACES:
        return [_PLACES[value]]
    if span_ms(value.lstrip("-")) is not None:
        return ["--by-duration", value.lstrip("-")]
    if typed == "--to" and value.isdecimal() and len(value) < _EPOCH_DIGITS:
        return ["--to-offset", value]
    return ["--to-time", value]
