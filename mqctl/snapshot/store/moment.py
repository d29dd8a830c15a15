"""The moment at which a store is judged: its own last instant, unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mqctl.errors import MqctlError
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.snapshot.store.reading import Reading
from mqctl.store.config_files import ALWAYS_THERE, LMQ_OFFSETS


def store_origin(reading: Reading, at_ms: int | None, store_times: Iterable[int]) -> Origin:
    """Returns the origin of a snapshot of a store.

    Args:
        at_ms: the moment given by the user, None for the store's own: the newest of `store_times`, of the checkpoint's
            times and of the configuration files' modification times. Of a store that is being written nothing is seen
            from the first record behind the cut on: it is no later than that.
    """
    directory = reading.store.path
    moment = (at_ms, ObservedFrom.GIVEN) if at_ms is not None else _last_instant(reading, store_times)
    return Origin(kind=OriginKind.STORE, location=str(directory), observed_at_ms=moment[0], observed_from=moment[1])


def _last_instant(reading: Reading, store_times: Iterable[int]) -> tuple[int, ObservedFrom]:
    times = (_mtime_ms(reading.store.place_of(f"config/{name}")) for name in (*ALWAYS_THERE, LMQ_OFFSETS))
    candidates = [
        *((time, ObservedFrom.STORE_TIME) for time in store_times),
        *((time, ObservedFrom.CHECKPOINT) for time in _flushed_times(reading)),
        *((time, ObservedFrom.CONFIG_MTIME) for time in times if time is not None),
    ]
    newest = max(candidates, key=lambda pair: pair[0], default=(0, ObservedFrom.CONFIG_MTIME))
    unseen = reading.store.first_time_behind_cut()
    return newest if unseen is None or newest[0] <= unseen else (unseen, ObservedFrom.STORE_TIME)


def _flushed_times(reading: Reading) -> list[int]:
    try:
        checkpoint = reading.store.checkpoint()
    except MqctlError:
        return []  # the health of the checkpoint is told elsewhere
    return [checkpoint.physical_time_ms, checkpoint.queue_time_ms] if checkpoint else []


def _mtime_ms(file: Path) -> int | None:
    """Returns the modification time of `file`; None where there is none, or one may not look."""
    with suppress(OSError):
        return mtime_ms(file)
    return None


def mtime_ms(file: Path) -> int:
    """Returns the modification time of `file` in epoch milliseconds."""
    return file.stat().st_mtime_ns // 1_000_000
