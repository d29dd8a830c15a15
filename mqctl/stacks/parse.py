"""Dumps as tools write them, read into values: jstack and jcmd, a consumer's running information, py-spy."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import BinaryIO

from mqctl.model.dump import StackDump


def read_dumps(text: str, *, source: str, taken_at_ms: int | None = None, zone: tzinfo = UTC) -> list[StackDump]:
    """Returns the dumps in `text`, in their order; several may follow each other, of any kinds.

    Never raises for damaged text: what cannot be read is left out and said in `notes`; an incomplete dump is
    `truncated`. Text without any thread gives an empty list.

    Args:
        source: where the text comes from, for people.
        taken_at_ms: when it was taken, for dumps that do not say it themselves.
        zone: of the clock times in Java dumps, which name none.
    """
    raise NotImplementedError


def read_stream(
    stream: BinaryIO, *, source: str, taken_at_ms: int | None = None, zone: tzinfo = UTC
) -> list[StackDump]:
    """Returns the dumps in a file, as `read_dumps` does, without having the whole file in memory."""
    raise NotImplementedError
