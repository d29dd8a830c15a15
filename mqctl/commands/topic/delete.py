"""`mqctl topic delete`: a topic, with all its messages."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmNameOption,
    ExecuteOption,
    NoColorOption,
    OneTopicOption,
    OnlyBrokersOption,
    OutputOption,
)

EXAMPLES = (
    "mqctl topic delete -t orders-test",
    "mqctl topic delete -t orders-test --execute --confirm orders-test",
    "mqctl topic delete -t orders-test --drop-unread --execute --confirm orders-test",
)


def command(
    topic: OneTopicOption,
    drop_unread: Annotated[
        bool, typer.Option("--drop-unread", help="Go on although some messages have not been read.")
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
    """Plan to delete a topic from its brokers and then from the name servers; with --execute, delete it.

    Refused while a group subscribes to it, or while a message is unread; the refusal names each group. Its messages
    cannot be restored.
    """
    from mqctl.changes.settings.change import run_setting_change
    from mqctl.changes.settings.topics import plan_deletion

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_deletion(asking, topic, broker or (), drop_unread=drop_unread),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
