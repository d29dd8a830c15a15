"""Plain values as YAML, by events: PyYAML's dump builds a node of each value, and takes four times as long."""

from __future__ import annotations

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
_SCALARS_KEPT = 1 << 14
# An emitter only reads events, so that one serves all places with the same value.
_MAPPING, _MAPPING_END = MappingStartEvent(None, f"{_TAG}map", True, flow_style=False), MappingEndEvent()
_SEQUENCE, _SEQUENCE_END = SequenceStartEvent(None, f"{_TAG}seq", True, flow_style=False), SequenceEndEvent()
# PyYAML's own: which texts would be read as something else, and how it writes numbers.
_RESOLVER = yaml.resolver.Resolver()
_REPRESENTER = yaml.representer.SafeRepresenter()


def yaml_text(value: Any, *, allow_unicode: bool) -> str:
    """Returns what `yaml.safe_dump` writes of dicts, lists, strings, numbers, booleans and None, in their order."""
    dumper = getattr(yaml, "CDumper", yaml.Dumper)  # not every build of PyYAML has the one in C
    events: list[Event] = [StreamStartEvent(), DocumentStartEvent(explicit=False)]
    _add(value, events)
    events += (DocumentEndEvent(explicit=False), StreamEndEvent())
    text: str = yaml.emit(events, Dumper=dumper, allow_unicode=allow_unicode, width=_WIDTH)
    return text


def _add(value: Any, events: list[Event]) -> None:
    if isinstance(value, dict):
        events.append(_MAPPING)
        for key, item in value.items():
            events.append(_scalar(key))
            _add(item, events)
        events.append(_MAPPING_END)
    elif isinstance(value, list | tuple):
        events.append(_SEQUENCE)
        for item in value:
            _add(item, events)
        events.append(_SEQUENCE_END)
    else:
        events.append(_scalar(value))


def _scalar(value: Any) -> ScalarEvent:
    if isinstance(value, str):
        return _text(value)
    return _event(value) if isinstance(value, float) else _kept(value)


@lru_cache(_SCALARS_KEPT)
def _text(text: str) -> ScalarEvent:
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return ScalarEvent(None, f"{_TAG}str", (tag == f"{_TAG}str", True), text)


@lru_cache(_SCALARS_KEPT, typed=True)
def _kept(value: int | None) -> ScalarEvent:
    """Makes the event of an integer, boolean or None; by its type as well, for 1 and True are equal."""
    return _event(value)


def _event(value: Any) -> ScalarEvent:
    node = _REPRESENTER.represent_data(value)
    return ScalarEvent(None, node.tag, (True, False), node.value)
