"""`mqctl delay check`: recorded delay offsets against the schedule queues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import (
    AtOption,
    BrokersOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    SnapshotOption,
)
from mqctl.cli.options.doctor import time_scale_of
from mqctl.cli.sources.snapshot_source import next_source
from mqctl.commands.delay.check_view import delay_document
from mqctl.commands.delay.gather import DelaySource, read_delay, unjudged_delay_gaps
from mqctl.rules import Settings, diagnose

EXAMPLES = (
    "mqctl delay check",
    "mqctl delay check --store /backup/store --levels '1s 5s 10s 30s 1m' -o json",
    "mqctl delay check --file delayOffset.json --levels '1s 5s 10s'",
)
RULES = ("MQ70*", "MQ71*")


def command(
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="A delayOffset.json on its own, without its queues.")
    ] = None,
    levels: LevelsOption = None,
    at: AtOption = None,
    brokers: BrokersOption = None,
    lang: LangOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Check delay offsets against the schedule queues for messages that are late, or will be lost or repeated.

    Asks a live cluster unless files are named. Ends with 0 fine, 1 warning, 2 critical, 3 when something could not be
    read. A file on its own shows unknown levels and broken keys only; the rest is reported as not checked. Only --store
    shows whether delayOffset.json on a live broker's disk is missing or stale.
    """
    source = DelaySource(
        store=store,
        snapshot=snapshot,
        file=file,
        at=at,
        levels=levels,
        brokers=tuple(brokers or ()),
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
    )
    state = read_delay(source)
    scale = time_scale_of(None, namesrv=state.origin.location, store=store)
    diagnosis = diagnose(state, only=RULES, settings=Settings(time_scale=scale))
    gaps = unjudged_delay_gaps(state)
    document = delay_document(state, diagnosis, source=next_source(state, namesrv, profile))
    emit(document.with_gaps(gaps), output)
    tell_gaps(gaps)
    # No rule judges what waits in timers, and yet it was asked for: an answer without it is not all of the answer.
    return diagnosis.exit_code() or (3 if gaps else 0)
