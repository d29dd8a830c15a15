"""`mqctl broker write`: whether producers may write to a broker."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl broker write broker-a off",
    "mqctl broker write broker-a off --execute --confirm broker-a",
    "mqctl broker write broker-a on",
)


class Switch(StrEnum):
    """Whether producers may write."""

    ON = "on"
    OFF = "off"


def command(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="Name of the broker, or address of its master.")],
    switch: Annotated[Switch, typer.Argument(help="Whether producers may write to it.")],
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to have name servers keep producers away from a broker, or let them write again; with --execute, do it.

    The permission is read back. `off` is for maintenance: consumers go on, producers use the other brokers.
    """
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.broker.plan import plan_write_perm

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_write_perm(asking, broker, writable=switch is Switch.ON),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
