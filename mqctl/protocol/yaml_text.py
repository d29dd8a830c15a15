"""Reading YAML that people wrote, or that came from somebody else.

PyYAML composes nested values by recursion in C: some ten thousand levels end the process, so the levels are counted
first, from events, which need none. So are keys: of two that are the same, parsers drop the first and say nothing.
"""

from __future__ import annotations

from typing import TypeVar

from mqctl.text import sentence

T = TypeVar("T")
MAX_DEPTH = 64
"""Levels of nesting that are read; nothing that people write comes near."""
TOO_DEEP = sentence(
    "protocol-nested-too-deeply-more", "it is nested too deeply: more than {max_depth} levels", max_depth=MAX_DEPTH
)
"""The reason, whichever limit was met first: this one, libyaml's (1,000 levels from 0.2.6 on) or Python's stack."""


class UnreadableYaml(ValueError):
    """The text is no YAML, is nested too deeply, says one thing twice, or has other content than wanted.

    Attributes:
        line: where, counted from 1; None where the parser does not tell.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line

    @property
    def discreet(self) -> str:
        """The reason without a word of the text, which may be a secret."""
        if str(self) == TOO_DEEP:
            return TOO_DEEP
        return (
            sentence("no-yaml", "it is not YAML")
            if self.line is None
            else sentence("protocol-no-yaml-line", "it is not YAML in line {line}", line=self.line)
        )


def decode_yaml(data: bytes | str, wanted: type[T]) -> T:
    """Reads `data` as a `wanted`. Raises UnreadableYaml."""
    import msgspec

    check_text(data)
    try:
        return msgspec.yaml.decode(data, type=wanted)
    except RecursionError as error:
        raise UnreadableYaml(TOO_DEEP) from error
    except (msgspec.DecodeError, *_STUMBLED) as error:
        raise UnreadableYaml(_one_line(error)) from error


def load_yaml(data: bytes | str, *, last_counts: bool = False) -> object:
    """Reads `data` as plain values; for `last_counts` see `check_text`. Raises UnreadableYaml."""
    import yaml

    check_text(data, last_counts=last_counts)
    try:
        value: object = yaml.safe_load(data)
    except RecursionError as error:
        raise UnreadableYaml(TOO_DEEP) from error
    except (yaml.YAMLError, *_STUMBLED) as error:
        raise UnreadableYaml(_one_line(error), _line(error)) from error
    return value


def _one_line(error: Exception) -> str:
    """Returns what a parser says, without the line breaks and the name that it gives to every text."""
    return " ".join(str(error).split()).replace(' in "<byte string>",', " at").replace(' in "<unicode string>",', " at")


def _line(error: Exception) -> int | None:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else None


# What PyYAML's constructors stumble over and let through: `2026-99-99` is a ValueError, `!!bool x` a KeyError,
# `!!int ''` an IndexError, `!!timestamp x` an AttributeError, a moment before the year 1 an OverflowError.
_STUMBLED = (ValueError, ArithmeticError, LookupError, AttributeError)


def check_text(data: bytes | str, *, last_counts: bool = False) -> None:
    """Finds what parsers let through, or die of; any other mistake is for who reads the text to find.

    Args:
        last_counts: let a mapping have a key twice, as YAML's parsers do; the last one counts then.

    Raises:
        UnreadableYaml: it has more than MAX_DEPTH levels, or a key twice in one mapping.
    """
    import yaml

    begins, ends = (yaml.CollectionStartEvent,), (yaml.CollectionEndEvent,)
    levels = [_Level()]
    anchored: dict[str, str] = {}
    try:
        for event in yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, ends):
                levels.pop()
            if not isinstance(event, yaml.NodeEvent):
                continue
            line = event.start_mark.line + 1 if event.start_mark is not None else None
            text = event.value if isinstance(event, yaml.ScalarEvent) else None
            if isinstance(event, yaml.AliasEvent):
                text = anchored.get(str(event.anchor))
            elif event.anchor is not None and text is not None:
                anchored[event.anchor] = text
            levels[-1].take(None if last_counts else text, line)
            if isinstance(event, begins):
                levels.append(_Level(is_mapping=isinstance(event, yaml.MappingStartEvent)))
            if len(levels) - 1 > MAX_DEPTH:
                raise UnreadableYaml(TOO_DEEP, line)
    except UnreadableYaml:
        raise
    except yaml.scanner.ScannerError as error:
        # libyaml reads ahead, and meets its own limit before it yields the events that are counted here.
        if "nesting" in (error.problem or ""):
            raise UnreadableYaml(TOO_DEEP, _line(error)) from error
    except (yaml.YAMLError, ValueError):
        pass


class _Level:
    """A collection whose values are being looked at; of a mapping every other one is a key."""

    def __init__(self, *, is_mapping: bool = False) -> None:
        self._is_mapping = is_mapping
        self._is_key = is_mapping
        self._lines: dict[str, int | None] = {}

    def take(self, text: str | None, line: int | None) -> None:
        """Goes on by one value; None for one that is no text. Raises UnreadableYaml for a key that was there."""
        if self._is_key and text is not None:
            if text in self._lines:
                raise UnreadableYaml(
                    sentence(
                        "yaml-key-twice-lines",
                        "{key} stands there twice, in lines {first} and {line}",
                        key=text,
                        first=self._lines[text],
                        line=line,
                    ),
                    line,
                )
            self._lines[text] = line
        self._is_key = self._is_mapping and not self._is_key
