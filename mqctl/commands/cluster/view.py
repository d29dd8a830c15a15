"""Clusters as a table."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.brokers import BrokerRow
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

COLUMNS = (
    Column("cluster", "cluster"),
    Column("broker_names", "brokers"),
    Column("process_count", "processes", CellKind.COUNT),
    Column("put_tps", "in/s", CellKind.RATE, none="?"),
    Column("get_tps", "out/s", CellKind.RATE, none="?"),
    Column("versions", "versions"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """One cluster; rates are sums over the masters that told them."""

    cluster: str
    broker_names: str
    process_count: int
    put_tps: float | None
    get_tps: float | None
    versions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterList:
    """Machine form of `cluster list`.

    Attributes:
        differing: name servers whose brokers are not those of the first.
    """

    clusters: list[ClusterRow]
    name_servers: list[str]
    differing: list[str]


def cluster_document(rows: Sequence[BrokerRow], name_servers: Sequence[str], differing: Sequence[str]) -> Document:
    """Builds the document of `cluster list` from its brokers."""
    parts: dict[str, list[BrokerRow]] = {}
    for row in rows:
        parts.setdefault(row.cluster, []).append(row)
    clusters = [cluster_row(name, members) for name, members in sorted(parts.items())]
    value = ClusterList(clusters=clusters, name_servers=list(name_servers), differing=list(differing))
    lines = [sentence("cluster-name-servers", "name servers: {name_servers}", name_servers=name_servers)]
    lines += (
        [sentence("cluster-other-brokers-known", "other brokers are known at: {differing}", differing=differing)]
        if differing
        else []
    )
    blocks: list[Table | Paragraphs] = [Table(COLUMNS, clusters), Paragraphs(lines)]
    return Document(schema="cluster.list/1", value=value, records=clusters, blocks=blocks)


def cluster_row(name: str, members: Sequence[BrokerRow]) -> ClusterRow:
    """Sums up the brokers of one cluster."""
    masters = [row for row in members if row.broker_id == 0]
    put = [row.put_tps for row in masters if row.put_tps is not None]
    get = [row.get_tps for row in masters if row.get_tps is not None]
    return ClusterRow(
        cluster=name,
        broker_names=", ".join(sorted({row.name for row in members})),
        process_count=len(members),
        put_tps=round(sum(put), 2) if put else None,
        get_tps=round(sum(get), 2) if get else None,
        versions=", ".join(sorted({row.version for row in members if row.version})),
    )


SETTING_COLUMNS = (Column("name_server", "name server"), Column("key", "key"), Column("value", "value"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerSetting:
    """One property of one name server."""

    name_server: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerSettingList:
    """Machine form of `cluster describe --config`."""

    settings: list[NameServerSetting]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValueList:
    """Machine form of `cluster kv`."""

    namespace: str
    values: list[NameServerSetting]


def key_values_document(namespace: str, values: Sequence[NameServerSetting]) -> Document:
    """Builds the document of `cluster kv`."""
    value = KeyValueList(namespace=namespace, values=list(values))
    return Document(schema="cluster.kv/1", value=value, records=values, blocks=[Table(SETTING_COLUMNS, values)])


def name_server_settings_document(settings: Sequence[NameServerSetting]) -> Document:
    """Builds the document of `cluster describe --config`."""
    value = NameServerSettingList(settings=list(settings))
    return Document(schema="cluster.config/1", value=value, records=settings, blocks=[Table(SETTING_COLUMNS, settings)])
