"""`mqctl doctor`: judge a store directory or a snapshot by every rule that its evidence allows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.known_states import load_known
from mqctl.cli.options import (
    AtOption,
    BrokerNameOption,
    GroupOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OptionalStoreOption,
    OutputOption,
    QuickOption,
    SnapshotOption,
    StacksOption,
    TopicOption,
)
from mqctl.cli.room_option import RoomRuleOption, rule_of
from mqctl.cli.sources import LiveWish, read_snapshot
from mqctl.diagnosis import Settings, diagnose
from mqctl.diagnosis.known import set_aside
from mqctl.model.finding import Severity
from mqctl.render.findings import diagnosis_document

EXAMPLES = (
    "mqctl doctor",
    "mqctl doctor --namesrv 10.0.0.1:9876 -g order-service --window 60s",
    "mqctl doctor --known accepted.yaml --fail-on error",
    "mqctl doctor --store /backup/store",
    "mqctl doctor --store /backup/store --only 'MQ7*' --explain",
    "mqctl doctor --snapshot ticket-4711.snap -o json",
    "mqctl doctor --store /backup/store --fail-on error && echo good enough",
)


def command(
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    store: OptionalStoreOption = None,
    snapshot: SnapshotOption = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
    ] = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="SPAN", help="Look twice, so far apart, at what should move: 60s.")
    ] = None,
    stacks: StacksOption = False,
    time_scale: Annotated[
        float, typer.Option("--time-scale", metavar="X", help="The cluster's clocks run X times as fast.")
    ] = 1.0,
    room_rule: RoomRuleOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CODE", help="Only these rules; `MQ7*` names a family.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="CODE", help="Leave these rules out.")] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--known", metavar="FILE", help="States that are accepted until a date; findings on them are set aside."
        ),
    ] = None,
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
    """Diagnose a live cluster, a store directory or a saved snapshot, and say what to do.

    Ends with 0 when nothing is wrong, 1 for warnings, 2 for errors and worse, 3 when evidence is missing and nothing
    worse was found. Nothing is changed. Rules about movement (stuck offsets, offsets that go back) need --window.
    """
    from mqctl.cli.times import parse_span_ms

    state = read_snapshot(
        store=store,
        snapshot=snapshot,
        at=at,
        now=datetime.now().astimezone(),
        levels=levels,
        broker_name=broker_name,
        quick=quick,
        live=LiveWish(
            namesrv=namesrv,
            profile=profile,
            timeout=timeout,
            groups=group,
            topics=topic,
            brokers=broker,
            window_ms=parse_span_ms(window) if window else 0,
            with_stacks=stacks,
        ),
    )
    settings = Settings(time_scale=time_scale, room_rule=rule_of(room_rule, profile))
    diagnosis = diagnose(state, only=tuple(only or ()), skip=tuple(skip or ()), settings=settings)
    judged = set_aside(diagnosis, load_known(known) if known else (), datetime.now().astimezone().date())
    for old in judged.expired:
        tell(f"mqctl: {known}: {old.code} ({old.subject}) was accepted until {old.until}; it counts again")
    emit(diagnosis_document(state, judged.diagnosis, lang=lang, explain=explain, silenced=judged.silenced), output)
    return judged.diagnosis.exit_code(fail_on)
