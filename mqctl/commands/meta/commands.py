"""`mqctl commands`: what there is, and what stands in for each sub-command of mqadmin."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli import catalog
from mqctl.cli import catalog_mqadmin as mqadmin
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.commands.meta.commands_view import CommandRow, MqadminRow, commands_document, mqadmin_document
from mqctl.model.command_line import command_line
from mqctl.text import key_of, values_of

EXAMPLES = (
    "mqctl commands",
    "mqctl commands --mqadmin resetOffsetByTime",
    "mqctl commands --mqadmin all -o json | jq '.commands[] | select(.coverage != \"whole\")'",
)


def command(
    of_mqadmin: Annotated[
        str | None,
        typer.Option(
            "--mqadmin", metavar="NAME", help="Sub-command of mqadmin: shows what replaces it; `all` for each."
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """List every command with what it may do, or what replaces mqadmin's sub-commands."""
    if of_mqadmin is None:
        rows = [CommandRow(command=" ".join(e.path), summary=e.summary, impact=e.impact) for e in catalog.ENTRIES]
        return emit(commands_document(rows), output)
    chosen = mqadmin.TABLE if of_mqadmin.lower() == "all" else (mqadmin.find(of_mqadmin),)
    return emit(mqadmin_document([_row(entry) for entry in chosen]), output)


def _row(entry: mqadmin.SubCommand) -> MqadminRow:
    lines = [command_line(f"mqctl {line}") for line in entry.ours]
    return MqadminRow(
        mqadmin=entry.name,
        versions=list(entry.versions),
        coverage=str(entry.coverage),
        commands=list(lines),
        note=entry.note,
        commands_argv=[list(line.words) for line in lines],
        note_key=key_of(entry.note),
        note_values=values_of(entry.note),
    )
