"""Dumps as tools write them, read into values: jstack and jcmd, a consumer's running information, py-spy."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from datetime import UTC, tzinfo
from typing import BinaryIO, Protocol

from mqctl.model.dump import StackDump
from mqctl.stacks.collecting import Collector, DumpLimits
from mqctl.stacks.java_dump import JavaReader
from mqctl.stacks.python_dump import PySpyJsonReader, PySpyTextReader
from mqctl.stacks.remote_dump import RemoteReader
from mqctl.text import sentence

_LONGEST_LINE = 64 << 10
_LONGEST_PLAIN_LINE = 8 << 10


class _Reader(Protocol):
    """One format. `begins` tells whether a line can be the first one of it, without taking it."""

    def begins(self, line: str) -> bool: ...
    def takes(self, line: str) -> bool: ...
    def end_thread(self) -> None: ...
    def end_text(self) -> None: ...


def read_dumps(
    text: str, *, source: str, taken_at_ms: int | None = None, zone: tzinfo = UTC, limits: DumpLimits | None = None
) -> list[StackDump]:
    """Returns the dumps in `text`, in their order; several may follow each other, of any kinds.

    Never raises for damaged text: what cannot be read is left out and said in `notes`; an incomplete dump is
    `truncated`. Text without any thread gives an empty list.

    Args:
        source: where the text comes from, for people.
        taken_at_ms: when it was taken, for dumps that do not say it themselves.
        zone: of the clock times in Java dumps, which name none.
    """
    return _read(_pieces(text), Collector(source, taken_at_ms, limits or DumpLimits()), zone)


def read_stream(
    stream: BinaryIO,
    *,
    source: str,
    taken_at_ms: int | None = None,
    zone: tzinfo = UTC,
    limits: DumpLimits | None = None,
) -> list[StackDump]:
    """Returns the dumps in a file, as `read_dumps` does, without having the whole file in memory.

    The text is taken for UTF-8, or for UTF-16 where it begins with its mark or has zero bytes (PowerShell's `>`).

    Raises:
        OSError: the stream cannot be read.
    """
    return _read(_lines(stream), Collector(source, taken_at_ms, limits or DumpLimits()), zone)


def _pieces(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= _LONGEST_LINE:
            yield line
        else:
            yield from (line[start : start + _LONGEST_LINE] for start in range(0, len(line), _LONGEST_LINE))


def _lines(stream: BinaryIO) -> Iterator[str]:
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(_Raw(stream))
    head = buffered.peek(64)[:64]
    text = io.TextIOWrapper(buffered, encoding=_encoding(head), errors="replace", newline="\n")
    try:
        last = ""
        while line := text.readline(_LONGEST_LINE):
            last = line
            yield line.removesuffix("\n")
        if last.endswith("\n"):
            yield ""
    finally:
        text.detach()


def _encoding(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if len(head) >= 16 and not any(head[1::2]) and all(head[0::2]):
        return "utf-16-le"
    return "utf-8-sig"


class _Raw(io.RawIOBase):
    """A stream that can only `read`, made fit for buffering."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        view[: len(data)] = data
        return len(data)


def _read(lines: Iterable[str], collector: Collector, zone: tzinfo) -> list[StackDump]:
    """Hands each line to the reader that took the one before, or else to the first that it can begin."""
    readers: list[_Reader] = [
        JavaReader(collector, zone),
        RemoteReader(collector),
        PySpyTextReader(collector),
        PySpyJsonReader(collector),
    ]
    last = readers[0]
    unread = ""
    for raw in lines:
        line = raw[:-1] if raw.endswith("\r") else raw
        if len(line) > _LONGEST_PLAIN_LINE and not (last is readers[3] or line.lstrip().startswith("[")):
            collector.note(sentence("stacks-line-too-long-dump", "a line too long for a dump was passed over"))
            continue
        unread = ""
        if not last.takes(line):
            other = _other(readers, line)
            if other is None:
                unread = line
            else:
                last.end_thread()
                other.takes(line)
                last = other
        if collector.full:
            break
    if not collector.full:
        last.end_text()
        if unread.strip():
            collector.cut(
                sentence("stacks-text-ends-middle-line", "the text ends in the middle of a line that cannot be read")
            )
    return collector.finish()


def _other(readers: list[_Reader], line: str) -> _Reader | None:
    """Returns the reader whose format can begin with `line`."""
    return next((reader for reader in readers if reader.begins(line)), None)
