"""`mqctl cluster apply`: the topics and groups of a file, by plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption

EXAMPLES = (
    "mqctl cluster apply settings.yaml",
    "mqctl cluster apply settings.yaml --execute",
    "mqctl cluster apply settings.yaml --update --broker broker-a --execute --confirm DefaultCluster",
)


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `mqctl cluster export -o yaml` wrote.")],
    update: Annotated[
        bool, typer.Option("--update", help="Also change topics and groups that exist with other settings.")
    ] = False,
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to create the missing topics and groups of a file; with --execute, create them and read them back.

    They are created on the brokers that the file names, or on those of --broker. Nothing is deleted. `mqctl undo`
    removes all of it again while it is unused.
    """
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.cluster.settings_file import Applied, plan_application

    applied = Applied(brokers=broker or (), updates=update)
    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_application(asking, file, applied),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
