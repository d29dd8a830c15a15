"""Rows as Parquet files and back: the only module that knows how Arrow lays them out."""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqctl.errors import BadInputError
from mqctl.model.forms import RECORDING, UPGRADE, newer_than_known
from mqctl.model.numbers import decimal
from mqctl.recording.kinds import CLUSTER_ENTRY, COLUMNS, FORMAT, FORMAT_ENTRY, Cell, Key, RowKind, Values

# pyarrow brings no types.
Arrow: TypeAlias = Any
GROUP_ROWS = 1 << 17
"""Rows of a row group at most: what is merged is held in memory by row groups."""
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
        BadInputError: it is cut, damaged, of another version, or has other columns.
    """
    try:
        file, cluster = opened(data, where)
        groups = list(range(file.num_row_groups)) if moments is None else _groups_with(file, moments)
        table = rows_in(file, kind, groups)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise damaged(where, error) from error
    if moments is not None:
        table = table.filter(pc.is_in(table["moment_ms"], pa.array(sorted(moments), pa.int64())))
    return table, cluster


def coded_table_in(kind: RowKind, data: bytes, where: str) -> Arrow:
    """Reads a file with its texts as codes of a dictionary, which takes less time and room. Raises BadInputError."""
    texts = [field.name for field in schema_of(kind) if field.type == pa.string()]
    try:
        opened(data, where)
        table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts).read().select(schema_of(kind).names)
        coded = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
        return table if coded == schema_of(kind).types else table.cast(schema_of(kind))
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise damaged(where, error) from error


def opened(data: bytes, where: str) -> tuple[Arrow, str]:
    """Reads the end of a file, and tells the cluster it is of. Raises BadInputError, and what Arrow raises."""
    # A buffer of Arrow's: its threads would take the interpreter's lock for an object of Python, and a process that is
    # ending aborts by that (exit code 134).
    file = pq.ParquetFile(pa.BufferReader(data))
    metadata = file.schema_arrow.metadata or {}
    version = (metadata.get(FORMAT_ENTRY) or b"none").decode(errors="replace")
    if version != FORMAT:
        form = decimal(version.removeprefix(f"{FORMAT.partition('/')[0]}/"))
        newer = None if form is None else newer_than_known(form, RECORDING)
        if newer is not None:
            raise BadInputError(f"could not read {where}", reason=newer, remedy=UPGRADE)
        raise BadInputError(
            f"could not read {where}",
            reason=f"its format is {version}, not {FORMAT}",
            remedy="use the mqctl that wrote it",
        )
    return file, (metadata.get(CLUSTER_ENTRY) or b"").decode(errors="replace")


def rows_in(file: Arrow, kind: RowKind, groups: Sequence[int]) -> Arrow:
    """Returns the rows of some row groups, with the columns of their kind."""
    return file.read_row_groups(list(groups)).select(schema_of(kind).names).cast(schema_of(kind))


def damaged(where: str, error: Exception) -> BadInputError:
    """Makes the error for a file that Arrow cannot read."""
    reason = " ".join(str(error).split()) or type(error).__name__
    return BadInputError(
        f"could not read {where}", reason=f"cut or damaged: {reason}", remedy="the intact part is used"
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
