"""`mqctl playbook run`: a playbook, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, LangOption, NoColorOption, OutputOption
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.times import parse_span_ms
from mqctl.commands.playbook.run_report import check_reports, write_reports
from mqctl.commands.playbook.run_view import run_document
from mqctl.commands.playbook.view import dry_document
from mqctl.commands.playbook.world import Terminal, choices
from mqctl.errors import UsageError
from mqctl.model.command_line import shell_words
from mqctl.model.lang import Lang
from mqctl.model.playbook import Playbook
from mqctl.playbook import template
from mqctl.playbook.parameters import bound
from mqctl.playbook.places import load_playbook
from mqctl.playbook.run import RunOptions, run_playbook
from mqctl.text import sentence

EXAMPLES = (
    "mqctl playbook run backlog -p group=order-service",
    "mqctl playbook run backlog -p group=order-service --dry-run",
    "mqctl playbook run tag-loss -p group=order-service --cluster prod --report incident.md",
    "mqctl playbook run skip-and-replay -p group=order-service -p topic=orders --choose way=reset --execute",
    "mqctl playbook run promise-drill -p plan=upgrade --namesrv prod:9876 --execute",
)


_Slug = Annotated[str, typer.Argument(metavar="PLAYBOOK", help="Its name, or a directory of your own: ./incident.")]
_Given = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="A parameter of the playbook; repeatable."),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print the command lines; nothing is run.")]
_Choose = Annotated[
    list[str] | None, typer.Option("--choose", metavar="STEP=CHOICE", help="A decision, taken beforehand.")
]
_Confirm = Annotated[
    list[str] | None, typer.Option("--confirm", metavar="NAME", help="A name that a change asks for; repeatable.")
]
_Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Stop unless the name servers know this cluster.")
]
_Fingerprint = Annotated[
    str | None, typer.Option("--fingerprint", metavar="HEX", help="Stop unless clusters and brokers are these.")
]
_StepTimeout = Annotated[
    str | None, typer.Option("--step-timeout", metavar="SPAN", help="Limit of every step, instead of its own.")
]
_Report = Annotated[
    list[Path] | None,
    typer.Option("--report", metavar="FILE", help="Write what ran and what it said, to FILE.md or FILE.json."),
]


def command(
    slug: _Slug,
    given: _Given = None,
    dry_run: _DryRun = False,
    execute: ExecuteOption = False,
    choose: _Choose = None,
    confirm: _Confirm = None,
    cluster: _Cluster = None,
    fingerprint: _Fingerprint = None,
    step_timeout: _StepTimeout = None,
    report: _Report = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int | None:
    """Run a playbook: its steps are mqctl commands, shown on stderr as they run; the outcome is written to stdout.

    Steps that change something only show their plan, unless --execute is given; then each asks you to confirm the name
    of its target. A drill on your cluster then asks for each restart, and continues when you press Enter. The cluster
    is identified before the first step and before each change.

    Ends with 0 at its end or when nothing is to be done, 1 when an operator must act or decide, 2 when a step ended
    unexpectedly, 75 when one timed out, 76 when a change was not confirmed, 65 on another cluster.
    """
    playbook = load_playbook(slug)
    words = lang or Lang.EN
    options = RunOptions(
        values=bound(playbook, given or ()),
        execute=execute,
        lang=words,
        cluster=cluster,
        fingerprint=fingerprint,
        timeout_ms=parse_span_ms(step_timeout) if step_timeout else None,
    )
    world = Terminal(
        cluster_options=_cluster_options(namesrv, profile),
        chosen=choices(playbook, choose or ()),
        confirmed=tuple(confirm or ()),
        lang=words,
        total=len(playbook.steps),
    )
    if dry_run:
        emit(dry_document(playbook, options.values, _command_lines(playbook, options, world)), output)
        return None
    files = tuple(report or ())
    check_reports(files)
    with terminable():
        outcome = run_playbook(playbook, options, world)
    emit(run_document(outcome, words), output)
    write_reports(outcome, words, files)
    return outcome.ending.exit_code


def _cluster_options(namesrv: str | None, profile: str | None) -> list[str]:
    if namesrv is not None and profile is not None:
        raise UsageError(
            sentence("playbook-namesrv-profile-cannot-combined", "--namesrv and --profile cannot be combined")
        )
    if namesrv is not None:
        return ["--namesrv", namesrv]
    return ["--profile", profile] if profile is not None else []


def _command_lines(playbook: Playbook, options: RunOptions, world: Terminal) -> list[str | None]:
    lines: list[str | None] = []
    for step in playbook.steps:
        if step.command is None:
            lines.append(None)
            continue
        words = template.filled(step.command, options.values, unknown=True)
        words = world.connected(words) or words
        if options.execute and step.asks:
            words = [*words, "--execute"]
        elif options.execute and step.changes:
            words = [*words, "--execute", "--confirm", template.fill(step.confirm or "", options.values, unknown=True)]
        lines.append(shell_words(["mqctl", *words]))
    return lines
