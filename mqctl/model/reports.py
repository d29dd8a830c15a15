"""The reports over store directories as values: what the commands of `mqctl report` print as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.model.report_rows import (
    DuplicateGap,
    DuplicateKey,
    DuplicateProducer,
    DuplicateTopic,
    DuplicateWindow,
    OrderKey,
    OrderPeriod,
    OrderTopic,
    Resharded,
    SkewKey,
    SkewProducer,
    SkewQueue,
    SkewSize,
    SkewTopic,
    StoreRead,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewReport:
    """Machine form of `report skew`."""

    read: list[StoreRead]
    topics: list[SkewTopic]
    queues: list[SkewQueue]
    keys: list[SkewKey]
    producers: list[SkewProducer]
    sizes: list[SkewSize]
    resharded: list[Resharded]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderReport:
    """Machine form of `report order`."""

    bucket_ms: int
    read: list[StoreRead]
    topics: list[OrderTopic]
    periods: list[OrderPeriod]
    keys: list[OrderKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesReport:
    """Machine form of `report duplicates`."""

    bucket_ms: int
    topics: list[DuplicateTopic]
    windows: list[DuplicateWindow]
    producers: list[DuplicateProducer]
    gaps: list[DuplicateGap]
    keys: list[DuplicateKey]
