"""Command lines of playbooks: words with places, and parts that are left out when a value is absent."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mqctl.errors import BadInputError
from mqctl.text import sentence

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class _Part:
    words: tuple[str, ...]
    optional: bool

    @property
    def places(self) -> set[str]:
        return {name for word in self.words for name in _PLACE.findall(word)}


def template_places(command: str) -> set[str]:
    """Returns the names of all places. Raises BadInputError for a command line that cannot be read."""
    return set().union(*(part.places for part in _parts(command)))


def filled(command: str, values: Mapping[str, object], *, unknown: bool = False) -> list[str]:
    """Returns the words of a command line with values in their places.

    Args:
        values: an absent value is missing or None.
        unknown: write `<name>` for a value that is not known yet, instead of failing.

    Raises:
        BadInputError: a place outside brackets has no value.
    """
    words: list[str] = []
    for part in _parts(command):
        missing = sorted(name for name in part.places if values.get(name) is None)
        if missing and part.optional and not (unknown and all(name not in values for name in missing)):
            continue
        if missing and not unknown:
            raise BadInputError(
                sentence("playbook-could-not-make-command", "could not make the command {command!r}", command=command),
                reason=sentence("playbook-not-known", "{place} is not known", place=missing[0]),
            )
        words += [fill(word, values, unknown=unknown) for word in part.words]
    return words


def template_parts(command: str) -> list[tuple[tuple[str, ...], bool]]:
    """Returns the words of each part and whether it is left out without its values. Raises BadInputError."""
    return [(part.words, part.optional) for part in _parts(command)]


def fill(text: str, values: Mapping[str, object], *, unknown: bool = False) -> str:
    """Returns a text with values in its places. Raises BadInputError where one is absent, unless `unknown`."""

    def value(place: re.Match[str]) -> str:
        known = values.get(place[1])
        if known is None and not unknown:
            raise BadInputError(
                sentence("playbook-could-not-fill", "could not fill {text!r}", text=text),
                reason=sentence("playbook-not-known", "{place} is not known", place=place[1]),
            )
        return f"<{place[1]}>" if known is None else str(known)

    return _PLACE.sub(value, text)


def _parts(command: str) -> Iterator[_Part]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInputError(
            sentence("playbook-could-not-read-command", "could not read the command {command!r}", command=command),
            reason=str(error),
        ) from error
    inside: list[str] | None = None
    for word in words:
        if inside is None and not word.startswith("["):
            yield _Part((word,), optional=False)
            continue
        inside = [] if inside is None else inside
        inside.append(word.removeprefix("[") if not inside else word)
        if word.endswith("]"):
            inside[-1] = inside[-1].removesuffix("]")
            yield _Part(tuple(inside), optional=True)
            inside = None
    if inside is not None:
        raise BadInputError(
            sentence("playbook-could-not-read-command", "could not read the command {command!r}", command=command),
            reason=sentence("playbook-bracket-not-closed", "a bracket is not closed"),
        )
