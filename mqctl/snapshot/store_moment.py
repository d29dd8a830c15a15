"""The moment at which a store is judged, and the small files that help to tell it."""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import MqctlError
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot, ObservedFrom, Origin, OriginKind
from mqctl.model.storage_state import CheckpointState, CheckpointStatus, ConfigFileState, FileSource
from mqctl.snapshot.reading import Reading
from mqctl.store import config_files as configs


def store_cluster(path: Path, moment: tuple[int, ObservedFrom], broker: BrokerSnapshot) -> ClusterSnapshot:
    """Wraps one broker's state, as of `moment`, into a cluster."""
    origin = Origin(kind=OriginKind.STORE, location=str(path), observed_at_ms=moment[0], observed_from=moment[1])
    return ClusterSnapshot(origin=origin, brokers=(broker,))


def last_moment(
    at_ms: int | None, store_times: list[int], checkpoint: CheckpointState | None, files: list[ConfigFileState]
) -> tuple[int, ObservedFrom]:
    """The store's own last instant: the newest of store times, checkpoint and configuration files."""
    if at_ms is not None:
        return at_ms, ObservedFrom.GIVEN
    flushed = [checkpoint.physic_time_ms, checkpoint.logics_time_ms] if checkpoint else []
    candidates = [
        *((time, ObservedFrom.STORE_TIME) for time in store_times),
        *((time, ObservedFrom.CHECKPOINT) for time in flushed if time),
        *((file.mtime_ms, ObservedFrom.CONFIG_MTIME) for file in files if file.mtime_ms is not None),
    ]
    return max(candidates, key=lambda pair: pair[0], default=(0, ObservedFrom.CONFIG_MTIME))


def config_states(reading: Reading) -> list[ConfigFileState]:
    """Returns which file of each configuration counts; those a RocksDB replaces are left out."""
    replaced = {
        "config/topics": configs.TOPICS,
        "config/subscriptionGroups": configs.GROUPS,
        "config/consumerOffsets": configs.CONSUMER_OFFSETS,
    }
    elsewhere = {replaced.get(part.part) for part in reading.store.unreadable}
    names = [name for name in configs.ALWAYS_THERE if name not in elsewhere]
    states = [reading.config(name).state for name in names]
    light = reading.config(configs.LMQ_OFFSETS).state
    return [*states, *([light] if light.source is not FileSource.NONE else [])]


def checkpoint_state(reading: Reading) -> CheckpointState:
    """Returns what the checkpoint file is worth."""
    try:
        found = reading.store.checkpoint()
    except MqctlError:
        return CheckpointState(status=CheckpointStatus.UNREADABLE)
    if found is None:
        return CheckpointState(status=CheckpointStatus.MISSING)
    return CheckpointState(
        status=CheckpointStatus.ZERO if found.is_zero else CheckpointStatus.OK,
        physic_time_ms=found.physical_time_ms,
        logics_time_ms=found.queue_time_ms,
        index_time_ms=found.index_time_ms,
    )
