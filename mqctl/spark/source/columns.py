"""Variable fields of many records as arrow arrays: texts, parsed properties. No loop per message in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from mqctl.store.kernel import Headers, Int64s, gather
from mqctl.store.layouts import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Alphabet, Spans, factorize


def binary(buffer: Buffer, spans: Spans) -> pa.LargeBinaryArray:
    """Copies byte spans into one arrow array; what has no span is null."""
    data, offsets = packed_spans(buffer, spans)
    absent = None if spans.present.all() else pa.py_buffer(np.packbits(spans.present, bitorder="little"))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(spans.start), [absent, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def packed_spans(buffer: Buffer, spans: Spans) -> tuple[Buffer, Int64s]:
    """Copies byte spans one behind the other; returns the bytes and where each begins (and the last ends)."""
    starts = np.where(spans.present, spans.start, 0)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(spans.size, dtype=np.int64)))
    index = np.repeat(starts - offsets[:-1], spans.size) + np.arange(int(offsets[-1]), dtype=np.int64)
    return buffer[index], offsets


def texts(values: pa.LargeBinaryArray) -> pa.StringArray:
    """Decodes UTF-8; what is none is replaced, as nothing may hide a message."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist()]
        return pa.array(decoded, pa.string())


def named(alphabet: Alphabet) -> pa.StringArray:
    """Spells out an alphabet's codes; -1 is null."""
    codes = pa.array(alphabet.codes, mask=alphabet.codes < 0)
    return pa.array(alphabet.names, pa.string()).take(codes) if alphabet.names else pa.nulls(len(codes), pa.string())


def properties(buffer: Buffer, headers: Headers) -> pa.MapArray:
    """Parses the properties of records, by the rules of `parse_properties`: of duplicates the later wins."""
    sizes = np.maximum(headers.properties_size, 0)
    data, offsets = packed_spans(buffer, Spans(headers.properties_start, sizes))
    # Pairs end at separators and at the ends of records.
    ends = np.union1d(np.flatnonzero(data == PROPERTY_SEPARATOR), offsets[1:])
    begins = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    begins = begins + (gather(data, "u1", begins) == PROPERTY_SEPARATOR) * (np.arange(len(begins)) > 0)
    marks = np.append(np.flatnonzero(data == NAME_VALUE_SEPARATOR), len(data))
    mark = marks[np.searchsorted(marks, begins)]
    good = (mark > begins) & (mark + 1 < ends)
    begins, ends, mark = begins[good], ends[good], mark[good]
    row = np.searchsorted(offsets, begins, side="right") - 1
    names = factorize(data, begins, (mark - begins).astype(np.int32))
    kept = _last_of_each(row * max(1, len(names.names)) + names.codes)
    row, names = row[kept], Alphabet(names.codes[kept], names.names)
    values = texts(binary(data, Spans(mark[kept] + 1, (ends[kept] - mark[kept] - 1).astype(np.int32))))
    first = np.searchsorted(row, np.arange(len(headers) + 1)).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(first), named(names), values)


def _last_of_each(codes: Int64s) -> Int64s:
    """Returns, ascending, the last position of each distinct value."""
    _, at = np.unique(codes[::-1], return_index=True)
    return np.sort(len(codes) - 1 - at)


ARROW = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_()}


def record_batch(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, str], names: Sequence[str] | None = None
) -> pa.RecordBatch:
    """Makes rows given as columns a batch of the columns `names` (all, in the order of `types`); others are null."""
    chosen = list(types if names is None else names)
    count = len(next(iter(columns.values())))
    arrays = [
        pa.array(columns[name], ARROW[types[name]]) if name in columns else pa.nulls(count, ARROW[types[name]])
        for name in chosen
    ]
    return pa.RecordBatch.from_arrays(arrays, names=chosen)


def as_table(batches: Sequence[pa.RecordBatch], types: Mapping[str, str]) -> pa.Table:
    """Joins batches of all columns of `types`."""
    return pa.Table.from_batches(batches, schema=pa.schema([(name, ARROW[kind]) for name, kind in types.items()]))
