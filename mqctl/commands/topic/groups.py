"""`mqctl topic groups`: who consumes a topic."""

from __future__ import annotations

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.topic.gather import topic_groups, topic_holders
from mqctl.commands.topic.view import groups_document

EXAMPLES = ("mqctl topic groups -t orders", "mqctl topic groups -t orders -o json | jq -r '.groups[].group'")


def command(
    topic: OneTopicOption,
    limit: LimitOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the consumer groups that subscribe to a topic or have offsets on it."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        holders = topic_holders(look, topic)
        groups = topic_groups(look, holders, topic)
    return answer(limited(groups_document(topic, groups), output, limit), broker_gaps(holders), output)
