"""`mqctl group delete`: a consumer group."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmNameOption,
    ExecuteOption,
    NoColorOption,
    OneGroupOption,
    OnlyBrokersOption,
    OutputOption,
)

EXAMPLES = (
    "mqctl group delete -g order-audit",
    "mqctl group delete -g order-audit --execute --confirm order-audit",
    "mqctl group delete -g order-audit --with-topics --execute --confirm order-audit",
)


def command(
    group: OneGroupOption,
    with_topics: Annotated[
        bool,
        typer.Option("--with-topics", help="Its retry and dead-letter topics too, once they are read."),
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
    """Plan to delete a consumer group from its brokers; with --execute, delete it.

    It is refused while the group has members. Its offsets stay, so `mqctl undo` can restore it completely.
    """
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.group.plan import plan_deletion

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_deletion(asking, group, broker or (), with_topics=with_topics),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
