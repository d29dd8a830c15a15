"""`mqctl doctor`: judge a store directory or a snapshot by every rule that its evidence allows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options import (
    AtOption,
    BrokerNameOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    QuickOption,
    SnapshotOption,
)
from mqctl.cli.sources import read_snapshot
from mqctl.diagnosis import diagnose
from mqctl.model.finding import Severity
from mqctl.render.findings import diagnosis_document

EXAMPLES = (
    "mqctl doctor --store /backup/store",
    "mqctl doctor --store /backup/store --only 'MQ7*' --explain",
    "mqctl doctor --snapshot ticket-4711.snap -o json",
    "mqctl doctor --store /backup/store --fail-on error && echo good enough",
)


def command(
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CODE", help="Only these rules; `MQ7*` names a family.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="CODE", help="Leave these rules out.")] = None,
    fail_on: Annotated[
        Severity, typer.Option("--fail-on", help="Milder findings are shown but do not change the exit code.")
    ] = Severity.WARNING,
    explain: Annotated[bool, typer.Option("--explain", help="Show each finding's evidence in full.")] = False,
    quick: QuickOption = False,
    at: AtOption = None,
    levels: LevelsOption = None,
    broker_name: BrokerNameOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Diagnose a store directory or a saved snapshot, and say what to do.

    Ends with 0 when nothing is wrong, 1 for warnings, 2 for errors, 3 when evidence is missing and nothing worse was
    found. Nothing is written to the store.
    """
    state = read_snapshot(
        store=store,
        snapshot=snapshot,
        at=at,
        now=datetime.now().astimezone(),
        levels=levels,
        broker_name=broker_name,
        quick=quick,
    )
    diagnosis = diagnose(state, only=tuple(only or ()), skip=tuple(skip or ()))
    emit(diagnosis_document(state, diagnosis, lang=lang, explain=explain), output)
    return diagnosis.exit_code(fail_on)
