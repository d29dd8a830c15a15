"""Two runs that saw the same say it in the same order: no document, and no snapshot, has a set in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from docs.schemas import LIVE, SCHEMAS
from mqctl.model.snapshot import ClusterSnapshot

_INNER = ("types", "item_type", "item_types", "key_type", "value_type", "type")


def sets_in(form: Any, place: str, seen: set[type]) -> Iterator[str]:
    """Yields the fields below a type that are sets."""
    if isinstance(form, inspect.SetType | inspect.FrozenSetType):
        yield place
    elif isinstance(form, inspect.DataclassType | inspect.StructType):
        if form.cls not in seen:
            seen.add(form.cls)
            for field in form.fields:
                yield from sets_in(field.type, f"{form.cls.__name__}.{field.name}", seen)
        return
    for name in _INNER:
        inner = getattr(form, name, None)
        for part in inner if isinstance(inner, tuple) else (inner,):
            if isinstance(part, inspect.Type):
                yield from sets_in(part, place, seen)


def test_no_answer_has_a_set_in_it() -> None:
    seen: set[type] = set()
    forms = {**LIVE, **SCHEMAS, "snapshot": ClusterSnapshot}
    assert [place for name, form in forms.items() for place in sets_in(inspect.type_info(form), name, seen)] == []
    assert len(seen) > 200


def test_a_set_is_noticed_wherever_it_is() -> None:
    for form in (set[str], dict[str, frozenset[int]], tuple[list[set[str]], ...], set[str] | None):
        assert list(sets_in(inspect.type_info(form), "here", set())) == ["here"], form
