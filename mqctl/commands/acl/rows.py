"""Users, what they may do, and what a broker would decide, as rows."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mqctl.model.column import CellKind, column
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """One entry of a user, or a user without any, with the brokers that have it so."""

    user: str = field(metadata=column("user"))
    user_type: str = field(metadata=column("type"))
    user_status: str = field(metadata=column("status"))
    resource: str | None = field(metadata=column("resource", none="none"))
    decision: str | None = field(metadata=column("decision", none=""))
    actions: str | None = field(metadata=column("actions", none=""))
    sources: str | None = field(metadata=column("from", none="anywhere"))
    policy: str | None = field(metadata=column("policy", none="", wide=True))
    brokers: str = field(metadata=column("brokers"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFileRow:
    """One file of a 4.9 broker's access list."""

    broker: str = field(metadata=column("broker"))
    path: str = field(metadata=column("file"))
    change_count: int = field(metadata=column("changes by request", CellKind.COUNT))
    changed_time_ms: int = field(metadata=column("last change", CellKind.TIME_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessReport:
    """Machine form of `acl list`; `files` are those of 4.9 brokers, whose accounts no request tells."""

    entries: list[AccessRow]
    files: list[AccessFileRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDecision:
    """What one broker decides.

    Attributes:
        decision: `Allow` or `Deny`.
        resource: of the entry that decides.
        against: resources of entries that fit as well and say the opposite: the order of additions decided.
    """

    broker: str = field(metadata=column("broker"))
    decision: str = field(metadata=column("decision"))
    resource: str | None = field(metadata=column("by entry", none="none"))
    reason: str = field(metadata=column("why"))
    against: str | None = field(metadata=column("overridden", none=""))
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessExplanation:
    """Machine form of `acl explain`."""

    user: str
    action: str
    resource: str
    address: str
    brokers: list[ExplainedDecision]
