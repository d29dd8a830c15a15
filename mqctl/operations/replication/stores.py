"""Two store directories side by side: their logs, and the tables that a slave copies from its master."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mqctl.model.progress import Progress
from mqctl.render.replication import ReadAgain, StoreComparison, TableDifference
from mqctl.store import config_files as configs
from mqctl.store.compare_logs import LogComparison, compare_logs, messages_outside
from mqctl.store.directory import StoreDirectory

_NAMED = 5


def compare_stores(path: Path, other_path: Path, progress: Progress | None = None) -> StoreComparison:
    """Compares logs and tables of two store directories; nothing is written.

    Raises:
        NotFoundError, BadInputError: one of them is no store.
        StorageError: a file cannot be read.
    """
    stores = [StoreDirectory.open(each) for each in (path, other_path)]
    logs = compare_logs(stores[0].commit_log, stores[1].commit_log, progress)
    low = max(logs.start, logs.other_start)
    high = min(logs.end, logs.other_end) if logs.first_difference is None else logs.first_difference
    return StoreComparison(
        a=str(path),
        b=str(other_path),
        state=_state(logs),
        a_start=logs.start,
        a_end=logs.end,
        b_start=logs.other_start,
        b_end=logs.other_end,
        a_unread_bytes=max(0, logs.written - logs.end),
        b_unread_bytes=max(0, logs.other_written - logs.other_end),
        a_file_bytes=logs.file_bytes,
        b_file_bytes=logs.other_file_bytes,
        compared_bytes=logs.compared_bytes,
        first_difference=logs.first_difference,
        different_byte=logs.different_byte,
        a_confirm_offset=_confirmed(stores[0]),
        b_confirm_offset=_confirmed(stores[1]),
        a_only_message_count=messages_outside(stores[0].commit_log, low, high, end=logs.end),
        b_only_message_count=messages_outside(stores[1].commit_log, low, high, end=logs.other_end),
        tables=_tables(*stores),
        read_again=_read_again(*stores),
    )


def _read_again(a: StoreDirectory, b: StoreDirectory) -> list[ReadAgain]:
    """Returns what groups consumed by the offsets of B and not by those of A, of queues that both know."""
    ours, theirs = (configs.consumer_offsets(each.config(configs.CONSUMER_OFFSETS)).offsets for each in (a, b))
    again = []
    for topic, group in sorted(ours.keys() & theirs.keys()):
        known, ahead = ours[topic, group], theirs[topic, group]
        counts = [ahead[queue_id] - known[queue_id] for queue_id in known.keys() & ahead.keys()]
        more = [count for count in counts if count > 0]
        if more:
            again.append(ReadAgain(group=group, topic=topic, queue_count=len(more), message_count=sum(more)))
    return again


def _state(logs: LogComparison) -> str:
    if logs.first_difference is not None:
        return "different"
    if (logs.end == logs.start) is not (logs.other_end == logs.other_start):
        return "a-empty" if logs.end == logs.start else "b-empty"
    if logs.common is None:
        return "nothing-in-common"
    if not logs.is_whole:
        return "file-missing"
    if logs.end == logs.other_end:
        return "equal"
    return "b-behind" if logs.end > logs.other_end else "b-ahead"


def _confirmed(store: StoreDirectory) -> int | None:
    """Returns the confirm offset of a broker under a controller, up to which its set had everything; None of others."""
    is_controlled = (store.path / "epochFileCheckpoint").exists()
    checkpoint = store.checkpoint() if is_controlled else None
    return checkpoint.confirm_physical_offset if checkpoint is not None else None


def _tables(a: StoreDirectory, b: StoreDirectory) -> list[TableDifference]:
    readers: dict[str, Callable[[StoreDirectory], Mapping[str, object]]] = {
        "topics": _topics,
        "groups": _groups,
        "consumer offsets": _offsets,
        "delay offsets": _delay_offsets,
    }
    differences = [_difference(name, read(a), read(b)) for name, read in readers.items()]
    return [item for item in differences if item.differing_count]


def _topics(store: StoreDirectory) -> Mapping[str, object]:
    return {item.name: item for item in configs.topic_configs(store.config(configs.TOPICS))}


def _groups(store: StoreDirectory) -> Mapping[str, object]:
    return {item.name: item for item in configs.group_configs(store.config(configs.GROUPS))}


def _delay_offsets(store: StoreDirectory) -> Mapping[str, object]:
    offsets = configs.delay_offsets(store.config(configs.DELAY_OFFSETS)).offsets
    return {f"level {level}": offset for level, offset in offsets.items()}


def _offsets(store: StoreDirectory) -> dict[str, int]:
    table = configs.consumer_offsets(store.config(configs.CONSUMER_OFFSETS)).offsets
    return {
        f"{group} on {topic}/{queue_id}": offset
        for (topic, group), queues in table.items()
        for queue_id, offset in queues.items()
    }


def _difference(name: str, a: Mapping[str, object], b: Mapping[str, object]) -> TableDifference:
    only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
    differ = sorted(key for key in a.keys() & b.keys() if a[key] != b[key])
    named = [f"only in A: {key}" for key in only_a] + [f"only in B: {key}" for key in only_b]
    named += [_both(key, a[key], b[key]) for key in differ]
    return TableDifference(
        table=name,
        only_a_count=len(only_a),
        only_b_count=len(only_b),
        differing_count=len(only_a) + len(only_b) + len(differ),
        examples="; ".join(named[:_NAMED]) + (" ..." if len(named) > _NAMED else ""),
    )


def _both(key: str, a: object, b: object) -> str:
    return f"{key}: {a} / {b}" if isinstance(a, int) else f"differs: {key}"
