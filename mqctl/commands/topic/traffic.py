"""`mqctl topic traffic`: what goes into topics and out to groups."""

from __future__ import annotations

from time import time
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import AllOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import asking_of, broker_gaps
from mqctl.commands.topic.gather_traffic import gather_traffic
from mqctl.commands.topic.traffic_view import traffic_document

EXAMPLES = (
    "mqctl topic traffic",
    "mqctl topic traffic -t orders",
    "mqctl topic traffic --active -o json | jq '.topics[] | select(.groups == [])'",
)


def command(
    topic: TopicOption = None,
    active: Annotated[bool, typer.Option("--active", help="Only topics that got messages in the last day.")] = False,
    everything: AllOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show what each topic receives and what each of its groups consumes: rates, and messages of the last day.

    The numbers are the brokers' own counters of the last minute and day, summed over the masters; a broker counts from
    its start and samples late: messages of the last minutes may be missing, and a counter without a sample is `?` where
    messages of the day are stored. A topic with messages and without a group has no readers.
    """
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        brokers, topics = gather_traffic(asking, topic or (), now_ms=round(time() * 1000), system=everything)
    shown = [item for item in topics if item.in_day_count != 0] if active else topics
    return answer(limited(traffic_document(shown), output, limit), broker_gaps(brokers), output)
