"""Users, what they may do, and what a broker would decide, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.commands.acl.rows import AccessExplanation, AccessFileRow, AccessReport, AccessRow, ExplainedDecision
from mqctl.model.access import AccessEntry, AccessFile, AccessState, AccessUser, Decision
from mqctl.model.column import columns_of
from mqctl.render.document import Document, Table
from mqctl.text import sentence

LIST_COLUMNS = columns_of(
    AccessRow, "user", "user_type", "user_status", "resource", "decision", "actions", "sources", "brokers", "policy"
)
FILE_COLUMNS = columns_of(AccessFileRow)
EXPLAIN_COLUMNS = columns_of(ExplainedDecision)


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
