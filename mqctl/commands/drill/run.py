"""`mqctl drill run`: verifiable traffic, a schedule of events, and the judgement."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, note
from mqctl.cli.language import spoken
from mqctl.cli.options.common import ExecuteOption, LangOption, NoColorOption, OutputOption
from mqctl.cli.terminal.interrupts import terminable
from mqctl.commands.drill.options import ExcerptsOption, FormatOption, PageOption
from mqctl.commands.drill.reporting import clear_away, refuse_page, report_verdict
from mqctl.commands.drill.running import DrillRequest, prepare, run_drill
from mqctl.drill.checker import Checker
from mqctl.drill.plan import load_plan
from mqctl.drill.writing import refuse_existing
from mqctl.errors import ExitCode, UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl drill run scale-out",
    "mqctl drill run broker-restart --as junit > drill.xml",
    "mqctl drill run upgrade --namesrv prod:9876 --execute",
    "mqctl drill run plan.yaml --client 'java -jar our-{role}.jar'",
)


PLANS = (
    "broker-restart, clock-jump, failover, kinds, offset-reset, power-lost, replay, room-lost, scale-out, upgrade (on "
    "your cluster)"
)


def command(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help=f"{PLANS}; or a file that ends in .yaml.")],
    history: Annotated[
        Path | None, typer.Option("--history", help="Where to write the history; else in this directory.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="CMD", help="The program of the clients, which speaks the drill's lines."),
    ] = None,
    execute: ExecuteOption = False,
    form: FormatOption = None,
    excerpts: ExcerptsOption = 3,
    html: PageOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    lang: LangOption = None,
    no_color: NoColorOption = False,
) -> ExitCode:
    """Send numbered messages while a schedule of faults runs, and check them for loss, repetition, disorder and delay.

    Plans that define a cluster start a local one. All others run against the cluster you name: without --execute, the
    drill shows the topics, messages and actions it needs; with it, it uses its own topic and groups and removes them at
    the end. There, mqctl prompts you to stop or restart brokers yourself. Ctrl-C ends it and checks the history so far.
    Ends with 0 when every promise was kept, 2 when one was broken, 3 when not all could be checked.
    """
    drill = load_plan(plan, spoken())
    now = datetime.now().astimezone()
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", f"{drill.name[:30]}-{now:%m%d-%H%M%S}")
    target = cluster_target(namesrv, profile, timeout) if drill.cluster is None else None
    path = history or Path(f"{mark}.history")
    program = _words(client) if client else None
    request = DrillRequest(mark=mark, history=path, program=program, tell=note, ask=_ask)
    refuse_existing(path)
    refuse_page(html)
    clear_away()
    note(f"{drill.name}: {drill.title}")
    with terminable():
        try:
            if target is not None:
                stopped = prepare(drill, target, request, execute=execute)
                if stopped is not None:
                    emit(stopped[0], output)
                    return ExitCode(stopped[1])
            run_drill(drill, target, request)
        except KeyboardInterrupt:
            if not path.exists():
                raise
            note(
                sentence("drill-interrupted-history-judged-far", "interrupted; the history is judged as far as it goes")
            )
    note(sentence("drill-judging", "judging {path}", path=path))
    verdict = Checker(path, excerpts).judge()
    return report_verdict(verdict, form, html, output)


def _words(client: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(client))
    except ValueError as error:
        raise UsageError(
            sentence("drill-cannot-read-client", "cannot read --client {client}", client=client), reason=str(error)
        ) from error


def _ask(text: str) -> None:
    """Waits for Enter. Raises UsageError at the end of the input: what nobody did must not be judged as done."""
    note(sentence("drill-now-press-enter", "NOW: {text}; then press Enter", text=text))
    if not sys.stdin.readline():
        raise UsageError(
            sentence("drill-nobody-answers-terminal", "there is no answer at the terminal"),
            remedy=sentence("run-drill-where-somebody", "run the drill at a terminal where Enter can be pressed"),
        )
