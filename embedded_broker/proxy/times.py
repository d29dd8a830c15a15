"""Moments and spans of protobuf, in milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.timestamp_pb2 import Timestamp


def span_ms(span: Duration) -> int:
    """Returns milliseconds; whatever the fields hold, sound or not."""
    ms: int = span.seconds * 1_000 + span.nanos // 1_000_000
    return ms


def moment_ms(moment: Timestamp) -> int:
    """Returns epoch milliseconds; whatever the fields hold, sound or not."""
    ms: int = moment.seconds * 1_000 + moment.nanos // 1_000_000
    return ms


def set_ms(field: Duration | Timestamp, ms: int) -> None:
    """Sets a moment or span."""
    field.seconds, rest = divmod(ms, 1_000)
    field.nanos = rest * 1_000_000
