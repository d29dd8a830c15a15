"""Reading YAML that people wrote, or that came from somebody else.

PyYAML composes nested values by recursion in C: some ten thousand levels end the process, so the levels are counted
first, from events, which need none.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
MAX_DEPTH = 64
"""Levels of nesting that are read; nothing that people write comes near."""


class UnreadableYaml(ValueError):
    """The text is no YAML, is nested too deeply, or has other content than wanted.

    Attributes:
        line: where, counted from 1; None where the parser does not tell.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def decode_yaml(data: bytes | str, wanted: type[T]) -> T:
    """Reads `data` as a `wanted`. Raises UnreadableYaml."""
    import msgspec

    check_depth(data)
    try:
        return msgspec.yaml.decode(data, type=wanted)
    except (msgspec.DecodeError, *_STUMBLED) as error:
        raise UnreadableYaml(str(error)) from error


def load_yaml(data: bytes | str) -> object:
    """Reads `data` as plain values. Raises UnreadableYaml."""
    import yaml

    check_depth(data)
    try:
        value: object = yaml.safe_load(data)
    except (yaml.YAMLError, *_STUMBLED) as error:
        mark = getattr(error, "problem_mark", None)
        raise UnreadableYaml(" ".join(str(error).split()), mark.line + 1 if mark is not None else None) from error
    return value


# What PyYAML's constructors stumble over and let through: `2026-99-99` is a ValueError, `!!bool x` a KeyError,
# `!!int ''` an IndexError, `!!timestamp x` an AttributeError, a moment before the year 1 an OverflowError.
_STUMBLED = (ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


def check_depth(data: bytes | str) -> None:
    """Raises UnreadableYaml for more than MAX_DEPTH levels; any other mistake is for who reads the text to find."""
    import yaml

    begins, ends = (yaml.CollectionStartEvent,), (yaml.CollectionEndEvent,)
    depth = 0
    try:
        for event in yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, begins) - isinstance(event, ends)
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1 if event.start_mark is not None else None
                raise UnreadableYaml(f"it is nested more than {MAX_DEPTH} levels deep", line)
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, UnreadableYaml):
            raise
