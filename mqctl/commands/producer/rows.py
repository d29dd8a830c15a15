"""Producers as rows."""

from __future__ import annotations

from dataclasses import field

from mqctl.model.column import CellKind, column
from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerRow:
    """One producer; `last_heartbeat_ms` is the newest that a broker got, epoch milliseconds."""

    group: str = field(metadata=column("producer group"))
    client_id: str = field(metadata=column("client id"))
    addresses: str = field(metadata=column("address"))
    language: str | None = field(metadata=column("language"))
    version: str | None = field(metadata=column("version"))
    brokers: str = field(metadata=column("connected to"))
    last_heartbeat_ms: int | None = field(metadata=column("last heartbeat", CellKind.TIME_MS, wide=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerList:
    """Machine form of `producer list`."""

    producers: list[ProducerRow]
