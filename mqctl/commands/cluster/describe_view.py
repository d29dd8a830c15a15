"""One cluster in one screen: totals, name servers, brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from mqctl.commands.cluster.view import ClusterRow, cluster_row
from mqctl.model.counts import counted
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.route import BrokerEndpoint, SeenBroker
from mqctl.render.brokers import COLUMNS, BrokerRow, broker_rows, missing_row, shown_columns
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.text import keep_texts, sentence
from mqctl.units import count

_SERVER_COLUMNS = (
    Column("address", "name server"),
    Column("broker_count", "broker processes", CellKind.COUNT, none="?"),
    Column("difference", "differs from others"),
    Column("problem", "problem"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerRow:
    """One name server.

    Attributes:
        broker_count: processes of this cluster that it knows; None when it did not answer.
        difference: addresses that only some name servers know, as `missing: ...`; None when all agree.
    """

    address: str
    broker_count: int | None
    difference: str | None = None
    problem: str | None = None
    problem_key: str | None = None
    problem_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """Machine form of `cluster describe`.

    Attributes:
        topic_count, group_count: those application, by the masters that told; None when none told.
        retry_topic_count, dead_letter_topic_count: topics that groups got.
        popping_group_count: groups that brokers have consume by POP on some topic (5.x); None where one did not tell.
        missing_count: brokers that ought to be registered and are not; the last of `brokers`.
    """

    cluster: ClusterRow
    name_servers: list[NameServerRow]
    brokers: list[BrokerRow]
    master_count: int
    slave_count: int
    topic_count: int | None
    retry_topic_count: int | None
    dead_letter_topic_count: int | None
    group_count: int | None
    popping_group_count: int | None = None
    missing_count: int = 0


def cluster_description(
    name: str,
    brokers: Sequence[LiveBroker],
    servers: Mapping[str, tuple[BrokerEndpoint, ...]],
    gaps: Iterable[Gap],
    modes: Mapping[str, Set[str]],
    *,
    missing: Sequence[SeenBroker] = (),
) -> ClusterDescription:
    """Builds the description of the cluster `name`.

    Args:
        modes: how groups consume, `POP` or `PULL`, of those for which that was set.
        missing: brokers that ought to be registered and are not.
    """
    rows = broker_rows(brokers)
    masters = [broker for broker in brokers if broker.address.is_master]
    topics = {topic for broker in masters for topic in broker.topics if topic not in broker.reserved}
    theirs = {topic for topic in topics if not is_system_topic(topic)}
    owned = {topic for topic in theirs if group_of(topic) is not None}
    retries = {topic for topic in owned if topic.startswith("%RETRY%")}
    told_topics, told_groups = any(item.topics for item in masters), any(item.groups for item in masters)
    groups = {group for broker in masters for group in broker.groups if not is_system_group(group)}
    return ClusterDescription(
        cluster=cluster_row(name, rows),
        name_servers=_name_servers(name, servers, gaps),
        brokers=[*rows, *map(missing_row, missing)],
        missing_count=len(missing),
        master_count=len(masters),
        slave_count=len(brokers) - len(masters),
        topic_count=len(theirs - owned) if told_topics else None,
        retry_topic_count=len(retries) if told_topics else None,
        dead_letter_topic_count=len(owned - retries) if told_topics else None,
        group_count=len(groups) if told_groups else None,
        popping_group_count=None
        if any(gap.part is Part.MEMBERS for broker in masters for gap in broker.gaps)
        else sum("POP" in modes.get(group, ()) for group in groups),  # modes of deleted groups stay with brokers
    )


def _name_servers(
    name: str, servers: Mapping[str, tuple[BrokerEndpoint, ...]], gaps: Iterable[Gap]
) -> list[NameServerRow]:
    known = {
        server: {address for item in endpoints if item.cluster == name for address in item.addresses.values()}
        for server, endpoints in servers.items()
    }
    everyone: set[str] = set().union(*known.values())
    rows = [
        NameServerRow(
            address=server,
            broker_count=len(state),
            difference=sentence("cluster-missing", "missing: {everyone}", everyone=sorted(everyone - state))
            if everyone - state
            else None,
        )
        for server, state in known.items()
    ]
    silent = [NameServerRow(address=gap.address or "", broker_count=None, problem=gap.reason) for gap in gaps]
    return [*rows, *silent]


def description_document(description: ClusterDescription) -> Document:
    """Builds the document of `cluster describe`."""
    row = description.cluster
    lines = [
        sentence(
            "cluster-versions",
            "cluster      {cluster}, {versions}",
            cluster=row.cluster,
            versions=row.versions or sentence("cluster-version-not-known", "version not known"),
        ),
        sentence(
            "cluster-brokers",
            "brokers      {master_count}, {slave_count}",
            master_count=counted(description.master_count, "master"),
            slave_count=counted(description.slave_count, "slave"),
        )
        + (
            sentence(
                "cluster-missing-missing-count", "; {missing_count} missing", missing_count=description.missing_count
            )
            if description.missing_count
            else ""
        ),
        sentence(
            "cluster-rates-out",
            "rates        {in_tps} in/s, {out_tps} out/s",
            in_tps=row.put_tps,
            out_tps=row.get_tps,
        ),
        sentence(
            "cluster-topics-application-retry-dead",
            "topics       {number} application, {number_2} retry, {number_3} dead-letter",
            number=_number(description.topic_count),
            number_2=_number(description.retry_topic_count),
            number_3=_number(description.dead_letter_topic_count),
        ),
        sentence(
            "cluster-groups",
            "groups       {number}{popping}",
            number=_number(description.group_count),
            popping=_popping(description),
        ),
    ]
    blocks: list[Table | Paragraphs] = [
        Paragraphs(lines),
        Table(_SERVER_COLUMNS, description.name_servers),
        Table(shown_columns(description.brokers), description.brokers),
    ]
    return Document(
        schema="cluster.describe/1",
        value=description,
        records=description.brokers,
        blocks=blocks,
        csv_columns=COLUMNS,
    )


def _popping(description: ClusterDescription) -> str:
    number = description.popping_group_count
    return sentence("cluster-set-pop", ", {number} of them set to POP", number=_number(number)) if number != 0 else ""


def _number(value: int | None) -> str:
    return "?" if value is None else count(value)
