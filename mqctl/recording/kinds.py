"""The kinds of rows of a recording, their columns, and the names of files: the format, declared once.

A row says what its key looked like from a moment on; the next row of the same key, or one with `gone`, ends that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeAlias

from mqctl.model.forms import RECORDING
from mqctl.model.spans import HOUR_MS

FORMAT = f"recording/{RECORDING}"
"""Value of the metadata entry `format` of each file."""
FORMAT_ENTRY = b"format"
CLUSTER_ENTRY = b"cluster"

MOST_ROWS = 1 << 24
"""Rows of a file at most: a quarter of a day of 7,000 queues that move at every look of ten seconds."""
LATEST_MS = 253_402_300_799_999
"""End of the year 9999: no moment is later."""

Cell: TypeAlias = str | int | float | bool | None
Key: TypeAlias = tuple[Cell, ...]
Values: TypeAlias = tuple[Cell, ...]
Rows: TypeAlias = Mapping[Key, Values]
State: TypeAlias = Mapping["RowKind", Rows]


class RowKind(StrEnum):
    """What a file is about; the folder it lies in."""

    LOOKS = "looks"
    BROKERS = "brokers"
    QUEUES = "queues"
    OFFSETS = "offsets"
    MEMBERS = "members"
    OWNERS = "owners"
    FACTS = "facts"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one kind: name and type, `str`, `int`, `float` or `bool`.

    Every row has `moment_ms` before them and, but for looks, `gone` behind them.
    """

    key: Mapping[str, type]
    values: Mapping[str, type]

    @property
    def all(self) -> dict[str, type]:
        return {**self.key, **self.values}


COLUMNS: Mapping[RowKind, Columns] = {
    RowKind.LOOKS: Columns(
        key={},
        values={
            "outcome": str,
            "keyframe": bool,
            "every_ms": int,
            "took_ms": int,
            "clock_jump_ms": int,
            "cause": str,
            "reason": str,
            "name_servers": str,
            "unavailable": str,
        },
    ),
    RowKind.BROKERS: Columns(
        key={"broker": str, "broker_id": int},
        values={
            "cluster": str,
            "address": str,
            "version": str,
            "answered": bool,
            "put_tps": float,
            "get_tps": float,
            "disk_used_share": float,
            "commit_log_bytes": int,
            "file_reserved_ms": int,
        },
    ),
    RowKind.QUEUES: Columns(
        key={"broker": str, "topic": str, "queue_id": int},
        values={"min_offset": int, "max_offset": int, "first_store_time_s": int, "last_store_time_s": int},
    ),
    RowKind.OFFSETS: Columns(
        key={"broker": str, "group": str, "topic": str, "queue_id": int},
        values={"offset": int, "next_store_time_s": int, "last_consumed_store_time_s": int},
    ),
    RowKind.MEMBERS: Columns(
        key={"broker": str, "group": str, "client_id": str, "address": str},
        values={"language": str, "version": int},
    ),
    RowKind.OWNERS: Columns(
        key={"group": str, "topic": str, "broker": str, "queue_id": int, "client_id": str},
        values={},
    ),
    RowKind.FACTS: Columns(
        key={"broker": str, "broker_id": int, "aspect": str, "name": str},
        values={"value": str},
    ),
}


class LookOutcome(StrEnum):
    """How a look ended.

    Attributes:
        WHOLE, PARTIAL: everything answered, or some of it did not.
        FAILED: nobody answered; nothing else was recorded.
        STOPPED: the recorder was ended properly at this moment.
    """

    WHOLE = "whole"
    PARTIAL = "partial"
    FAILED = "failed"
    STOPPED = "stopped"


class Aspect(StrEnum):
    """What a fact is about; its value is JSON but for settings and runtime figures, which are texts of the broker."""

    TOPIC = "topic"
    GROUP = "group"
    MEMBERSHIP = "membership"
    PRODUCERS = "producers"
    DELAY = "delay"
    SETTING = "setting"
    RUNTIME = "runtime"
    GAPS = "gaps"


@dataclass(frozen=True, slots=True, order=True)
class RecordedPiece:
    """One file: the rows of one kind between two moments, both included.

    Attributes:
        name: below the recording's directory, with `/`.
    """

    kind: RowKind
    first_ms: int
    last_ms: int

    @property
    def day(self) -> str:
        return day_of(self.first_ms)

    @property
    def name(self) -> str:
        return f"{self.kind}/day={self.day}/{self.first_ms}-{self.last_ms}.parquet"

    @property
    def hour(self) -> int:
        """Number of the hour since the epoch in which it begins."""
        return self.first_ms // HOUR_MS

    def covers(self, other: RecordedPiece) -> bool:
        """Whether `other` was merged into this one."""
        return self != other and self.first_ms <= other.first_ms and other.last_ms <= self.last_ms


_NAME = re.compile(r"(?P<kind>[a-z]+)/day=\d{4}-\d\d-\d\d/(?P<first>\d{1,15})-(?P<last>\d{1,15})\.parquet")


def piece_of(name: str) -> RecordedPiece | None:
    """Reads a file's name; None for files that belong to something else."""
    match = _NAME.fullmatch(name)
    if match is None or match["kind"] not in set(RowKind):
        return None
    piece = RecordedPiece(RowKind(match["kind"]), int(match["first"]), int(match["last"]))
    return piece if piece.first_ms <= piece.last_ms <= LATEST_MS and piece.name == name else None


def day_of(moment_ms: int) -> str:
    """Returns the day of a moment in UTC, `2026-05-01`."""
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y-%m-%d")
