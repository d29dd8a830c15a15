"""`mqctl local scenario run`: start a fault and look at it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import LocalNameOption, NoColorOption, OutputOption
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.interrupts import terminable, wait_for_interrupt
from mqctl.commands.local.scenario.running import run_beside, running_scenario
from mqctl.errors import ExitCode, UsageError
from mqctl.local.keeping import Keeper, detach_keeper, kept_scenario
from mqctl.local.scenario_files import load_scenario
from mqctl.local.state import DEFAULT_NAME
from mqctl.model.command_line import command_line
from mqctl.render.scenarios import running_document
from mqctl.text import composed, sentence

if TYPE_CHECKING:
    from mqctl.local.faults import When
    from mqctl.local.state import LocalCluster

EXAMPLES = (
    "mqctl local scenario run tag-loss",
    "mqctl local scenario run stuck-consumer --detach",
    "mqctl local scenario run room-lost --step",
    "mqctl local scenario run tag-loss -- subscription check -g settlement",
)


def command(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="Its name, or a file that ends in .yaml.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND ...]", help="One command of mqctl to run against it; then it ends."),
    ] = None,
    detached: Annotated[
        bool, typer.Option("--detach", help="Let it run in the background; `mqctl local down` ends it.")
    ] = False,
    step: Annotated[
        bool, typer.Option("--step", help="Wait for Enter before the faults, and before what ends them.")
    ] = False,
    name: LocalNameOption = DEFAULT_NAME,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Start a cluster with a built-in fault, with real brokers and consumer processes, until Ctrl-C.

    Shows the fault and the commands to type in another terminal, where the cluster is found automatically. Everything
    is removed at the end. `mqctl local scenario list` lists the faults. --step makes it a drill: the fault starts when
    you press Enter and, if the scenario defines its end, stops at the next Enter.
    """
    declared = load_scenario(scenario)
    if step and (detached or words):
        raise UsageError(
            sentence("local-step-waits-enter-foreground", "--step waits for Enter, in the foreground"),
            remedy=sentence("local-leave-out-detach-command", "leave out --detach and the command"),
        )
    places = state_dir() / "local"
    if detached:
        if words:
            raise UsageError(
                sentence("local-detach-cannot-combined-command", "--detach cannot be combined with a command"),
                remedy=sentence("local-run-command-afterwards", "run the command afterwards"),
            )
        state = detach_keeper(places, name, ["local", "scenario", "run", scenario, "--name", name])
        emit(running_document(running_scenario(declared, state)), output)
        end = command_line("mqctl local down {}", _named(name))
        tell(
            sentence(
                "local-runs-pid-end",
                "mqctl: {declared} runs, pid {pid}; end it with: {end}",
                declared=declared.name,
                pid=state.ready.pid,
                end=end,
            )
        )
        return ExitCode.OK
    keeper = Keeper(places, name, declared, lambda line: tell(composed("mqctl: {line}", line=line)))
    with terminable(), kept_scenario(keeper, "consuming" if step else "last") as state:
        if words:
            return run_beside(keeper, words)
        for when in ("last", "back") if step else ():
            if when == "last" or declared.ends_well:
                emit(running_document(running_scenario(declared, _next_part(keeper, when), when)), output)
        if not step:
            emit(running_document(running_scenario(declared, state)), output)
        with suppress(KeyboardInterrupt):  # between the line and the wait for it
            tell(sentence("local-ctrl-ends-removes-everything", "mqctl: Ctrl-C ends it and removes everything"))
            wait_for_interrupt()
        tell("mqctl: ending")
    return ExitCode.OK


def _next_part(keeper: Keeper, when: When) -> LocalCluster:
    """Waits for Enter and plays the next part of a drill. Raises UsageError where nobody can press it."""
    tell(
        sentence("local-nothing-wrong-yet-enter", "mqctl: nothing is wrong yet; Enter: the fault")
        if when == "last"
        else sentence("local-enter-ends", "mqctl: Enter: it ends")
    )
    if not sys.stdin.readline():
        raise UsageError(
            sentence("local-step-waits-enter-input", "--step waits for Enter, and the input has ended"),
            remedy=sentence("local-run-terminal", "run it in a terminal"),
        )
    return keeper.advance(when)


def _named(name: str) -> list[str]:
    return [] if name == DEFAULT_NAME else ["--name", name]
