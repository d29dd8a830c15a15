"""Users, what they may do, and what a broker would decide, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqctl.model.access import AccessEntry, AccessFile, AccessState, AccessUser, Decision
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import keep_texts, sentence

LIST_COLUMNS = (
    Column("user", "user"),
    Column("user_type", "type"),
    Column("user_status", "status"),
    Column("resource", "resource", none="none"),
    Column("decision", "decision", none=""),
    Column("actions", "actions", none=""),
    Column("sources", "from", none="anywhere"),
    Column("brokers", "brokers"),
    Column("policy", "policy", none="", wide=True),
)
FILE_COLUMNS = (
    Column("broker", "broker"),
    Column("path", "file"),
    Column("change_count", "changes by request", CellKind.COUNT),
    Column("changed_time_ms", "last change", CellKind.TIME_MS),
)
EXPLAIN_COLUMNS = (
    Column("broker", "broker"),
    Column("decision", "decision"),
    Column("resource", "by entry", none="none"),
    Column("reason", "why"),
    Column("against", "overridden", none=""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """One entry of a user, or a user without any, with the brokers that have it so."""

    user: str
    user_type: str
    user_status: str
    resource: str | None
    decision: str | None
    actions: str | None
    sources: str | None
    policy: str | None
    brokers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFileRow:
    """One file of a 4.9 broker's access list."""

    broker: str
    path: str
    change_count: int
    changed_time_ms: int


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

    broker: str
    decision: str
    resource: str | None
    reason: str
    against: str | None
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


def access_document(
    states: Mapping[str, AccessState], files: Mapping[str, Sequence[AccessFile]], user: str | None
) -> Document:
    """Builds the document of `acl list`.

    Args:
        states: by broker.
        files: of access lists of 4.9, by broker.
        user: all but this one are left out.
    """
    places: dict[tuple[AccessUser, AccessEntry | None], list[str]] = {}
    for broker, state in states.items():
        for item in state.users:
            for entry in state.entries.get(item.name, ()) or (None,):
                if user in (None, item.name):
                    places.setdefault((item, entry), []).append(broker)
    ordered = sorted(places.items(), key=lambda pair: pair[0][0].name)
    rows = [_row(item, entry, brokers) for (item, entry), brokers in ordered]
    file_rows = [
        AccessFileRow(broker=broker, path=item.path, change_count=item.change_count, changed_time_ms=item.changed_ms)
        for broker, own in sorted(files.items())
        for item in own
    ]
    tables = (
        [Table(LIST_COLUMNS, rows, empty=sentence("empty-no-broker-has-users", "no broker has users"))]
        if rows or not file_rows
        else []
    )
    tables += [Table(FILE_COLUMNS, file_rows)] if file_rows else []
    return Document(schema="acl.list/1", value=AccessReport(entries=rows, files=file_rows), records=rows, blocks=tables)


def _row(user: AccessUser, entry: AccessEntry | None, brokers: Sequence[str]) -> AccessRow:
    return AccessRow(
        user=user.name,
        user_type=user.kind,
        user_status=user.status,
        resource=entry.resource if entry else None,
        decision=entry.decision if entry else None,
        actions=", ".join(entry.actions) if entry else None,
        sources=", ".join(entry.sources) or None if entry else None,
        policy=entry.policy if entry else None,
        brokers=", ".join(brokers),
    )


def explanation_document(question: tuple[str, str, str, str], decisions: Mapping[str, Decision]) -> Document:
    """Builds the document of `acl explain`.

    Args:
        question: user, action, resource and address.
        decisions: by broker.
    """
    user, action, resource, address = question
    rows = [_explained(broker, decision) for broker, decision in decisions.items()]
    value = AccessExplanation(user=user, action=action, resource=resource, address=address, brokers=rows)
    table = Table(EXPLAIN_COLUMNS, rows, empty=sentence("empty-no-broker-checks-who-asks", "no broker checks who asks"))
    return Document(schema="acl.explain/1", value=value, records=rows, blocks=[table])


def _explained(broker: str, decision: Decision) -> ExplainedDecision:
    entry = decision.entry
    why = decision.reason or (
        sentence("acl-entry-allows", "an entry allows it")
        if entry is not None
        else sentence("acl-super-user-everything", "a Super user may do everything")
    )
    if decision.against:
        why += sentence("acl-entries-contradict-each-other", " Entries contradict each other: their order decides.")
    return ExplainedDecision(
        broker=broker,
        decision="Allow" if decision.allowed else "Deny",
        resource=None if entry is None else entry.resource,
        reason=why,
        against=", ".join(item.resource for item in decision.against) or None,
    )
