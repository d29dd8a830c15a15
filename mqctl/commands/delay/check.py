"""`mqctl delay check`: delayOffset.json against the schedule queues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options import (
    AtOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
    at_ms,
)
from mqctl.cli.sources import read_snapshot
from mqctl.diagnosis import diagnose
from mqctl.errors import UsageError
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.delay import delay_document
from mqctl.snapshot.store_gatherer import gather_delay_file

EXAMPLES = (
    "mqctl delay check --store /backup/store",
    "mqctl delay check --store /backup/store --levels '1s 5s 10s 30s 1m' -o json",
    "mqctl delay check --file delayOffset.json --levels '1s 5s 10s'",
)
RULES = ("MQ70*", "MQ71*")


@dataclass(frozen=True, slots=True)
class _Question:
    store: Path | None
    snapshot: Path | None
    file: Path | None
    at: str | None
    levels: str | None


def command(
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="A delayOffset.json by itself, without its queues.")
    ] = None,
    levels: LevelsOption = None,
    at: AtOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Judge delayOffset.json against the schedule queues: what waits, what is late, what will be lost or repeated.

    Ends with 0 fine, 1 warning, 2 critical, 3 unknown. A file by itself shows unknown levels and broken keys only; the
    rest is named as not judged.
    """
    state = _read(_Question(store, snapshot, file, at, levels), datetime.now().astimezone())
    diagnosis = diagnose(state, only=RULES)
    emit(delay_document(state, diagnosis, lang=lang), output)
    return diagnosis.exit_code()


def _read(asked: _Question, now: datetime) -> ClusterSnapshot:
    if asked.file is None:
        return read_snapshot(
            store=asked.store, snapshot=asked.snapshot, at=asked.at, now=now, levels=asked.levels, quick=True
        )
    if asked.store or asked.snapshot:
        raise UsageError("name one source", remedy="use --file, --store or --snapshot, not two of them")
    return gather_delay_file(asked.file, levels=asked.levels, at_ms=at_ms(asked.at, now))
