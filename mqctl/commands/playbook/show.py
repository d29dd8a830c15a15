"""`mqctl playbook show`: one playbook in full."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.commands.playbook.view import show_document
from mqctl.model.lang import Lang
from mqctl.playbook.places import load_playbook, readme

EXAMPLES = (
    "mqctl playbook show backlog",
    "mqctl playbook show skip-and-replay --readme --lang zh",
    "mqctl playbook show tag-loss -o json | jq -r '.steps[].command'",
)


def command(
    slug: Annotated[str, typer.Argument(metavar="PLAYBOOK", help="Its name, or a directory of your own: ./incident.")],
    prose: Annotated[
        bool, typer.Option("--readme", help="Show its README instead: symptom, mechanism, decision, rollback.")
    ] = False,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show a playbook: its question, parameters and steps, the meaning of each result, and how to go back."""
    if prose:
        sys.stdout.write(readme(slug, lang))
        return
    emit(show_document(load_playbook(slug), lang or Lang.EN), output)
