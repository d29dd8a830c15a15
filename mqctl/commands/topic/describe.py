"""`mqctl topic describe`: settings, queues and groups of one topic."""

from __future__ import annotations

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit
from mqctl.cli.live_brokers import asking_of, tell_broker_gaps
from mqctl.cli.live_topics import topic_groups, topic_holders, topic_queues
from mqctl.cli.options import NoColorOption, OneTopicOption, OutputOption
from mqctl.render.topics import describe_document

EXAMPLES = ("mqctl topic describe -t orders", "mqctl topic describe -t %RETRY%order-service -o yaml")


def command(
    topic: OneTopicOption,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show a topic's settings on each broker, its queues, and the consumer groups on it."""
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        asking = asking_of(cluster, chosen)
        holders = topic_holders(asking, topic)
        queues = topic_queues(asking, holders, topic)
        groups = topic_groups(asking, holders, topic)
    configs = {broker.name: broker.topics[topic] for broker in holders if topic in broker.topics}
    emit(describe_document(topic, configs, queues, groups), output)
    return tell_broker_gaps(holders)
