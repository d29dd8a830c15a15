"""Columns that a row class declares beside its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

import pytest

from docs.schemas import SCHEMAS
from mqctl.model.column import CellKind, Column, column, columns_of


@dataclass
class Row:
    name: str = field(metadata=column("name"))
    owners: tuple[str, ...] = field(metadata=column("owners", none="?", cell="owner_text"))
    size_bytes: int | None = field(default=None, metadata=column("size", CellKind.BYTES, wide=True))
    moment_ms: int = 0


def test_columns_are_the_fields_that_declare_one() -> None:
    name, owners, size = columns_of(Row)
    assert name == Column("name", "name")
    assert owners == Column("owner_text", "owners", none="?")
    assert size == Column("size_bytes", "size", CellKind.BYTES, wide=True)
    assert columns_of(Row, "size_bytes", "name") == (size, name)


@pytest.mark.parametrize("name", ["moment_ms", "owner_text", "nothing"])
def test_a_name_without_a_column_is_refused(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        columns_of(Row, "name", name)


def within(kind: Any, seen: set[type]) -> Iterator[type]:
    """Yields the row classes that a machine form is made of."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind not in seen:
            seen.add(kind)
            yield kind
            for hint in get_type_hints(kind).values():
                yield from within(hint, seen)
        return
    for part in get_args(kind):
        yield from within(part, seen)


def test_a_row_has_what_its_columns_show() -> None:
    seen: set[type] = set()
    rows = [row for form in SCHEMAS.values() for row in within(form, seen)]
    shown = [(row, item.key) for row in rows for item in columns_of(row)]
    assert len(shown) > len({row for row, _ in shown}) > 1
    own = {row: {*dir(row), *(item.name for item in fields(row))} for row in rows}
    assert [(row.__name__, key) for row, key in shown if key not in own[row]] == []
