"""`mqctl local scenario list`: the faults that can be tried."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.local.scenario.running import scenario_row
from mqctl.local.scenario_files import load_scenario, scenario_names
from mqctl.render.scenarios import scenario_list_document

EXAMPLES = ("mqctl local scenario list", "mqctl local scenario list -o wide")


def command(output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> None:
    """List the scenarios: faults with real brokers and consumer processes, and what `doctor` finds of each."""
    emit(scenario_list_document([scenario_row(load_scenario(name)) for name in scenario_names()]), output)
