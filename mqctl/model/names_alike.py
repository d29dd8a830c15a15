"""Names that look alike: patterns with `*` and `?`, which no name of RocketMQ has, and near misses of what is there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from mqctl.text import sentence

_MOST = 3
_ALIKE = 0.65


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Returns at most three of `known`, the likeliest first: those that differ in case only, those that begin with
    `name`, those with a few letters changed."""
    from difflib import get_close_matches

    places: dict[str, str] = {item.lower(): item for item in sorted(known, reverse=True)}
    typed = name.lower()
    alike = get_close_matches(typed, places, n=_MOST, cutoff=_ALIKE)
    begun = sorted((item for item in places if typed and item.startswith(typed)), key=lambda item: (len(item), item))
    same = [item for item in alike if item == typed]
    return [places[item] for item in dict.fromkeys([*same, *begun, *alike])][:_MOST]


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """Returns the next thing to do about a name that is not there: the names that may be meant, then `otherwise`."""
    near = near_names(name, known)
    return sentence("did-mean", "did you mean {near:or}? {listed}", near=near, listed=otherwise) if near else otherwise


def is_pattern(name: str) -> bool:
    """Tells whether `name` stands for all names that look like it."""
    return "*" in name or "?" in name


def like_any(name: str, wanted: Collection[str]) -> bool:
    """Tells whether `name` is one of `wanted`, or looks like a pattern among them."""
    return name in wanted or any(fnmatchcase(name, one) for one in wanted if is_pattern(one))


def plain(names: Iterable[str]) -> list[str]:
    """Returns those that are no patterns."""
    return [name for name in names if not is_pattern(name)]
