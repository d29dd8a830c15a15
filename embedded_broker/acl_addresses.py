"""Patterns of remote addresses in access lists (`RemoteAddressStrategyFactory`, `AclUtils` of 4.9.8).

Blank matches nobody; `*`, `*.*.*.*` and `*:*:*:*:*:*:*:*` everybody; `10.1.2.3` and `10.1.2.3,10.1.2.4` and
`10.1.2.{3,4}` those; `10.1.*.*` and `10.1.1-9.*` who lies in the range of the first part that is one: later parts do
not count. The same with the groups of IPv6, whose ranges may stand in the last two groups only.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from mqctl.errors import ConfigurationError

Matches = Callable[[str], bool]
_EVERYBODY = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})


def address_pattern(text: str) -> Matches:
    """Returns what tells whether an address (without port) matches.

    Raises:
        ConfigurationError: the pattern cannot be read.
    """
    text = text.strip()
    if not text:
        return lambda _: False
    if text in _EVERYBODY:
        return lambda _: True
    try:
        if text.endswith("}"):
            return _any_of(_listed(text))
        if "," in text:
            return _any_of(text.split(","))
        if "*" in text or "-" in text:
            return _range_of_six(text) if ":" in text else _range_of_four(text)
        return _any_of([text])
    except ValueError as error:
        raise ConfigurationError(
            f"the address pattern {text!r} cannot be read",
            reason=str(error),
            remedy="write 10.1.2.3, 10.1.2.*, 10.1.2.1-9 or 10.1.2.{3,4}",
        ) from error


def _listed(text: str) -> list[str]:
    head, brace, tail = text.partition("{")
    if not brace or not head.endswith((".", ":")):
        raise ValueError("only the last part may be a list in braces")
    return [head + item for item in tail[:-1].split(",")]


def _any_of(addresses: list[str]) -> Matches:
    known = {ip_address(address.strip()) for address in addresses}

    def matches(address: str) -> bool:
        found = _parsed(address)
        return found is not None and found in known

    return matches


def _range_of_four(text: str) -> Matches:
    parts = [part.strip() for part in text.split(".")]
    if len(parts) != 4:
        raise ValueError("it has not four parts")
    index = next((n for n in (1, 2, 3) if "*" in parts[n] or "-" in parts[n]), None)
    if index is None:
        raise ValueError("its first part may be no range")
    head = tuple(_number(part, 10, 255) for part in parts[:index])
    low, high = _bounds(parts[index], 10, 255)

    def matches(address: str) -> bool:
        found = _parsed(address)
        if not isinstance(found, IPv4Address):
            return False
        octets = tuple(found.packed)
        return octets[:index] == head and low <= octets[index] <= high

    return matches


def _range_of_six(text: str) -> Matches:
    *groups, last = text.split(":")
    bounds = last
    if last == "*" and groups and "-" in groups[-1]:
        bounds = groups.pop()
    if any("*" in group or "-" in group for group in groups):
        raise ValueError("only the last two groups may be ranges")
    index = 6 if bounds is not last else 7
    head = _expanded(groups, index)
    low, high = _bounds(bounds, 16, 0xFFFF)

    def matches(address: str) -> bool:
        found = _parsed(address)
        if not isinstance(found, IPv6Address):
            return False
        numbers = tuple(int(group, 16) for group in found.exploded.split(":"))
        return numbers[:index] == head and low <= numbers[index] <= high

    return matches


def _expanded(groups: list[str], count: int) -> tuple[int, ...]:
    """Reads the groups of an IPv6 prefix, `::` filled with zeros, to `count` numbers."""
    text = ":".join(groups)
    left, gap, right = text.partition("::")
    before = [_number(group, 16, 0xFFFF) for group in left.split(":") if group]
    after = [_number(group, 16, 0xFFFF) for group in right.split(":") if group]
    missing = count - len(before) - len(after)
    if missing < 0 or (missing and not gap):
        raise ValueError(f"it does not have {count} groups before its range")
    return (*before, *[0] * missing, *after)


def _bounds(text: str, base: int, top: int) -> tuple[int, int]:
    if text == "*":
        return 0, top
    first, _, last = text.partition("-")
    low, high = _number(first, base, top), _number(last, base, top)
    if low > high:
        raise ValueError(f"{text} begins behind its end")
    return low, high


def _number(text: str, base: int, top: int) -> int:
    number = int(text.strip(), base)
    if not 0 <= number <= top:
        raise ValueError(f"{text} is not in 0 to {top}")
    return number


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address)
    except ValueError:
        return None
