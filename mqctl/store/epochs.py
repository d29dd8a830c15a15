"""The epochs of a broker under a controller: which master wrote from which physical offset on.

Source: `EpochFileCache`, `CheckpointFile` of 5.3.3. `epochFileCheckpoint` has the number of entries, the sum of their
lines, and a line `epoch-start` for each.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.epochs import Epoch
from mqctl.model.numbers import decimal
from mqctl.model.storage_state import CutTail
from mqctl.store.commitlog import CommitLog
from mqctl.store.layouts import CRC_MASK
from mqctl.store.plain_files import read_file
from mqctl.text import sentence

EPOCH_FILE = "epochFileCheckpoint"
_PROBLEM = sentence("could-not-read", "could not read {file}", file=EPOCH_FILE)


def read_epochs(root: Path) -> tuple[Epoch, ...] | None:
    """Returns the epochs of a store, oldest first; None where neither the file nor its backup is there.

    Raises:
        BadInputError: neither is of use: their lines are not those that their heads tell of.
        PermissionDeniedError, StorageError: one cannot be read.
    """
    problem = ""
    for name in (EPOCH_FILE, f"{EPOCH_FILE}.bak"):
        try:
            return _parsed(read_file(root / name))
        except NotFoundError:
            continue
        except BadInputError as error:
            problem = problem or error.reason
    if not problem:
        return None
    raise BadInputError(
        _PROBLEM,
        reason=problem,
        remedy=sentence("store-copy-again-broker-backup", "copy it again from the broker, with its backup"),
    )


def was_cut_at(log: CommitLog, confirmed: int) -> bool:
    """Whether a slave was cut at its confirm offset, and its log goes no further than that.

    Cutting leaves bytes, magic and offsets as they are. It shows in the times: the record behind was stored before the
    one in front of it.
    """
    file = log.file_of(confirmed - 1)
    if log.until is not None or file is None or confirmed >= log.max_offset:
        return False
    starts = log.walk(file).positions + file.start
    before = starts[starts < confirmed][-1:]
    earlier, later = log.store_times(np.append(before, [confirmed] * (2 - len(before))))
    return len(before) > 0 and -1 < later < earlier


def cut_of(root: Path, log: CommitLog, confirmed: int | None) -> CutTail | None:
    """Returns what a slave under a controller was cut of; None for a log that is as long as its files tell.

    Args:
        confirmed: the confirm offset of its checkpoint.
    """
    is_controlled = any((root / name).exists() for name in (EPOCH_FILE, f"{EPOCH_FILE}.bak"))
    if not is_controlled or not confirmed or not was_cut_at(log, confirmed):
        return None
    return CutTail(physical_offset=confirmed, size_bytes=log.max_offset - confirmed)


def _parsed(data: bytes) -> tuple[Epoch, ...]:
    lines = data.decode("ascii", "replace").splitlines()
    count, checksum = (decimal(lines[0]), decimal(lines[1])) if len(lines) > 1 else (None, None)
    entries = lines[2:]
    if count != len(entries):
        raise BadInputError(
            _PROBLEM,
            reason=sentence(
                "store-tells", "it names {count:entry} and has {entries}", count=count, entries=len(entries)
            ),
            remedy=sentence("copy-again", "copy it again"),
        )
    if zlib.crc32("".join(f"{line}\n" for line in entries).encode()) & CRC_MASK != checksum:
        raise BadInputError(
            _PROBLEM,
            reason=sentence("store-entries-another-sum-says", "its entries have another sum than it says"),
            remedy=sentence("copy-again", "copy it again"),
        )
    return tuple(map(_epoch, entries))


def _epoch(line: str) -> Epoch:
    number, _, start = line.partition("-")
    epoch, offset = decimal(number), decimal(start)
    if epoch is None or offset is None:
        raise BadInputError(
            _PROBLEM,
            reason=sentence("store-no-epoch", "{line!r} is not an epoch", line=line),
            remedy=sentence("copy-again", "copy it again"),
        )
    return Epoch(epoch, offset)
