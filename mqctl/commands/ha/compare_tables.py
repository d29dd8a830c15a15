"""The tables that a slave copies from its master, of two store directories."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqctl.commands.ha.compare_rows import TableDifference, UnreadTable
from mqctl.errors import MqctlError
from mqctl.model.config_file import FileSource
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_group
from mqctl.store import config_files as configs
from mqctl.store.config_files import LoadedConfig
from mqctl.store.directory import StoreDirectory
from mqctl.text import joined, sentence

_NAMED = 5
CONSUMER_OFFSETS_TABLE = sentence("replication-consumer-offsets", "consumer offsets")
Entries = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Table:
    """One of the tables: what it is called, its file, the databases that may have it, and how it is read."""

    name: str
    file: str
    databases: tuple[str, ...]
    read: Callable[[LoadedConfig], Entries]


def _topics(file: LoadedConfig) -> Entries:
    return {item.name: item for item in configs.topic_configs(file)}


def _groups(file: LoadedConfig) -> Entries:
    return {item.name: item for item in configs.group_configs(file)}


def _delay_offsets(file: LoadedConfig) -> Entries:
    return {
        sentence("common-level", "level {level}", level=level): offset
        for level, offset in configs.delay_offsets(file).offsets.items()
    }


def _offsets(file: LoadedConfig) -> Entries:
    return {
        f"{group} on {topic}/{queue_id}": offset
        for (topic, group), queues in configs.consumer_offsets(file).offsets.items()
        for queue_id, offset in queues.items()
    }


_TABLES = (
    _Table("topics", configs.TOPICS, ("config/topics", "config/rdb"), _topics),
    _Table("groups", configs.GROUPS, ("config/subscriptionGroups", "config/rdb"), _groups),
    _Table(CONSUMER_OFFSETS_TABLE, configs.CONSUMER_OFFSETS, ("config/consumerOffsets", "config/rdb"), _offsets),
    _Table(sentence("replication-delay-offsets", "delay offsets"), configs.DELAY_OFFSETS, (), _delay_offsets),
)


def compare_tables(a: StoreDirectory, b: StoreDirectory) -> tuple[list[TableDifference], list[UnreadTable]]:
    """Returns the tables that differ, and those that could not be compared; a broker without a file starts empty."""
    differences, unread = [], []
    for table in _TABLES:
        files = [_loaded(store, table) for store in (a, b)]
        refused = [
            UnreadTable(store=name, table=table.name, reason=file)
            for name, file in zip("AB", files, strict=True)
            if isinstance(file, str)
        ]
        unread += refused
        if not refused:
            entries = [table.read(file) for file in files if isinstance(file, LoadedConfig)]
            differences.append(_difference(table.name, *_without_own(table, entries)))
    return [item for item in differences if item.differing_count], unread


def _without_own(table: _Table, entries: list[Entries]) -> list[Entries]:
    """Leaves out groups of RocketMQ's own that only one file has: every broker makes them when it starts, and writes
    its table at the first change of a group; a slave writes it with its first copy."""
    if table.file != configs.GROUPS:
        return entries
    common = entries[0].keys() & entries[1].keys()
    return [
        {name: group for name, group in items.items() if name in common or not is_system_group(name)}
        for items in entries
    ]


def _loaded(store: StoreDirectory, table: _Table) -> LoadedConfig | str:
    """Returns a table as the broker would load it, or why it is not known what is in it."""
    reasons = {part.part: part.reason for part in store.unreadable}
    if any(database in reasons for database in table.databases):
        return next(reasons[database] for database in table.databases if database in reasons)
    if not (store.path / "config").is_dir():
        return sentence("replication-no-config-directory-not", "there is no config directory: not copied")
    try:
        file = store.config(table.file)
    except MqctlError as error:
        return error.reason or error.problem
    problem = file.state.main_problem
    if file.state.source is FileSource.NONE and problem != "missing":
        return sentence(
            "replication-config-backup-no-use",
            "config/{file} and its backup are of no use: {problem}",
            file=table.file,
            problem=problem,
        )
    return file


def _difference(name: str, a: Entries, b: Entries) -> TableDifference:
    only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
    differ = sorted(key for key in a.keys() & b.keys() if a[key] != b[key])
    named = [sentence("replication-key", "only in A: {key}", key=key) for key in only_a] + [
        sentence("replication-key-only-in-b", "only in B: {key}", key=key) for key in only_b
    ]
    named += [_both(key, a[key], b[key]) for key in differ]
    return TableDifference(
        table=name,
        only_a_count=len(only_a),
        only_b_count=len(only_b),
        differing_count=len(only_a) + len(only_b) + len(differ),
        examples=joined("; ", named[:_NAMED]) + (" ..." if len(named) > _NAMED else ""),
    )


def _both(key: str, a: object, b: object) -> str:
    return f"{key}: {a} / {b}" if isinstance(a, int) else sentence("replication-differs", "differs: {key}", key=key)
