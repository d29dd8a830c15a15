"""`mqctl replay group`: let a group of its own consume what lies between two times."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ConfirmOption, ExecuteOption, NoColorOption, OutputOption
from mqctl.cli.options.replay import (
    BrokersOption,
    FromFileOption,
    FromOffsetOption,
    QueuesOption,
    SinceOption,
    SkippedOption,
    ToOffsetOption,
    TopicOption,
    UntilOption,
)

EXAMPLES = (
    "mqctl replay group -g order-replay -t orders --since 'yesterday 10:00' --until 'yesterday 11:00'",
    "mqctl replay group -g order-replay --skipped 20261121-091500-3fa2 --execute --confirm order-replay",
)


def command(
    group: Annotated[
        str, typer.Option("-g", "--group", metavar="GROUP", help="A group without members; made if it is new.")
    ],
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    from_offset: FromOffsetOption = None,
    to_offset: ToOffsetOption = None,
    skipped: SkippedOption = None,
    from_file: FromFileOption = None,
    brokers: BrokersOption = None,
    queues: QueuesOption = None,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to point a group at the start of the messages to replay; with --execute, do it.

    The group is created if it is missing, and gets its offsets before it has members: start its consumers afterwards,
    with the tags or the condition that you want. The end of the replay is recorded, and `mqctl replay status` shows
    whether the group has reached it: consumers do not stop there. `mqctl undo` restores the offsets.

    This is for a group without members, next to the one in use. To have a group with online members consume the last
    minutes again, use `mqctl offset reset -g GROUP --by-duration 10m`.
    """
    from mqctl.changes.engine.run import Consent
    from mqctl.changes.offsets.only_topic import only_topic
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.commands.replay.gather import source_of
    from mqctl.commands.replay.group_plan import replay_by_group

    read = partial(
        source_of,
        since=since,
        until=until,
        from_offset=from_offset,
        to_offset=to_offset,
        skipped=skipped,
        from_file=from_file,
        brokers=brokers,
        queues=queues,
    )
    limited = since is not None or from_offset is not None
    source = None if limited and topic is None and skipped is None and from_file is None else read(topic=topic)
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        consent = Consent(execute=execute, confirmed=confirm)
        done = replay_by_group(asking, source or read(topic=only_topic(asking, group)), group, consent)
    emit(done.document, output)
    return done.code
