"""`mqctl topic describe`: settings, queues and groups of one topic."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.operations.topics.topics import topic_groups, topic_holders, topic_queues
from mqctl.render.topics import describe_document

EXAMPLES = ("mqctl topic describe -t orders", "mqctl topic describe -t %RETRY%order-service -o yaml")


def command(
    topic: OneTopicOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a topic's settings on each broker, its queues, and the consumer groups on it."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        holders = topic_holders(look, topic)
        queues = topic_queues(look, holders, topic)
        groups = topic_groups(look, holders, topic)
    configs = {broker.name: broker.topics[topic] for broker in holders if topic in broker.topics}
    return answer(describe_document(topic, configs, queues, groups), broker_gaps(holders), output)
