"""Documents as JSON, NDJSON, YAML and CSV."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mqctl.render.document import Document, Table

if TYPE_CHECKING:
    from typing import TextIO


# What JSON lets stand raw and a terminal, or the eye, would take for an order: DEL, C1 controls, bidirectional marks.
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_text(encoded: bytes) -> str:
    """Returns encoded JSON as text that is safe to show: such characters stand only in strings, and are escaped."""
    return _UNSEEN.sub(lambda char: f"\\u{ord(char[0]):04x}", encoded.decode())


def _plain(document: Document) -> dict[str, Any]:
    return {"schema": document.schema, **msgspec.to_builtins(document.value)}


def write_json(document: Document, stream: TextIO) -> None:
    """Writes one indented JSON object that begins with the schema."""
    stream.write(json_text(msgspec.json.format(msgspec.json.encode(_plain(document)), indent=2)) + "\n")


def write_ndjson(document: Document, stream: TextIO) -> None:
    """Writes one JSON object a line, one for each record, each with the schema."""
    for record in document.records:
        encoded = msgspec.json.encode({"schema": document.schema, **msgspec.to_builtins(record)})
        stream.write(json_text(encoded) + "\n")


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
        writer.writerow([_shown(value, on_terminal=stream.isatty()) for value in values])


def _shown(value: object, *, on_terminal: bool) -> object:
    """A CSV value: raw for programs, harmless for terminals."""
    if isinstance(value, str) and on_terminal:
        from mqctl.render.text import printable

        return printable(value)
    return "" if value is None else value
