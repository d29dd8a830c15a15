"""`mqctl topic describe`: settings, queues and groups of one topic."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption, QueuesOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.topic.gather import (
    chosen_queues,
    retained_queues,
    topic_consumers,
    topic_groups,
    topic_holders,
    topic_queues,
)
from mqctl.commands.topic.view import describe_document

EXAMPLES = (
    "mqctl topic describe -t orders",
    "mqctl topic describe -t orders -q 2",
    "mqctl topic describe -t orders --retained",
    "mqctl topic describe -t orders -o json | jq -r '.groups[].group'",
    "mqctl topic describe -t %RETRY%order-service -o yaml",
)


def command(
    topic: OneTopicOption,
    queue: QueuesOption = None,
    retained: Annotated[
        bool, typer.Option("--retained", help="Since when messages are kept, too: one more question for each queue.")
    ] = False,
    limit: LimitOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a topic's settings on each broker, the bounds of its queues, and the consumer groups on it.

    Its groups are those that subscribe to it or have offsets on it. -o csv and ndjson have a line for each queue.

    With --queue, shows the consumers of these queues, their addresses, and the lag of each group there.
    """
    with looking(namesrv, profile, timeout, snapshot) as look:
        holders = topic_holders(look, topic)
        queues = chosen_queues((retained_queues if retained else topic_queues)(look, holders, topic), topic, queue)
        groups = topic_groups(look, holders, topic)
        consumers, gaps = topic_consumers(look, topic, queue) if queue else (None, [])
    configs = {broker.name: broker.topics[topic] for broker in holders if topic in broker.topics}
    document = describe_document(topic, configs, queues, groups, consumers, retained=retained)
    return answer(limited(document, output, limit), [*broker_gaps(holders), *gaps], output)
