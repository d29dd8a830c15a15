"""`mqctl profile list`: the clusters that have a name."""

from __future__ import annotations

from mqctl.cli.connection.profile_rows import profile_row
from mqctl.cli.connection.profiles import load_profiles
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import NoColorOption, OutputOption
from mqctl.cli.places import config_dir
from mqctl.render.profiles import profile_document

EXAMPLES = ("mqctl profile list", "mqctl profile list -o json")


def command(output: OutputOption = Output.TABLE, no_color: NoColorOption = False) -> None:
    """List the clusters that have a name."""
    profiles = load_profiles(config_dir())
    rows = [profile_row(name, profile, profiles) for name, profile in sorted(profiles.profiles.items())]
    emit(profile_document(rows), output)
