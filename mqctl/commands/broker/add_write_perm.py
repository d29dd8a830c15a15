"""`mqctl broker add-write-perm`: let producers write to a broker again."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OutputOption

EXAMPLES = (
    "mqctl broker add-write-perm broker-a",
    "mqctl broker add-write-perm broker-a --execute --confirm broker-a",
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
    """Plan to have name servers let producers write to a broker again; with --execute, do it and read it back."""
    from mqctl.commands.broker.plan import plan_write_perm
    from mqctl.operations.settings.change import run_setting_change

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_write_perm(asking, broker, writable=True),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
