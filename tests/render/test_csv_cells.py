"""Cells of -o csv: what a spreadsheet and a shell read without knowing Python."""

from __future__ import annotations

import csv
from dataclasses import make_dataclass
from io import StringIO

import pytest

from mqctl.render.document import Column, Document, Table
from mqctl.render.machine import write_csv

Row = make_dataclass("Row", ["value"])


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (True, "true"),
        (False, "false"),
        (None, ""),
        (0, "0"),
        (1.5, "1.5"),
        ([], ""),
        (["a"], "a"),
        (["a", "b,c"], "a, b,c"),
        ((1, None, True), "1, , true"),
        ("a;b", "a;b"),
    ],
)
def test_a_cell(value: object, cell: str) -> None:
    rows = [Row(value)]
    columns = (Column("value", "value"),)
    stream = StringIO()
    write_csv(Document(schema="row/1", value=rows, records=rows, blocks=[Table(columns, rows)]), stream)
    assert list(csv.reader(StringIO(stream.getvalue()))) == [["value"], [cell] if cell else [""]]
