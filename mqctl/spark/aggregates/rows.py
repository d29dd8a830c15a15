"""The rows of counts as columns: what numpy and the compiled twin hand on alike."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.grouping import Grouped, Heavy
from mqctl.spark.query import Cut, Dim
from mqctl.spark.scan.keys import key_text
from mqctl.store.mapped_files import Buffer

READ, DAMAGE, QUEUES = "read", "damage", "queues"
"""Cuts that every scan has: what was read and skipped a store; damaged spots; queues there are, whatever they hold."""


def row_columns(cut: Cut, store: str, names: dict[Dim, list[Value]], groups: Grouped) -> Columns:
    """Returns the rows of a cut without keys."""
    count = len(groups.messages)
    return {
        "cut": [cut.name] * count,
        "store": [store] * count,
        **{dim.value: values for dim, values in names.items()},
        "messages": groups.messages.tolist(),
        "bytes": groups.bytes.tolist(),
        "body_bytes": groups.body_bytes.tolist(),
        "oldest_ms": groups.oldest_ms.tolist(),
        "newest_ms": groups.newest_ms.tolist(),
    }


def key_columns(
    cut: Cut, store: str, heavy: Heavy, buffer: Buffer, places: Sequence[tuple[int, int] | None]
) -> Columns:
    """Returns the rows of the heaviest keys; `places` is where an example of each stands: position and size."""
    dims = [dim.value for dim in cut.dims if dim is not Dim.KEY]
    count = len(heavy.messages)
    return {
        "cut": [cut.name] * count,
        "store": [store] * count,
        **dict(zip(dims, heavy.values, strict=True)),
        "key": [None if place is None else key_text(buffer, *place) for place in places],
        "is_rest": heavy.is_rest.tolist(),
        "messages": heavy.messages.tolist(),
        "bytes": heavy.bytes.tolist(),
        "body_bytes": heavy.body_bytes.tolist(),
        "keys": heavy.keys.tolist(),
        "most_messages": heavy.most_messages.tolist(),
        "most_bytes": heavy.most_bytes.tolist(),
    }
