"""`mqctl topic order`: the order configuration of a topic."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmNameOption, ExecuteOption, NoColorOption, OneTopicOption, OutputOption
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl topic order -t orders --set 'broker-a:4;broker-b:4'",
    "mqctl topic order -t orders --remove --execute --confirm orders",
)


def command(
    topic: OneTopicOption,
    value: Annotated[
        str | None, typer.Option("--set", metavar="BROKER:QUEUES;...", help="The queues that producers are to use.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Let producers use every queue.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan the order configuration of a topic in every name server; with --execute, write it and read it back.

    An ordered topic keeps its queues when a broker is down: producers then fail instead of using others.
    """
    if (value is None) != remove:
        raise UsageError(
            sentence("no-action-given", "no action given"),
            remedy=sentence("topic-use-set-remove", "use one of --set and --remove"),
        )
    from mqctl.operations.settings.change import run_setting_change
    from mqctl.operations.settings.topics import plan_order

    document, code = run_setting_change(
        cluster_target(namesrv, profile, timeout),
        lambda asking: plan_order(asking, topic, value),
        execute=execute,
        confirmed=confirm,
    )
    emit(document, output)
    return code
