"""`mqctl dlq list`: the dead letters of each group."""

from __future__ import annotations

from time import time

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import asking_of, broker_gaps, open_brokers
from mqctl.render.dead_letters import group_row, groups_document
from mqctl.snapshot.live.brokers import ask_topics, masters_of
from mqctl.snapshot.live.dead_letters import dead_letter_topics
from mqctl.snapshot.live.members import declared_modes

EXAMPLES = ("mqctl dlq list", "mqctl dlq list -o json | jq -r '.groups[] | select(.letter_count > 0) | .group'")


def command(
    group: GroupOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List how many dead letters each consumer group has on each broker, how old they are, and who may read them.

    A dead letter is a message that a group failed to consume more often than it may; it stays until its file expires.
    """
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        brokers = masters_of(open_brokers(asking))
        ask_topics(asking, brokers)
        topics = dead_letter_topics(asking, brokers, frozenset(group or ()))
        modes = declared_modes(asking, brokers) if topics else {}
    now_ms = round(time() * 1000)
    topics.sort(key=lambda item: (item.group, item.broker_name))
    rows = [group_row(item, now_ms, modes.get(item.group, ())) for item in topics]
    return answer(limited(groups_document(rows), output, limit), broker_gaps(brokers), output)
