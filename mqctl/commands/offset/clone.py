"""`mqctl offset clone`: stand where another group stands."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmOption,
    ExecuteOption,
    NoColorOption,
    OneTopicOption,
    OutputOption,
    SettleOption,
)
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl offset clone --from order-service -g order-audit -t orders",
    "mqctl offset clone --from order-service -g order-audit -t orders --execute --confirm order-audit",
)


def command(
    source: Annotated[str, typer.Option("--from", metavar="GROUP", help="The group whose offsets are taken.")],
    group: Annotated[str, typer.Option("-g", "--group", metavar="GROUP", help="The group that gets them.")],
    topic: OneTopicOption,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    settle: SettleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to copy the offsets of one group on a topic to another group, queue by queue; with --execute, do it.

    The broker's own request for this always answers success; here each queue is committed, read back and journalled.
    Queues on which the source has no offset stay as they are.
    """
    if source == group:
        raise UsageError(
            sentence(
                "offset-current-changes-nothing-group", "--to-current changes nothing for a group that has offsets"
            ),
            remedy=sentence("offset-name-two-groups", "name two groups"),
        )
    from mqctl.changes.offsets.change import consent_of, run_offset_change
    from mqctl.changes.offsets.requests import clone_request
    from mqctl.cli.sources.brokers import asking_of

    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        done = run_offset_change(
            asking, clone_request(asking, source, group, topic), consent_of(confirm, settle, execute=execute)
        )
    emit(done.document, output)
    return done.code
