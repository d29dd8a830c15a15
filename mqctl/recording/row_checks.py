"""What every row of a recording holds that a recorder wrote: readers may rely on it, whoever made the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mqctl.recording.kinds import COLUMNS, LATEST_MS, Aspect, LookOutcome, RowKind
from mqctl.text import sentence

_MOST = 1 << 53
_NEVER_EMPTY: Mapping[RowKind, Collection[str]] = {RowKind.LOOKS: ("outcome", "keyframe", "every_ms", "took_ms")}
_BOUNDS = {
    "moment_ms": (0, LATEST_MS),
    "every_ms": (0, _MOST),
    "took_ms": (0, _MOST),
    "clock_jump_ms": (-_MOST, _MOST),
}
_WORDS = {(RowKind.LOOKS, "outcome"): frozenset(LookOutcome), (RowKind.FACTS, "aspect"): frozenset(Aspect)}


def check_rows(kind: RowKind, table: Any) -> None:
    """Passes rows of one row group of which each has a key, a moment and known words, in order and each once.

    Raises:
        ValueError: says which column holds what no recorder writes.
    """
    needed = ("moment_ms", *COLUMNS[kind].key, *_NEVER_EMPTY.get(kind, ()))
    for name in needed:
        if table[name].null_count:
            raise ValueError(
                sentence("recording-rows-without-value", "the column {column} has rows without a value", column=name)
            )
    for name, (low, high) in _BOUNDS.items():
        if name in table.schema.names:
            bounds = pc.min_max(table[name]).as_py()
            if bounds["min"] is not None and not low <= bounds["min"] <= bounds["max"] <= high:
                raise ValueError(
                    sentence(
                        "recording-column-bounds",
                        "the column {column} has {least} to {most}",
                        column=name,
                        least=bounds["min"],
                        most=bounds["max"],
                    )
                )
    for (of_kind, name), words in _WORDS.items():
        unknown = set(table[name].unique().to_pylist()) - words if of_kind is kind else set()
        if unknown:
            raise ValueError(
                sentence("recording-column-has", "the column {column} has {value!r}", column=name, value=min(unknown))
            )
    if not _ascends([table[name] for name in (*COLUMNS[kind].key, "moment_ms")]):
        raise ValueError(
            sentence(
                "recording-rows-out-of-order",
                "its rows are not in the order of their keys and moments, or are repeated",
            )
        )


def _ascends(columns: list[Any]) -> bool:
    """Whether each row is greater than the one before, by the first column that differs."""
    count = len(columns[0])
    if count < 2:
        return True
    is_greater = pa.scalar(False)
    for column in reversed(columns):
        ranks = _ranks(column)
        before, after = ranks.slice(0, count - 1), ranks.slice(1)
        is_greater = pc.or_(pc.greater(after, before), pc.and_(pc.equal(after, before), is_greater))
    return bool(pc.all(is_greater).as_py())


def _ranks(column: Any) -> Any:
    """Returns values that compare as those of the column do; codes of texts are compared as numbers."""
    if not pa.types.is_dictionary(column.type):
        return column.combine_chunks()
    coded = column.combine_chunks()
    return pc.rank(coded.dictionary, tiebreaker="dense").take(coded.indices)
