"""Reports as Parquet: one file a section, with the types of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mqctl.errors import BadInputError, StorageError
from mqctl.store.own_files import make_directory, new_stream
from mqctl.text import sentence

_TYPES = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def save_sections(name: str, report: object, directory: Path) -> list[Path]:
    """Writes every section of a report as `<name>.<section>.parquet`; returns the files.

    Raises:
        BadInputError: the directory exists and is not empty.
        StorageError: it cannot be written.
    """
    try:
        make_directory(directory)
        if any(directory.iterdir()):
            raise BadInputError(
                sentence("spark-write-parquet-files", "write Parquet files into {directory}", directory=directory),
                reason=sentence("spark-not-empty", "it is not empty"),
            )
        written = []
        for section, rows in sections(report).items():
            path = directory / f"{name}.{section}.parquet"
            with new_stream(path) as stream:
                pq.write_table(as_table(rows, _row_type(report, section)), stream)
            written.append(path)
    except OSError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=directory), reason=error.strerror or str(error)
        ) from error
    return written


def sections(report: object) -> dict[str, Sequence[object]]:
    """Returns the sections of a report: its fields that hold rows."""
    if not is_dataclass(report):
        return {}
    values = {each.name: getattr(report, each.name) for each in fields(report)}
    return {name: value for name, value in values.items() if isinstance(value, list)}


def _row_type(report: object, section: str) -> type:
    import typing

    from mqctl.model import report_rows, reports

    hints = typing.get_type_hints(type(report), {**vars(report_rows), **vars(reports)})
    (row_type,) = typing.get_args(hints[section])
    kind: type = row_type
    return kind


def as_table(rows: Sequence[object], row_type: type) -> pa.Table:
    """Makes rows of one type an arrow table; the types come from the declaration, so an empty section has them too."""
    if not is_dataclass(row_type):
        return pa.table({"value": pa.array(list(rows))})
    schema = pa.schema(
        [(each.name, _arrow_type(str(each.type))) for each in fields(row_type) if not str(each.type).startswith("dict")]
    )
    plain: list[dict[str, Any]] = [asdict(row) for row in rows if is_dataclass(row) and not isinstance(row, type)]
    return pa.Table.from_pylist(plain, schema=schema)


def _arrow_type(declared: str) -> pa.DataType:
    name = declared.removesuffix(" | None")
    if name.startswith("list["):
        return pa.list_(_TYPES[name[5:-1]])
    return _TYPES.get(name, pa.string())
