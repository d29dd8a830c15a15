"""Names that are written nearly like one that is not there."""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 3
_ALIKE = 0.65


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Returns at most three of `known`, the likeliest first: those that differ in case only, those with a few letters
    changed, those that begin with `name`."""
    from difflib import get_close_matches

    places: dict[str, str] = {item.lower(): item for item in sorted(known, reverse=True)}
    typed = name.lower()
    alike = get_close_matches(typed, places, n=_MOST, cutoff=_ALIKE)
    begun = sorted(item for item in places if typed and item.startswith(typed))
    return [places[item] for item in dict.fromkeys([*alike, *begun])][:_MOST]


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """Returns the next thing to do about a name that is not there: the names that may be meant, then `otherwise`."""
    near = near_names(name, known)
    return f"did you mean {' or '.join(near)}? {otherwise}" if near else otherwise
