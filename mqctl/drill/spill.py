"""Rows dealt out to partitions, in memory while they are few and in scratch files beyond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from mqctl.drill.history import Rows
from mqctl.drill.scratch import Scratch
from mqctl.errors import BadInputError, StorageError
from mqctl.store.own_files import appending_stream
from mqctl.text import sentence

_MOST_BUFFERED = 500_000
_MOST_PARTITIONS = 100_000
Partition = tuple[int, int]


class Spill:
    """Rows by (owner, block). Use as a context manager: the scratch files go with it.

    Args:
        width: columns of a row.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._held: defaultdict[Partition, list[Rows]] = defaultdict(list)
        self._count = 0
        self._known: set[Partition] = set()
        self._scratch: Scratch | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            self._scratch.close()

    def deal(self, rows: Rows, owners: npt.NDArray[np.int64], blocks: npt.NDArray[np.int64]) -> None:
        """Adds rows to their partitions, in order.

        Raises:
            BadInputError: there are more partitions than numbers without gaps could make.
            StorageError: the scratch files cannot be written.
        """
        if not len(rows):
            return
        place = owners * (1 << 40) + blocks
        order = np.argsort(place, kind="stable")
        sorted_place = place[order]
        cuts = np.flatnonzero(np.diff(sorted_place)) + 1
        for part in np.split(order, cuts):
            key = (int(owners[part[0]]), int(blocks[part[0]]))
            self._known.add(key)
            self._held[key].append(rows[part])
        if len(self._known) > _MOST_PARTITIONS:
            raise BadInputError(
                sentence("drill-could-not-judge-history", "could not judge the history"),
                reason=sentence("numbers-scattered", "its numbers are scattered"),
                remedy=sentence("drill-number-messages", "number messages from 0 on"),
            )
        self._count += len(rows)
        if self._count > _MOST_BUFFERED:
            self._write()

    def _write(self) -> None:
        try:
            if self._scratch is None:
                self._scratch = Scratch()
            for key, parts in self._held.items():
                with appending_stream(self._file(key)) as stream:
                    for part in parts:
                        stream.write(part.tobytes())
        except OSError as error:
            raise StorageError(
                sentence("drill-could-not-write-scratch", "could not write scratch files"),
                reason=error.strerror or str(error),
            ) from error
        self._held.clear()
        self._count = 0

    def _file(self, key: Partition) -> Path:
        assert self._scratch is not None
        return self._scratch.path / f"{key[0]}-{key[1]}"

    def partitions(self) -> Iterator[tuple[Partition, Rows]]:
        """Yields each partition with its rows as they were dealt; those of one owner by ascending block."""
        for key in sorted(self._known):
            parts = self._held.pop(key, [])
            if self._scratch is not None and self._file(key).exists():
                written = np.fromfile(self._file(key), np.int64).reshape(-1, self._width)
                self._file(key).unlink()
                parts = [written, *parts]
            yield key, np.concatenate(parts)
