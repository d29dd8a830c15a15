"""The last search through what may leave the house: for every value that was replaced, wherever it may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mqctl.model.lazy_dataclass import dataclass

_GONE = "***"
# What stands between blanks and brackets may be one of the values, or hold several: an address with its port, a path.
_PIECES = (
    re.compile(r"[^\s\"',;=()\[\]{}<>|]+"),
    re.compile(r"[\w.@#:+-]+"),
    re.compile(r"[\w.#-]+"),
    re.compile(r"[0-9A-Fa-f.:]+"),
    re.compile(r"(?:/[\w.@+-]+)+"),
)
_SHORTEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """Values that were replaced.

    Attributes:
        anywhere: addresses, hosts, client ids, paths: nowhere may one be left.
        telling: message keys and parts of client ids. A short one, or one that is a word, is found in any text and says
            nothing there; only the others are searched for.
    """

    anywhere: frozenset[str]
    telling: frozenset[str]

    def sought(self) -> frozenset[str]:
        """Returns those that can be searched for."""
        words = {word for word in self.telling if len(word) >= _SHORTEST and not word.isalpha()}
        return frozenset(word for word in {*self.anywhere, *words} if len(word) > 2)


def texts_of(node: object) -> set[str]:
    """Returns every text of a tree, keys of tables among them."""
    return set(_texts(node))


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield from _texts(name)
            yield from _texts(value)
    elif isinstance(node, Sequence):
        for item in node:
            yield from _texts(item)


def without_leftovers(tree: object, originals: Originals) -> object:
    """Returns the tree with every sought value that is still in it made unreadable."""
    sought = originals.sought()
    bad = {text: left for text in texts_of(tree) if (left := left_in(text, sought))}
    return _masked(tree, {text: _mask(text, left) for text, left in bad.items()}) if bad else tree


def left_in(text: str, sought: frozenset[str]) -> list[str]:
    """Returns the sought values that stand in a text, the longest first."""
    pieces = {piece for pattern in _PIECES for piece in pattern.findall(text)}
    words = {piece.strip(".:/") for piece in pieces} | pieces
    return sorted(words & sought, key=lambda word: (-len(word), word))


def _mask(text: str, left: Sequence[str]) -> str:
    for word in left:
        text = text.replace(word, _GONE)
    return text


def _masked(node: object, instead: Mapping[str, str]) -> object:
    if isinstance(node, str):
        return instead.get(node, node)
    if isinstance(node, Mapping):
        return {_masked(name, instead): _masked(value, instead) for name, value in node.items()}
    if isinstance(node, Sequence):
        return [_masked(item, instead) for item in node]
    return node
