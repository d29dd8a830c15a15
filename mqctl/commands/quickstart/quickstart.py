"""`mqctl quickstart`: the first minute."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Annotated

import typer

from mqctl.cli.emit import wants_style
from mqctl.cli.language import spoken
from mqctl.cli.options.common import NoColorOption
from mqctl.commands.quickstart.narration import Narrator
from mqctl.commands.quickstart.tour import SCENARIO, Tour, running
from mqctl.local.scenario_files import load_scenario
from mqctl.text import sentence

EXAMPLES = ("mqctl quickstart", "mqctl quickstart --keep")


def command(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cluster up at the end, for commands of your own.")
    ] = False,
    no_color: NoColorOption = False,
) -> int:
    """Start a cluster with four faults in it, find them, and say what to type next. Takes half a minute.

    Brokers in two machine rooms and real consumer processes run on this machine; `doctor`, `allocation show`, `stacks`
    and a Spark report look at them. Everything is removed at the end, on Ctrl-C as well, unless --keep is given.
    """
    began = monotonic()
    scenario = load_scenario(SCENARIO)
    page = Narrator(sys.stdout, styled=wants_style(), lang=spoken())
    page.heading(sentence("quickstart-cluster-with-faults", "A cluster with faults in it"))
    page.say(
        sentence(
            "quickstart-starting", "Starting two brokers in two machine rooms, and the consumers of four groups ..."
        )
    )
    with running(scenario, keep=keep) as cluster:
        tour = Tour(page, scenario, cluster)
        tour.tell(monotonic() - began)
        tour.say_what_next(keep=keep)
    page.say(sentence("quickstart-took", "(quickstart took {took_ms})", took_ms=round((monotonic() - began) * 1000)))
    return tour.exit_code
