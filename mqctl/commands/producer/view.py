"""Producers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.commands.producer.rows import ProducerList, ProducerRow
from mqctl.model.column import columns_of
from mqctl.model.member import Member, ProducerMembership, is_grpc_client
from mqctl.protocol.codes import version_text
from mqctl.render.document import Document, Table
from mqctl.text import sentence

PRODUCER_COLUMNS = columns_of(ProducerRow)


def producer_document(memberships: Iterable[tuple[str, ProducerMembership]]) -> Document:
    """Builds the document of `producer list` from the producer groups of each broker."""
    members: dict[tuple[str, str], list[tuple[str, Member]]] = {}
    for broker, held in memberships:
        for member in held.members:
            members.setdefault((held.group, member.client_id), []).append((broker, member))
    rows = [_producer(group, client, entries) for (group, client), entries in sorted(members.items())]
    value = ProducerList(producers=rows)
    table = Table(PRODUCER_COLUMNS, rows, empty=sentence("empty-no-producer-is-connected", "no producer is connected"))
    return Document(schema="producer.list/1", value=value, records=rows, blocks=[table])


def _producer(group: str, client: str, entries: Sequence[tuple[str, Member]]) -> ProducerRow:
    first = entries[0][1]
    return ProducerRow(
        group=group,
        client_id=client,
        addresses=", ".join(dict.fromkeys(member.address for _, member in entries)),
        language=first.language,
        version="gRPC" if is_grpc_client(client) else version_text(first.version) if first.version else None,
        brokers=", ".join(dict.fromkeys(broker for broker, _ in entries)),
        last_heartbeat_ms=max((member.last_heartbeat_ms or 0 for _, member in entries), default=0) or None,
    )
