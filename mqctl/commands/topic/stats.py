"""`mqctl topic stats`: the bounds of a topic's queues."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.topic.gather import retained_queues, topic_holders, topic_queues
from mqctl.commands.topic.view import stats_document

EXAMPLES = (
    "mqctl topic stats -t orders",
    "mqctl topic stats -t orders --retained",
    "mqctl topic stats -t orders -o csv",
)


def command(
    topic: OneTopicOption,
    retained: Annotated[
        bool, typer.Option("--retained", help="Since when messages are kept, too: one more question for each queue.")
    ] = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show each queue of a topic: first and next offset, messages held, time of the last one."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        holders = topic_holders(look, topic)
        queues = (retained_queues if retained else topic_queues)(look, holders, topic)
    return answer(stats_document(topic, queues, retained=retained), broker_gaps(holders), output)
