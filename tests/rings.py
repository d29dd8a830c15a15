"""Which ring a test is in: `pytest` runs the first, `pytest -m long` the second, `pytest -m quick` a cut of the first.

* A live case runs on one release; its twin on the other release is long. The test's name decides which of the two is
  which, so that each room meets both releases. A test marked `both_releases` names what differs between them and runs
  on both; the conformance suite always does.
* `--share K/N` runs the K-th of N shares of what was chosen. The shares are dealt by the tests' names: they depend on
  nothing else, and together they are everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest

RELEASES = ("4.9.8", "5.3.3")
_BOTH_EVERYWHERE = "tests/conformance/"


def leave_one_release(items: Iterable[pytest.Item]) -> None:
    """Marks as long what differs from another case by its release only."""
    cases: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        if item.get_closest_marker("both_releases") or item.nodeid.startswith(_BOTH_EVERYWHERE):
            continue
        words = item.nodeid.removesuffix("]").replace("[", "-").split("-")
        named = [word for word in words if word in RELEASES]
        if len(named) == 1:
            cases["-".join(word for word in words if word not in RELEASES)][named[0]] = item
    for name, by_release in cases.items():
        if len(by_release) == len(RELEASES):
            by_release[RELEASES[crc32(name.encode()) % 2]].add_marker("long")


def share_of(items: Iterable[pytest.Item], share: str) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Deals tests into shares and returns those of `share` ("2/5": the second of five), then the others.

    Raises:
        pytest.UsageError: `share` is not K/N with K from 1 to N.
    """
    number, _, count = share.partition("/")
    if not (number.isascii() and count.isascii() and number.isdigit() and count.isdigit()) or not (
        1 <= int(number) <= int(count)
    ):
        raise pytest.UsageError(f"--share {share}: give K/N with K from 1 to N, as in 2/5")
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (chosen if crc32(item.nodeid.encode()) % int(count) == int(number) - 1 else others).append(item)
    return chosen, others


def rest_is_long(cases: Iterable[Any], *first: object) -> list[Any]:
    """Returns parameters for `parametrize`: those named in `first` run in the first ring, all others are long.

    Args:
        cases: values of one parameter, or tuples of several.

    Raises:
        ValueError: a name in `first` is no case; it would silently leave the first ring without one.
    """
    every = list(cases)
    if missing := [name for name in first if name not in every]:
        raise ValueError(f"{missing} is none of {every}")
    values = [(case, case if isinstance(case, tuple) else (case,)) for case in every]
    return [case if case in first else pytest.param(*several, marks=pytest.mark.long) for case, several in values]
