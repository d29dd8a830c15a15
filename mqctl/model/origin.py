"""Where and when a snapshot was taken."""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class OriginKind(StrEnum):
    """Where a snapshot was gathered."""

    STORE = "store"
    LIVE = "live"
    DELAY_FILE = "delay-file"


class ObservedFrom(StrEnum):
    """How the moment of observation was determined."""

    STORE_TIME = "newest-store-time"
    CHECKPOINT = "checkpoint"
    CONFIG_MTIME = "config-mtime"
    GIVEN = "given"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where and when a snapshot was taken.

    Attributes:
        location: store directory, file or name server addresses.
        observed_at_ms: the moment all ages refer to. A dead store's is its own last instant.
        observed_from: how that moment was determined.
        signed: whether brokers were asked with access keys.
        redacted: addresses, client ids and keys in it are made up.
        archive: the snapshot file this was loaded from, None when it comes fresh from its source.
    """

    kind: OriginKind
    location: str
    observed_at_ms: int
    observed_from: ObservedFrom
    archive: str | None = None
    redacted: bool = False
    signed: bool = False
