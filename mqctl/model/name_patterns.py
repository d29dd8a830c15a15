"""Names with `*` and `?`, which no name of RocketMQ has: one word for many groups or topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase


def is_pattern(name: str) -> bool:
    """Tells whether `name` stands for all names that look like it."""
    return "*" in name or "?" in name


def like_any(name: str, wanted: Collection[str]) -> bool:
    """Tells whether `name` is one of `wanted`, or looks like a pattern among them."""
    return name in wanted or any(fnmatchcase(name, one) for one in wanted if is_pattern(one))


def plain(names: Iterable[str]) -> list[str]:
    """Returns those that are no patterns."""
    return [name for name in names if not is_pattern(name)]
