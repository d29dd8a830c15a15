"""Patterns of remote addresses in access lists (`RemoteAddressStrategyFactory`, `AclUtils` of 4.9.8).

Blank matches nobody; `*`, `*.*.*.*` and `*:*:*:*:*:*:*:*` everybody; `10.1.2.3` and `10.1.2.3,10.1.2.4` and
`10.1.2.{3,4}` those, without spaces; `10.1.*.*` and `10.1.1-9.*` who lies in the range of the first part that is one:
later parts do not count. The same with the groups of IPv6, whose ranges may stand in the last two groups only. A
gap right before an IPv6 range is one group of zeros, however many it stands for: `fe80::*` is `fe80:0:*`.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from mqctl.errors import ConfigurationError

Matches = Callable[[str], bool]
_EVERYBODY = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})
_SCOPE = "Netaddress examine scope Exception netaddress is "
_LIST_SCOPE = "MultipleRemoteAddressStrategy netaddress examine scope Exception netaddress"
_LIST_FORMAT = "MultipleRemoteAddressStrategy has got a/some wrong format IP(s) "
_RANGE_VALUE = "RangeRemoteAddressStrategy netaddress examine scope Exception value "


class AddressPatternError(ConfigurationError):
    """A pattern of addresses that cannot be read.

    Attributes:
        remark: what a 4.9.8 broker says of it.
    """

    def __init__(self, text: str, reason: str, remark: str) -> None:
        super().__init__(
            f"the address pattern {text!r} cannot be read",
            reason=reason,
            remedy="write 10.1.2.3, 10.1.2.*, 10.1.2.1-9 or 10.1.2.{3,4}, without spaces",
        )
        self.remark = remark


def address_pattern(text: str) -> Matches:
    """Returns what tells whether an address (without port) matches.

    Raises:
        AddressPatternError: the pattern cannot be read.
    """
    if not text.strip():
        return lambda _: False
    if text in _EVERYBODY:
        return lambda _: True
    if text.endswith("}"):
        return _any_of(text, _listed(text))
    if "," in text:
        return _any_of(text, [item for item in text.split(",") if item])
    if "*" in text or "-" in text:
        return _range_of_six(text) if ":" in text else _range_of_four(text)
    return _any_of(text, [text])


def _listed(text: str) -> list[str]:
    parts = [part for part in text.split(":" if ":" in text else ".") if part]
    if ":" not in text and len(parts) < 4:
        raise AddressPatternError(text, "it has not four parts", _LIST_FORMAT)
    if not parts[-1].startswith("{"):
        raise AddressPatternError(text, "only the last part may be a list in braces", _LIST_SCOPE)
    head, _, tail = text.partition("{")
    return [head + item for item in tail[:-1].split(",") if item]


def _any_of(text: str, addresses: list[str]) -> Matches:
    known = set()
    for address in addresses:
        parsed = _parsed(address)
        if parsed is None:
            remark = f"Netaddress examine Exception netaddress is {address}"
            raise AddressPatternError(text, f"{address!r} is no address", remark)
        known.add(parsed)

    def matches(address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and parsed in known

    return matches


def _range_of_four(text: str) -> Matches:
    parts = [part.strip() for part in text.split(".")]
    if len(parts) != 4:
        raise AddressPatternError(text, "it has not four parts", _SCOPE + text)
    index = next((n for n in (1, 2, 3) if "*" in parts[n] or "-" in parts[n]), None)
    if index is None:
        raise AddressPatternError(text, "its first part may be no range", _SCOPE + text)
    head = tuple(_number(text, part, 10, 255) for part in parts[:index])
    low, high = _bounds(text, parts[index], 10, 255)

    def matches(address: str) -> bool:
        parsed = _parsed(address)
        if not isinstance(parsed, IPv4Address):
            return False
        octets = tuple(parsed.packed)
        return octets[:index] == head and low <= octets[index] <= high

    return matches


def _range_of_six(text: str) -> Matches:
    last = text.rfind(":")
    before_last = text.rfind(":", 0, max(last, 0))
    star, minus = "*" in text, "-" in text
    if star and text.index("*") != len(text) - 1:
        raise AddressPatternError(text, "a `*` may stand at its end only", _SCOPE + text)
    if minus and text.index("-") <= (before_last if star else last):
        raise AddressPatternError(text, "only the last two groups may be ranges", _SCOPE + text)
    groups = [group.strip() for group in text.split(":") if group]
    bounds = next((group for group in groups[1:] if group == "*" or "-" in group), None)
    if bounds is None:
        raise AddressPatternError(text, "its first group may be no range", _SCOPE + text)
    low, high = _bounds(text, bounds, 16, 0xFFFF)
    count, cut = (6, before_last) if star and minus else (7, last)
    head = [_number(text, group, 16, 0xFFFF) for group in _spread(text[:cut], count)]
    index = len(head)
    if index > count:
        raise AddressPatternError(text, f"it has more than {count} groups before its range", _SCOPE + text)

    def matches(address: str) -> bool:
        parsed = _parsed(address)
        if not isinstance(parsed, IPv6Address):
            return False
        numbers = [int(group, 16) for group in parsed.exploded.split(":")]
        return numbers[:index] == head and low <= numbers[index] <= high

    return matches


def _spread(text: str, count: int) -> list[str]:
    """Returns the groups of the start of an IPv6 address, `::` filled to `count` groups (`AclUtils.expandIP`)."""
    missing = count - text.count(":")
    if missing > 0:
        text = text.replace("::", ":" * (missing + 1))
    return [group or "0" for group in text.split(":")]


def _bounds(text: str, part: str, base: int, top: int) -> tuple[int, int]:
    if part == "*":
        return 0, top
    first, _, last = part.partition("-")
    if not first:
        raise AddressPatternError(text, f"{part} has no beginning", f"{_RANGE_VALUE}{part} ")
    low, high = _number(text, first, base, top), _number(text, last, base, top)
    if low > high or not high:
        remark = f"{_RANGE_VALUE.removesuffix('value ')}start is {low} , end is {high}"
        raise AddressPatternError(text, f"{part} begins behind its end, or ends at 0", remark)
    return low, high


def _number(text: str, part: str, base: int, top: int) -> int:
    try:
        number = int(part, base)
    except ValueError as error:
        raise AddressPatternError(text, f"{part!r} is no number", f'For input string: "{part}"') from error
    if not 0 <= number <= top:
        raise AddressPatternError(text, f"{part} is not in 0 to {top}", _SCOPE + text)
    return number


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address)
    except ValueError:
        return None
