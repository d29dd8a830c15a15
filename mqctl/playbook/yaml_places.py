"""YAML with the line of every value, so that an error can be found in the file."""

from __future__ import annotations

from collections.abc import Hashable

import yaml

from mqctl.protocol.yaml_text import TOO_DEEP, UnreadableYaml, check_text
from mqctl.text import sentence

_MOST_PLACES = 100_000
"""Aliases let a small text stand for any number of values."""


class YamlProblem(Exception):
    """The text is no YAML, or says one thing twice.

    Attributes:
        line: counted from 1; None where the parser does not tell.
    """

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.line = line


def read_yaml(text: str) -> tuple[object, dict[str, int]]:
    """Returns the plain values of `text` and the line of each by its path, such as `$.steps[0].run`.

    Raises:
        YamlProblem: it cannot be read.
    """
    lines: dict[str, int] = {}
    try:
        check_text(text)
        # libyaml where PyYAML was built with it: sixteen playbooks in a tenth of the time.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        node = loader.get_single_node()
        return (_plain(loader, node, "$", lines) if node is not None else None), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlProblem(
            error.problem or sentence("no-yaml", "it is not YAML"), mark.line + 1 if mark else None
        ) from error
    except yaml.YAMLError as error:
        raise YamlProblem(" ".join(str(error).split()), None) from error
    except UnreadableYaml as error:
        raise YamlProblem(str(error), error.line) from error
    except RecursionError as error:
        raise YamlProblem(TOO_DEEP, None) from error


def line_of(path: str, lines: dict[str, int]) -> int | None:
    """Returns the line of a path, or of the nearest place above it that is known."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def _scalar(loader: yaml.SafeLoader, node: yaml.Node) -> object:
    """Constructs a value; `2026-99-99`, `!!bool x`, `!!int ''` and `!!timestamp x` fail in PyYAML itself."""
    try:
        value: object = loader.construct_object(node)
    except (ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise YamlProblem(
            sentence("yaml-value-not-read", "a value cannot be read: {error}", error=error), node.start_mark.line + 1
        ) from error
    return value


def _plain(loader: yaml.SafeLoader, node: yaml.Node, path: str, lines: dict[str, int]) -> object:
    lines.setdefault(path, node.start_mark.line + 1)
    if len(lines) > _MOST_PLACES:
        raise YamlProblem(
            sentence("yaml-too-many-values", "it has more than {most} values", most=_MOST_PLACES),
            node.start_mark.line + 1,
        )
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, item, f"{path}[{number}]", lines) for number, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(loader, node)
    mapping: dict[Hashable, object] = {}
    for key_node, value_node in node.value:
        key = _scalar(loader, key_node)
        line = key_node.start_mark.line + 1
        if not isinstance(key, Hashable) or key in mapping:
            raise YamlProblem(sentence("yaml-key-twice", "{key} stands there twice", key=key), line)
        lines[f"{path}.{key}"] = line
        mapping[key] = _plain(loader, value_node, f"{path}.{key}", lines)
    return mapping
