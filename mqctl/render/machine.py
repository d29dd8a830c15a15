"""Documents as JSON, NDJSON, YAML and CSV."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import msgspec

from mqctl.render.document import Document, Table

if TYPE_CHECKING:
    from typing import TextIO


def _plain(document: Document) -> dict[str, Any]:
    return {"schema": document.schema, **msgspec.to_builtins(document.value)}


def write_json(document: Document, stream: TextIO) -> None:
    """Writes one indented JSON object that begins with the schema."""
    stream.write(msgspec.json.format(msgspec.json.encode(_plain(document)), indent=2).decode() + "\n")


def write_ndjson(document: Document, stream: TextIO) -> None:
    """Writes one JSON object a line, one for each record, each with the schema."""
    for record in document.records:
        stream.write(msgspec.json.encode({"schema": document.schema, **msgspec.to_builtins(record)}).decode() + "\n")


def write_yaml(document: Document, stream: TextIO) -> None:
    """Writes the JSON form as YAML, in the same order."""
    import yaml

    yaml.safe_dump(_plain(document), stream, sort_keys=False, allow_unicode=True, width=120)


def write_csv(document: Document, stream: TextIO) -> None:
    """Writes the records with a heading line; raw values, empty where there is none."""
    columns = document.csv_columns or next(block.columns for block in document.blocks if isinstance(block, Table))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.key for column in columns])
    for record in document.records:
        values = (getattr(record, column.key) for column in columns)
        writer.writerow(["" if value is None else value for value in values])
