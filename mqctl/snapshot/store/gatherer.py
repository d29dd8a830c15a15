"""A `ClusterSnapshot` from a broker's store directory. Nothing is written there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqctl.errors import MqctlError
from mqctl.model.config_file import ConfigFileState
from mqctl.model.damage import DamageCode
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.progress import Progress
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import CheckpointState, CheckpointStatus
from mqctl.snapshot.store.moment import mtime_ms, store_origin
from mqctl.snapshot.store.queues import offset_states, queue_states
from mqctl.snapshot.store.reading import Reading
from mqctl.store import config_files as configs
from mqctl.store.directory import StoreDirectory
from mqctl.store.unread_files import unread_log_files
from mqctl.text import sentence

if TYPE_CHECKING:  # verifying is the larger half of what reads a store
    from mqctl.store.verify import Verifier, VerifyReport


def gather_store(
    path: Path,
    *,
    at_ms: int | None = None,
    levels: str | None = None,
    broker_name: str | None = None,
    deep: bool = True,
    progress: Progress | None = None,
    verifier: Verifier | None = None,
    parts: Collection[Part] = tuple(Part),
) -> ClusterSnapshot:
    """Reads everything that the rules can use from the store directory `path`.

    Args:
        at_ms: the moment all ages refer to; None takes the store's own last instant.
        levels: the broker's `messageDelayLevel` when it is not the default.
        broker_name: a store does not tell it.
        deep: also verify every record and entry, and look at every message's clocks and transaction bits.
        progress: called with the part at hand and how much of how much is done, during verification.
        verifier: verifies the store; None does it in this process.
        parts: which of delays, transactions, storage, access, pop and offset jumps to read; others stay empty, and no
            gap names them. What they stand on, topics, groups, queues and offsets, is read in any case.

    Raises:
        NotFoundError: there is no such directory.
        BadInputError: it is no store.
    """
    reading = Reading(StoreDirectory.open(path))
    reading.note_unreadable_formats()
    config_states(reading)  # notes what cannot be read of them, first of all
    for odd in reading.store.unknown_fields() if Part.STORAGE in parts else ():
        reading.miss(Part.STORAGE, odd.reason, subject=GapSubject(place=odd.part), cause=Cause.UNREADABLE)
    report = _verified(reading.store, verifier, progress) if deep else None
    if report is None:
        for part in (Part.VERIFICATION, Part.CLOCKS):
            reading.miss(
                part,
                sentence("snapshot-commit-log-not-read", "the commit log was not read through (--quick)"),
                cause=Cause.LEFT_OUT,
            )
        for each in unread_log_files(reading.store):
            reading.miss(Part.STORAGE, each.reason, subject=GapSubject(place=each.part), cause=Cause.UNREADABLE)
    damages = report.damages if report else ()
    reading.gone_queues = frozenset(
        (item.topic or "", item.queue_id or 0) for item in damages if item.code is DamageCode.QUEUE_GONE
    )
    if report is not None:
        _note_unread(reading, report)
    queues = queue_states(reading, with_bytes=deep)
    newest = [queue.last_store_time_ms for queue in queues if queue.last_store_time_ms is not None]
    origin = store_origin(reading, at_ms, [*newest, *_newest_in_log(report)])
    broker = BrokerSnapshot(
        name=broker_name,
        topics=configs.topic_configs(reading.config(configs.TOPICS)),
        groups=configs.group_configs(reading.config(configs.GROUPS)),
        queues=queues,
        consumer_offsets=offset_states(reading),
    )
    broker = replace(broker, **dict(_further(reading, parts, levels, origin.observed_at_ms, report, deep=deep)))
    return ClusterSnapshot(origin=origin, brokers=(replace(broker, unavailable=tuple(reading.gaps)),))


def _further(
    reading: Reading,
    parts: Collection[Part],
    levels: str | None,
    observed_at_ms: int,
    report: VerifyReport | None,
    *,
    deep: bool,
) -> Iterator[tuple[str, Any]]:
    """Reads parts that few commands ask for, by the fields that hold them; each imports what reads it."""
    if Part.OFFSET_JUMPS in parts:
        from mqctl.snapshot.store.jumps import offset_jumps

        yield "offset_jumps", offset_jumps(reading)
    if Part.DELAY in parts:
        from mqctl.snapshot.store.delay import delay_state

        yield "delay", delay_state(reading, levels=levels, observed_at_ms=observed_at_ms)
    if Part.TRANSACTIONS in parts:
        from mqctl.snapshot.store.transactions import commit_marks, transaction_state

        yield "transactions", transaction_state(reading, commit_marks(reading) if deep else None)
    if Part.STORAGE in parts:
        from mqctl.snapshot.store.health import storage_state

        files, checkpoint = config_states(reading), checkpoint_state(reading)
        yield "storage", storage_state(reading, files=files, checkpoint=checkpoint, report=report)
    if Part.ACCESS in parts:
        from mqctl.snapshot.store.access import store_access

        yield "access", store_access(reading)
    if Part.POP in parts:
        from mqctl.snapshot.store.lag import may_pop
        from mqctl.snapshot.store.pop import store_pop_shares

        yield "pop", store_pop_shares(reading, observed_at_ms) if may_pop(reading) else ()


def _verified(store: StoreDirectory, verifier: Verifier | None, progress: Progress | None) -> VerifyReport:
    from mqctl.store.verify import verify

    return (verifier or verify)(store, progress)


def _note_unread(reading: Reading, report: VerifyReport) -> None:
    from mqctl.store.verify import COMMIT_LOG

    for gap in report.unread:
        if gap.part == COMMIT_LOG:
            reading.miss(
                Part.VERIFICATION,
                sentence(
                    "snapshot-no-commit-log-lost",
                    "there is no commit log: lost, not copied, or kept elsewhere (storePathCommitLog)",
                ),
            )
            continue
        reading.miss(Part.VERIFICATION, gap.reason, subject=GapSubject(place=gap.part), cause=Cause.UNREADABLE)


def gather_delay_file(path: Path, *, levels: str | None = None, at_ms: int | None = None) -> ClusterSnapshot:
    """Reads a `delayOffset.json` by itself: what it can tell without its queues.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: it is no JSON object of fastjson's dialect.
    """
    from mqctl.snapshot.store.delay import delay_file_state

    state = delay_file_state(path, levels=levels)
    origin = Origin(
        kind=OriginKind.DELAY_FILE,
        location=str(path),
        observed_at_ms=mtime_ms(path) if at_ms is None else at_ms,
        observed_from=ObservedFrom.CONFIG_MTIME if at_ms is None else ObservedFrom.GIVEN,
    )
    reason = sentence("snapshot-file-without-queues", "the file was read on its own, without its schedule queues")
    gap = Gap(part=Part.DELAY_QUEUES, cause=Cause.LEFT_OUT, reason=reason)
    return ClusterSnapshot(origin=origin, brokers=(BrokerSnapshot(delay=state, unavailable=(gap,)),))


def _newest_in_log(report: VerifyReport | None) -> list[int]:
    return [report.last_store_time_ms] if report and report.last_store_time_ms is not None else []


def config_states(reading: Reading) -> list[ConfigFileState]:
    """Returns which file of each configuration counts; those a RocksDB replaces are left out."""
    replaced = {
        "config/topics": configs.TOPICS,
        "config/subscriptionGroups": configs.GROUPS,
        "config/consumerOffsets": configs.CONSUMER_OFFSETS,
    }
    elsewhere = {replaced.get(part.part) for part in reading.store.unreadable}
    names = [name for name in configs.ALWAYS_THERE if name not in elsewhere]
    return [reading.config(name).state for name in names]


def checkpoint_state(reading: Reading) -> CheckpointState:
    """Returns what the checkpoint file is worth."""
    try:
        checkpoint = reading.store.checkpoint()
    except MqctlError:
        return CheckpointState(status=CheckpointStatus.UNREADABLE)
    if checkpoint is None:
        return CheckpointState(status=CheckpointStatus.MISSING)
    return CheckpointState(
        status=CheckpointStatus.ZERO if checkpoint.is_zero else CheckpointStatus.OK,
        physic_time_ms=checkpoint.physical_time_ms,
        logics_time_ms=checkpoint.queue_time_ms,
        index_time_ms=checkpoint.index_time_ms,
        confirm_offset=checkpoint.confirm_physical_offset or None,
    )
