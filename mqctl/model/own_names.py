"""Names of the topics and groups that mqctl makes for traffic of its own: no application has them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from mqctl.errors import UsageError
from mqctl.model.names import group_of
from mqctl.text import sentence

_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST_NAME = 60


class Purpose(StrEnum):
    """What the traffic is for; the value is the prefix of its topics and groups."""

    BENCH = "MQCTL_BENCH_"
    DRILL = "MQCTL_DRILL_"


def own_name(purpose: Purpose, name: str) -> str:
    """Returns the topic, or group, of a run. Raises UsageError for a name that brokers would refuse."""
    if not name or len(name) > _LONGEST_NAME or not _CHARACTERS.issuperset(name):
        raise UsageError(
            sentence("own-names-cannot-part-topic-name", "{name!r} cannot be part of a topic's name", name=name),
            remedy=sentence(
                "own-names-use-up-letters-digits",
                "use up to {longest_name} letters, digits, - and _",
                longest_name=_LONGEST_NAME,
            ),
        )
    return purpose + name


def is_own(name: str, prefixes: Sequence[str]) -> bool:
    """Tells whether a topic or group, or the group of a retry or dead-letter topic, begins with one of `prefixes`."""
    return (group_of(name) or name).startswith(tuple(prefixes))
