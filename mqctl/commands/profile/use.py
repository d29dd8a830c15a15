"""`mqctl profile use`: choose the profile that commands use."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.profiles import changed_profiles
from mqctl.cli.emit import tell
from mqctl.cli.places import config_dir
from mqctl.text import sentence

EXAMPLES = ("mqctl profile use prod",)


def command(name: Annotated[str, typer.Argument(metavar="NAME", help="Which profile.")]) -> None:
    """Choose the profile that commands use by default."""
    with changed_profiles(config_dir()) as profiles:
        profiles.get(name)
        profiles.current = name
    tell(sentence("profile-commands-use-now", "mqctl: commands use {name} now", name=name))
