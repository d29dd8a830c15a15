"""`mqctl offset skip`: leave a backlog behind, and keep what is needed to replay it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import (
    ConfirmOption,
    ExecuteOption,
    GroupsTopicOption,
    NoColorOption,
    OneGroupOption,
    OutputOption,
    SettleOption,
)

EXAMPLES = (
    "mqctl offset skip -g order-service -t orders",
    "mqctl offset skip order-service",
    "mqctl offset skip -g order-service -t orders --execute --confirm order-service --replay-plan backlog.json",
)


def command(
    group: OneGroupOption,
    topic: GroupsTopicOption = None,
    brokers: Annotated[
        list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
    ] = None,
    with_retry: Annotated[bool, typer.Option("--with-retry", help="The group's retry topic as well.")] = False,
    replay_plan: Annotated[
        Path | None,
        typer.Option("--replay-plan", metavar="FILE", help="Where to write the replay plan, as JSON."),
    ] = None,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    settle: SettleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to move a group to the end of a topic; with --execute, do it and record the skipped messages.

    Before anything changes, a replay plan is written with the skipped range of each queue, from the committed offset to
    the new one. `mqctl replay publish --skipped ID` or `mqctl replay group --skipped ID` processes the backlog later,
    as long as the brokers keep its messages. Messages that online members had pulled but not committed are in the plan
    as well: they may be consumed twice.
    """
    from mqctl.changes.offsets.change import consent_of
    from mqctl.changes.offsets.only_topic import only_topic
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.commands.offset.skipping import skip

    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        done = skip(
            asking,
            group,
            topic or only_topic(asking, group),
            consent_of(confirm, settle, execute=execute),
            brokers=brokers or (),
            replay_plan=replay_plan,
            with_retry=with_retry,
        )
    emit(done.document, output)
    return done.code
