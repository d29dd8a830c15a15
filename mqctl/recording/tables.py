"""Rows as Parquet files and back: the only module that knows how Arrow lays them out."""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqctl.errors import BadInputError
from mqctl.model.forms import RECORDING, UPGRADE, newer_than_known
from mqctl.model.numbers import decimal
from mqctl.recording.kinds import CLUSTER_ENTRY, COLUMNS, FORMAT, FORMAT_ENTRY, MOST_ROWS, Cell, Key, RowKind, Values
from mqctl.recording.row_checks import check_rows
from mqctl.text import sentence

# pyarrow brings no types.
Arrow: TypeAlias = Any
GROUP_ROWS = 1 << 17
"""Rows of a row group at most: what is merged is held in memory by row groups."""
MOST_TEXT_BYTES = 1 << 30
"""Of all texts of a file, each as often as it stands there: a few bytes of a file can stand for any number."""
_TYPES: Mapping[type, Arrow] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def schema_of(kind: RowKind) -> Arrow:
    """Returns the Arrow schema of a kind's files."""
    fields = [("moment_ms", pa.int64()), *((name, _TYPES[cell]) for name, cell in COLUMNS[kind].all.items())]
    return pa.schema(fields if kind is RowKind.LOOKS else [*fields, ("gone", pa.bool_())])


def table_of(kind: RowKind, moment_ms: int, rows: Mapping[Key, Values | None]) -> Arrow:
    """Returns what changed at one moment as a table, sorted by key."""
    ordered = sorted(rows.items(), key=lambda item: tuple(map(str, item[0])))
    empty: Values = (None,) * len(COLUMNS[kind].values)
    lines: list[tuple[Cell, ...]] = [
        (moment_ms, *key, *(empty if values is None else values), values is None) for key, values in ordered
    ]
    schema = schema_of(kind)
    if kind is RowKind.LOOKS:
        lines = [line[:-1] for line in lines]
    columns: Sequence[Sequence[Cell]] = list(zip(*lines, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def file_of(kind: RowKind, tables: Iterable[Arrow], cluster: str, *, frames: Collection[int] = ()) -> bytes:
    """Returns the bytes of a file: rows sorted by key, then moment, so that what repeats stands together.

    Args:
        frames: moments of keyframes. Each stands in a row group of its own, before the rest: who looks back over weeks
            reads nothing else.
    """
    merged = pa.concat_tables(tables).sort_by(order_of(kind))
    moments = merged["moment_ms"]
    alone = [moment for moment in sorted(frames) if pc.any(pc.equal(moments, moment)).as_py()]
    parts = [merged.filter(pc.equal(moments, moment)) for moment in alone]
    rest = merged.filter(pc.invert(pc.is_in(moments, pa.array(alone, pa.int64())))) if alone else merged
    return file_with(kind, [*parts, rest], cluster)


def order_of(kind: RowKind) -> list[tuple[str, str]]:
    """Returns the columns that rows of a file are sorted by."""
    return [(name, "ascending") for name in (*COLUMNS[kind].key, "moment_ms")]


def file_with(kind: RowKind, parts: Iterable[Arrow], cluster: str) -> bytes:
    """Returns a file with these tables, each in row groups of its own.

    Numbers are stored as differences to the row before, but for moments and queue ids, of which there are few.
    """
    schema = schema_of(kind).with_metadata({FORMAT_ENTRY: FORMAT, CLUSTER_ENTRY: cluster})
    few = ("moment_ms", "queue_id")
    numbers = [field.name for field in schema if field.type == pa.int64() and field.name not in few]
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=6,
        use_dictionary=[field.name for field in schema if field.name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
    ) as file:
        for part in parts:
            if part.num_rows:
                file.write_table(part.cast(schema), row_group_size=GROUP_ROWS)
    return sink.getvalue()


def table_in(kind: RowKind, data: bytes, where: str, *, moments: frozenset[int] | None = None) -> tuple[Arrow, str]:
    """Reads a file.

    Args:
        moments: read the rows of these only; None for all.

    Returns:
        its table, and the cluster it is of.

    Raises:
        BadInputError: it is cut, damaged, of another version, has other columns, or holds what no recorder writes.
    """
    with _as_bad_input(where):
        file, cluster = opened(kind, data, where)
        groups = range(file.num_row_groups) if moments is None else _groups_with(file, moments)
        table = _all_rows(file, kind, groups).cast(schema_of(kind))
    if moments is not None:
        table = table.filter(pc.is_in(table["moment_ms"], pa.array(sorted(moments), pa.int64())))
    return table, cluster


def coded_table_in(kind: RowKind, data: bytes, where: str) -> Arrow:
    """Reads a file with its texts as codes of a dictionary, which takes less time and room. Raises BadInputError."""
    with _as_bad_input(where):
        file, _ = opened(kind, data, where)
        return _all_rows(file, kind, range(file.num_row_groups))


def opened(kind: RowKind, data: bytes, where: str) -> tuple[Arrow, str]:
    """Reads the end of a file, and tells the cluster it is of.

    Raises:
        BadInputError: it is of another version.
        pa.ArrowException, OSError, ValueError: it is cut or damaged, or larger than what is read at once.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    metadata = file.schema_arrow.metadata or {}
    version = (metadata.get(FORMAT_ENTRY) or b"none").decode(errors="replace")
    if version != FORMAT:
        form = decimal(version.removeprefix(f"{FORMAT.partition('/')[0]}/"))
        newer = None if form is None else newer_than_known(form, RECORDING)
        if newer is not None:
            raise BadInputError(
                sentence("could-not-read", "could not read {file}", file=where), reason=newer, remedy=UPGRADE
            )
        raise BadInputError(
            sentence("could-not-read", "could not read {file}", file=where),
            reason=sentence("format-not", "its format is {version}, not {format}", version=version, format=FORMAT),
            remedy=sentence("recording-use-wrote", "use the mqctl that wrote it"),
        )
    missing = sorted(set(schema_of(kind).names) - set(file.schema_arrow.names))
    if missing:
        raise ValueError(sentence("file-without-column", "it has no column {column}", column=missing[0]))
    if file.metadata.num_rows > MOST_ROWS:
        raise ValueError(
            sentence(
                "file-too-many-rows",
                "it has {count:row}, the limit is {most:,}",
                count=file.metadata.num_rows,
                most=MOST_ROWS,
            )
        )
    texts = [field.name for field in schema_of(kind) if field.type == pa.string()]
    coded = pq.ParquetFile(pa.BufferReader(data), metadata=file.metadata, read_dictionary=texts)
    return coded, (metadata.get(CLUSTER_ENTRY) or b"").decode(errors="replace")


def rows_in(file: Arrow, kind: RowKind, group: int) -> Arrow:
    """Returns the rows of a row group with the columns of their kind, texts as codes of a dictionary.

    Raises:
        ValueError: it holds what no recorder writes.
        pa.ArrowException, OSError, KeyError: it is cut or damaged.
    """
    count = file.metadata.row_group(group).num_rows
    if count > GROUP_ROWS:
        raise ValueError(
            sentence(
                "recording-row-group-too-large",
                "row group {group} has {rows:row}, a recorder writes at most {most:,}",
                group=group,
                rows=count,
                most=GROUP_ROWS,
            )
        )
    schema = schema_of(kind)
    table = file.read_row_group(group).select(schema.names)
    plain = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    if plain != schema.types:
        table = table.cast(schema)
    check_rows(kind, table)
    return table


def _all_rows(file: Arrow, kind: RowKind, groups: Iterable[int]) -> Arrow:
    parts, text_bytes = [], 0
    for group in groups:
        parts.append(rows_in(file, kind, group))
        text_bytes += _text_bytes(parts[-1])
        if text_bytes > MOST_TEXT_BYTES:
            raise ValueError(
                sentence(
                    "recording-texts-too-large",
                    "its texts take more than {limit_bytes}, more are not read at once",
                    limit_bytes=MOST_TEXT_BYTES,
                )
            )
    return pa.concat_tables(parts) if parts else schema_of(kind).empty_table()


def _text_bytes(table: Arrow) -> int:
    """Returns the bytes of all texts of a table, each as often as it stands there."""
    total = 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            sizes = [pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() for part in column.chunks]
            total += sum(size or 0 for size in sizes)
        elif column.type == pa.string():
            total += pc.sum(pc.binary_length(column)).as_py() or 0
    return total


@contextmanager
def _as_bad_input(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise damaged(where, error) from error


def damaged(where: str, error: Exception) -> BadInputError:
    """Makes the error for a file that Arrow cannot read."""
    reason = " ".join(str(error).split()) or type(error).__name__
    return BadInputError(
        sentence("could-not-read", "could not read {file}", file=where),
        reason=sentence("cut-damaged", "cut or damaged: {split}", split=reason),
        remedy=sentence("recording-intact-part-used", "the intact part is used"),
    )


def _groups_with(file: Arrow, moments: frozenset[int]) -> list[int]:
    """Returns the row groups that may have rows of these moments."""
    ordered = sorted(moments)
    place = file.schema_arrow.names.index("moment_ms")
    chosen = []
    for number in range(file.num_row_groups):
        bounds = file.metadata.row_group(number).column(place).statistics
        if (
            bounds is None
            or not bounds.has_min_max
            or (bisect_left(ordered, bounds.min) < bisect_right(ordered, bounds.max))
        ):
            chosen.append(number)
    return chosen
