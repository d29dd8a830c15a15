"""Documents as JSON, NDJSON, YAML and CSV."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mqctl.errors import UsageError
from mqctl.model.said import said
from mqctl.render.document import Document, Table
from mqctl.text import encoded, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


# What JSON and YAML let stand raw and a terminal, or the eye, would take for an order or not see: DEL, C1 controls,
# bidirectional marks, characters without width, tags.
_BEYOND_ASCII = re.compile("[^\x00-\x7e]")
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


_YAML_ROWS = 1_000


def json_text(value: object, *, encoding: str = "utf-8", indent: int | None = None) -> str:
    """Returns a value as JSON that is safe to show, and that a stream of `encoding` can carry.

    What a terminal would take for an order is escaped, and all beyond ASCII where the stream is not UTF-8. Both stand
    only in strings. Bytes of a command line that are no UTF-8 are shown as `\\udcff`.
    """
    try:
        written = msgspec.json.encode(value, enc_hook=encoded)
    except UnicodeEncodeError:
        written = msgspec.json.encode(
            _without_surrogates(msgspec.to_builtins(value, enc_hook=encoded)), enc_hook=encoded
        )
    if indent is not None:
        written = msgspec.json.format(written, indent=indent)
    unfit = _UNSEEN if _is_utf8(encoding) else _BEYOND_ASCII
    return unfit.sub(lambda char: _escaped(char[0]), written.decode())


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(item) for name, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _encoding(stream: TextIO) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _plain(document: Document) -> dict[str, Any]:
    plain = {"schema": document.schema, **msgspec.to_builtins(document.value, enc_hook=encoded)}
    if document.gaps:
        plain.setdefault("unavailable", msgspec.to_builtins(document.gaps, enc_hook=encoded))
    if document.cautions:
        plain["cautions"] = msgspec.to_builtins(said(document.cautions), enc_hook=encoded)
    return plain


def write_json(document: Document, stream: TextIO) -> None:
    """Writes one indented JSON object that begins with the schema."""
    stream.write(json_text(_plain(document), encoding=_encoding(stream), indent=2) + "\n")


def write_ndjson(document: Document, stream: TextIO) -> None:
    """Writes one JSON object a line, one for each record, each with the schema."""
    for record in document.records:
        line = json_text(
            {"schema": document.schema, **msgspec.to_builtins(record, enc_hook=encoded)}, encoding=_encoding(stream)
        )
        stream.write(line + "\n")


def write_yaml(document: Document, stream: TextIO) -> None:
    """Writes the JSON form as YAML, in the same order; a piece in which a character must be is escaped whole."""
    from mqctl.render.yaml_text import yaml_text

    unicode = _is_utf8(_encoding(stream))
    for lead, piece in _yaml_pieces(_plain(document)):
        text = yaml_text(piece, allow_unicode=unicode)
        if unicode and _UNSEEN.search(text):
            text = yaml_text(piece, allow_unicode=False)
        stream.write(lead + text)


def _yaml_pieces(plain: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields what goes before a piece of YAML, and its value: a character that must be escaped escapes its piece."""
    for key, value in plain.items():
        if isinstance(value, list) and len(value) > _YAML_ROWS:
            yield f"{key}:\n", value[:_YAML_ROWS]
            yield from (("", value[at : at + _YAML_ROWS]) for at in range(_YAML_ROWS, len(value), _YAML_ROWS))
        else:
            yield "", {key: value}


def write_csv(document: Document, stream: TextIO) -> None:
    """Writes the records with a heading line; raw values, empty where there is none. An answer without a table is one
    record of its fields that are no lists, no objects, and no keys of its sentences."""
    columns = document.csv_columns or next((block.columns for block in document.blocks if isinstance(block, Table)), ())
    writer = csv.writer(stream, lineterminator="\n")
    if not columns:
        fields = msgspec.to_builtins(document.value, enc_hook=encoded)
        beside = {f"{name}_{what}" for name in fields for what in ("key", "values", "argv")}
        plain = {
            name: value for name, value in fields.items() if name not in beside and not isinstance(value, dict | list)
        }
        if not plain:
            raise UsageError(
                sentence("machine-answer-no-rows-csv", "this answer has no rows for -o csv"),
                remedy=sentence("machine-use-json", "use -o json"),
            )
        writer.writerow(plain)
        writer.writerow([_shown(value, on_terminal=stream.isatty()) for value in plain.values()])
        return
    writer.writerow([column.key for column in columns])
    for record in document.records:
        values = (getattr(record, column.key) for column in columns)
        writer.writerow([_shown(value, on_terminal=stream.isatty()) for value in values])


def _shown(value: object, *, on_terminal: bool) -> object:
    """A CSV value: raw for programs, harmless for terminals; the items of a list parted by commas, flags in lower case
    as JSON has them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = ", ".join(str(_shown(item, on_terminal=False)) for item in value)
    if isinstance(value, str) and on_terminal:
        from mqctl.text import printable

        return printable(value)
    return "" if value is None else value
