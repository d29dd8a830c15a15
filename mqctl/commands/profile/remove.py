"""`mqctl profile remove`: forget a profile."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.profiles import changed_profiles
from mqctl.cli.emit import tell
from mqctl.cli.places import config_dir
from mqctl.text import sentence

EXAMPLES = ("mqctl profile remove stage",)


def command(name: Annotated[str, typer.Argument(metavar="NAME", help="Which profile.")]) -> None:
    """Remove a profile. The cluster and files with keys are left alone."""
    with changed_profiles(config_dir()) as profiles:
        profiles.get(name)
        del profiles.profiles[name]
        profiles.current = None if profiles.current == name else profiles.current
    tell(sentence("profile-removed", "mqctl: profile {name} removed", name=name))
