"""A broker as it was registered some time ago."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBroker:
    """A broker name that name servers knew when they were last asked about all brokers from here.

    Attributes:
        address: of the master, else of any process; None where none was told.
        last_seen_time_ms: when it was registered for the last time that is known.
    """

    cluster: str
    name: str
    address: str | None
    last_seen_time_ms: int
