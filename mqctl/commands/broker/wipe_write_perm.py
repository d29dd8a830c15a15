"""`mqctl broker wipe-write-perm`: keep producers away from a broker."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl broker wipe-write-perm broker-a",
    "mqctl broker wipe-write-perm broker-a --execute --confirm broker-a",
)


def command(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="Name of the broker, or address of its master.")],
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to have name servers keep producers away from a broker; with --execute, do it and read it back.

    For maintenance: consumers go on, producers use the other brokers. `mqctl broker add-write-perm` ends it.
    """
    from mqctl.commands.broker.plan import plan_write_perm
    from mqctl.operations.settings.change import run_setting_change

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_write_perm(asking, broker, writable=False),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
