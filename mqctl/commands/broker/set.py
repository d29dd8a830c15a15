"""`mqctl broker set`: other properties of brokers."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl broker set autoCreateTopicEnable=false",
    "mqctl broker set fileReservedTime=48 --broker broker-a --execute --confirm broker-a",
)


def command(
    settings: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="Properties and their new values.")],
    broker: OnlyBrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan other values of broker properties, on every master or on those named; with --execute, set and read back.

    The name to confirm is the broker's, or the cluster's where several change. Brokers accept a property that they do
    not know and ignore it; mqctl refuses it.
    """
    requested: dict[str, str] = {}
    for item in settings:
        name, given, value = item.partition("=")
        if not given or not name or name in requested:
            raise UsageError(
                sentence("cannot-read", "cannot read {item!r}", item=item),
                remedy=sentence(
                    "broker-write-name-value-each", "write NAME=VALUE, each name once; --broker says where"
                ),
            )
        requested[name] = value
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.commands.broker.plan import plan_settings

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_settings(asking, requested, broker or ()),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
