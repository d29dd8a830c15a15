"""`mqctl transaction resume`: have discarded transactions checked again."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    BrokersOption,
    ConfirmNameOption,
    ExecuteOption,
    NoColorOption,
    OutputOption,
    TopicOption,
)

EXAMPLES = (
    "mqctl transaction resume 7F00000152C818B4AAC2155CF67B0000",
    "mqctl transaction resume -g order-producer --execute --confirm DefaultCluster",
)


def command(
    unique_keys: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Unique ids; every discarded one without any.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("-g", "--group", metavar="GROUP", help="Only of this producer group; may be repeated."),
    ] = None,
    topic: TopicOption = None,
    brokers: BrokersOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmNameOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to put transactions that brokers gave up on back into the half topic, and with --execute do it.

    Producers of the group are then asked again, up to 15 times: have one online first. Transactions that were committed
    meanwhile, or resumed before, are left out. This cannot be undone: a producer's answer ends the transaction.
    """
    from mqctl.commands.transaction.resume_plan import ResumeRequest
    from mqctl.commands.transaction.resume_plan import resume as bring_back

    request = ResumeRequest(
        unique_keys=frozenset(unique_keys or ()),
        groups=frozenset(group or ()),
        topics=frozenset(topic or ()),
        brokers=frozenset(brokers or ()),
        execute=execute,
        confirmed=confirm,
    )
    document, code = bring_back(request, cluster_target(namesrv, profile, timeout))
    emit(document, output)
    return code
