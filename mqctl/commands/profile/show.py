"""`mqctl profile show`: the clusters that have a name."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.profile_rows import profile_row
from mqctl.cli.connection.profiles import load_profiles
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.places import config_dir
from mqctl.render.profiles import profile_document

EXAMPLES = ("mqctl profile show", "mqctl profile show prod -o yaml")


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which profile; all unless given.")] = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Show the clusters that have a name, or one of them; keys are never shown, only where they come from."""
    profiles = load_profiles(config_dir())
    shown = {name: profiles.get(name)} if name else dict(sorted(profiles.profiles.items()))
    emit(profile_document([profile_row(name, profile, profiles) for name, profile in shown.items()]), output)
