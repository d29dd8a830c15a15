"""Plain values as YAML, by events: PyYAML's dump builds a node of each value, and takes four times as long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml
from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

_TAG = "tag:yaml.org,2002:"
_WIDTH = 120
_TEXTS_KEPT = 1 << 14
# PyYAML's own: which texts would be read as something else, and how it writes numbers.
_RESOLVER = yaml.resolver.Resolver()
_REPRESENTER = yaml.representer.SafeRepresenter()


def yaml_text(value: Any, *, allow_unicode: bool) -> str:
    """Returns what `yaml.safe_dump` writes of dicts, lists, strings, numbers, booleans and None, in their order."""
    dumper = getattr(yaml, "CDumper", yaml.Dumper)  # not every build of PyYAML has the one in C
    text: str = yaml.emit(_document(value), Dumper=dumper, allow_unicode=allow_unicode, width=_WIDTH)
    return text


def _document(value: Any) -> Iterator[Event]:
    yield StreamStartEvent()
    yield DocumentStartEvent(explicit=False)
    yield from _events(value)
    yield DocumentEndEvent(explicit=False)
    yield StreamEndEvent()


def _events(value: Any) -> Iterator[Event]:
    if isinstance(value, dict):
        yield MappingStartEvent(None, f"{_TAG}map", True, flow_style=False)
        for key, item in value.items():
            yield _scalar(key)
            if isinstance(item, dict | list | tuple):
                yield from _events(item)
            else:
                yield _scalar(item)
        yield MappingEndEvent()
    elif isinstance(value, list | tuple):
        yield SequenceStartEvent(None, f"{_TAG}seq", True, flow_style=False)
        for item in value:
            yield from _events(item)
        yield SequenceEndEvent()
    else:
        yield _scalar(value)


def _scalar(value: Any) -> ScalarEvent:
    if isinstance(value, str):
        return ScalarEvent(None, f"{_TAG}str", (_is_read_as_text(value), True), value)
    node = _REPRESENTER.represent_data(value)
    return ScalarEvent(None, node.tag, (True, False), node.value)


@lru_cache(_TEXTS_KEPT)
def _is_read_as_text(text: str) -> bool:
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag == f"{_TAG}str"
