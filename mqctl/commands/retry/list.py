"""`mqctl retry list`: what waits to be delivered again."""

from __future__ import annotations

from time import time
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of, broker_gaps, open_brokers, queue_gaps, require_known
from mqctl.render.dead_letters import retries_document
from mqctl.snapshot.live.asking import Scope
from mqctl.snapshot.live.brokers import ask_groups, ask_offsets, ask_settings, ask_topics, masters_of
from mqctl.snapshot.live.dead_letters import waiting_retries

EXAMPLES = ("mqctl retry list", "mqctl retry list -g order-service -o wide")


def command(
    group: GroupOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most messages of each queue, the oldest first.")] = 100,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List the messages that failed and will be delivered again: failures so far, and tries left.

    Failed messages wait on a delay level that grows with each failure, and then in the group's retry topic until it
    consumes them. A message that fails at every try becomes a dead letter with its last one: deploy a fix before then.
    The number of tries is a setting of the members (maxReconsumeTimes): those online are asked, and the largest answer
    counts; if none reports it, the group's retryMaxTimes counts, and the answer says so. Orderly members retry in
    place: these messages are not listed here, but by `mqctl group describe GROUP`. Only the first 20,000 undelivered
    messages of each delay level are searched.
    """
    groups = frozenset(group or ())
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        brokers = masters_of(open_brokers(asking))
        ask_settings(asking, brokers)
        ask_topics(asking, brokers)
        ask_groups(asking, brokers, Scope(groups=groups))
        ask_offsets(asking, brokers, Scope(groups=groups))
        require_known(brokers, groups)
        rows, retries = waiting_retries(asking, brokers, groups, limit)
    gaps = [*broker_gaps(brokers), *queue_gaps(retries.errors)]
    document = retries_document(rows, more=retries.more, now_ms=round(time() * 1000))
    return answer(document, gaps, output, minor=retries.limit_gaps)
