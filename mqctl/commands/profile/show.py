"""`mqctl profile show`: one profile."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.profile_rows import profile_row
from mqctl.cli.connection.profiles import load_profiles
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.places import config_dir
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.render.profiles import profile_document
from mqctl.text import joined, sentence

EXAMPLES = ("mqctl profile show", "mqctl profile show prod -o yaml")


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which profile; the current one unless given.")
    ] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show one profile; keys are never shown, only where they come from."""
    profiles = load_profiles(config_dir())
    chosen = name or profiles.current
    if chosen is None:
        raise NotFoundError(
            sentence("no-current-profile", "there is no current profile"),
            remedy=joined("; ", map(command_line, ("mqctl profile use NAME", "mqctl profile list"))),
        )
    emit(profile_document([profile_row(chosen, profiles.get(chosen), profiles)]), output)
