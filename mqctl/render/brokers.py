"""Brokers and clusters as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.replicas import Replica, replicas
from mqctl.model.route import SeenBroker
from mqctl.model.runtime import BrokerRuntime, read_runtime
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.text import keep_texts, sentence

REPLICATION = (
    Column("behind_bytes", "behind", CellKind.COUNT),
    Column("replica_state", "replica"),
)
COLUMNS = (
    Column("cluster", "cluster", wide=True),
    Column("name", "broker"),
    Column("broker_id", "id", CellKind.COUNT),
    Column("address", "address"),
    Column("version", "version", none="?"),
    Column("put_tps", "in/s", CellKind.RATE, none="?"),
    Column("get_tps", "out/s", CellKind.RATE, none="?"),
    Column("put_today_count", "in today", CellKind.COUNT, wide=True, none="?"),
    Column("get_today_count", "out today", CellKind.COUNT, wide=True, none="?"),
    Column("disk_used_share", "disk", CellKind.SHARE, none="?"),
    Column("commit_log_bytes", "commit log", CellKind.BYTES, wide=True, none="?"),
    Column("oldest_message_time_ms", "oldest message", CellKind.TIME_MS, wide=True),
    Column("boot_time_ms", "up since", CellKind.TIME_MS, wide=True),
    *REPLICATION,
    Column("problem", "problem"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow:
    """One broker process.

    Attributes:
        broker_id: 0 is the master.
        put_tps, get_tps: messages per second over the last 10 s.
        behind_bytes: of a slave: bytes that its log ends before its master's; below 0 when it ends after it.
        replica_state: of a slave, as `ha status` has it: `in-sync`, `empty`, `diverged`, `no-master` and so on.
        problem: why it could not be asked.
        registered: whether name servers know it; False for one that ought to be there, with the reason as `problem`,
            and for one that was asked by its address.
    """

    cluster: str
    name: str
    broker_id: int
    address: str
    version: str | None = None
    put_tps: float | None = None
    get_tps: float | None = None
    put_today_count: int | None = None
    get_today_count: int | None = None
    disk_used_share: float | None = None
    commit_log_bytes: int | None = None
    oldest_message_time_ms: int | None = None
    boot_time_ms: int | None = None
    behind_bytes: int | None = None
    replica_state: str | None = None
    problem: str | None = None
    registered: bool = True
    problem_key: str | None = None
    problem_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerList:
    """Machine form of `broker list` and `cluster list`."""

    brokers: list[BrokerRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription:
    """Machine form of `broker describe`.

    Attributes:
        runtime: typed values; `raw` has everything the broker said.
    """

    broker: BrokerRow
    runtime: BrokerRuntime
    raw: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One property of one broker."""

    broker: str
    address: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingList:
    """Machine form of `broker config` and `broker describe --counters`."""

    settings: list[Setting]


SETTING_COLUMNS = (Column("broker", "broker"), Column("key", "key"), Column("value", "value"))


def broker_row(broker: LiveBroker) -> BrokerRow:
    """Builds a broker's row; without runtime information only its names are known, and why."""
    address = broker.address
    runtime = read_runtime(broker.runtime)
    return BrokerRow(
        cluster=address.cluster,
        name=address.broker_name,
        broker_id=address.broker_id,
        address=address.address,
        version=runtime.version,
        put_tps=_rounded(runtime.put_tps.newest),
        get_tps=_rounded(runtime.get_tps.newest),
        put_today_count=runtime.put_today_count,
        get_today_count=runtime.get_today_count,
        disk_used_share=runtime.disk_used_share,
        commit_log_bytes=runtime.commit_log_bytes,
        oldest_message_time_ms=runtime.oldest_message_time_ms,
        boot_time_ms=runtime.boot_time_ms,
        problem=broker.gaps[0].reason if broker.gaps else _unregistered(broker),
        registered=broker.registered,
    )


def _unregistered(broker: LiveBroker) -> str | None:
    if broker.registered:
        return None
    return sentence("broker-no-name-server-lists", "not registered: no name server lists it")


def missing_row(broker: SeenBroker) -> BrokerRow:
    """Builds the row of a broker that is not registered and ought to be."""
    why = (
        sentence("broker-part", "part of {expected_by}", expected_by=broker.expected_by)
        if broker.expected_by
        else sentence("broker-within-day", "it was within a day")
    )
    return BrokerRow(
        cluster=broker.cluster,
        name=broker.name,
        broker_id=0,
        address=broker.address or "?",
        problem=sentence("broker-not-registered", "not registered: {why}", why=why),
        registered=False,
    )


def broker_rows(brokers: Sequence[LiveBroker]) -> list[BrokerRow]:
    """Builds the rows of all brokers of a list: slaves are held against their masters."""
    slaves = {item.address: item for item in replicas(broker.snapshot() for broker in brokers)}
    return [_beside_master(broker_row(broker), slaves.get(broker.address.address)) for broker in brokers]


def _beside_master(row: BrokerRow, replica: Replica | None) -> BrokerRow:
    if replica is None:
        return row
    return replace(row, behind_bytes=replica.behind_bytes, replica_state=replica.state.value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def broker_document(rows: Sequence[BrokerRow]) -> Document:
    """Builds the document of a list of brokers."""
    value = BrokerList(brokers=list(rows))
    blocks = [Table(shown_columns(rows), rows)]
    return Document(schema="broker.list/1", value=value, records=rows, csv_columns=COLUMNS, blocks=blocks)


def shown_columns(rows: Sequence[BrokerRow]) -> list[Column]:
    """Leaves out what says nothing, so that a list fits a narrow terminal: problems or slaves where there are none."""
    silent = {"problem"} if all(row.problem is None for row in rows) else set()
    silent |= set() if any(row.replica_state for row in rows) else {column.key for column in REPLICATION}
    several = len({row.cluster for row in rows}) > 1
    return [
        replace(column, wide=False) if several and column.key == "cluster" else column
        for column in COLUMNS
        if column.key not in silent
    ]


def description_document(broker: LiveBroker) -> Document:
    """Builds the document of one broker: the row, and the waits that matter in words."""
    row, runtime = broker_row(broker), read_runtime(broker.runtime)
    sends, pulls = runtime.sends, runtime.pulls
    pools = []
    if sends.count is not None:
        pools.append(
            sentence(
                "broker-sends-waiting-oldest-ms",
                "sends: {count} of {capacity:,} waiting, the oldest for {head_wait_ms}",
                count=sends.count,
                capacity=sends.capacity,
                head_wait_ms=sends.head_wait_ms,
            )
        )
    if pulls.count is not None:
        pools.append(
            sentence(
                "broker-pulls-waiting-oldest-ms",
                "pulls: {count} of {capacity:,} waiting, the oldest for {head_wait_ms}",
                count=pulls.count,
                capacity=pulls.capacity,
                head_wait_ms=pulls.head_wait_ms,
            )
        )
    behind = runtime.dispatch_behind_bytes
    pools += (
        []
        if behind is None
        else [
            sentence(
                "broker-consume-queues-bytes-behind",
                "consume queues: {behind:byte} behind the commit log",
                behind=behind,
            )
        ]
    )
    return Document(
        schema="broker.describe/1",
        value=BrokerDescription(broker=row, runtime=runtime, raw=dict(broker.runtime)),
        records=[row],
        csv_columns=COLUMNS,
        blocks=[Table(shown_columns([row]), [row]), Paragraphs(pools)],
    )


def setting_document(settings: Sequence[Setting], schema: str) -> Document:
    """Builds the document of properties."""
    value = SettingList(settings=list(settings))
    return Document(schema=schema, value=value, records=settings, blocks=[Table(SETTING_COLUMNS, settings)])
