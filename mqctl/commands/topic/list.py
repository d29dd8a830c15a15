"""`mqctl topic list`: every topic."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import AllOption, NoColorOption, OutputOption, SnapshotOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.sources.brokers import broker_gaps
from mqctl.cli.sources.live_or_saved import looking
from mqctl.commands.topic.view import list_document, topic_row
from mqctl.model.config import TopicConfig
from mqctl.model.gap import Part
from mqctl.snapshot.live.brokers import ask_topics, masters_of

EXAMPLES = (
    "mqctl topic list",
    "mqctl topic list --retries",
    "mqctl topic list --all -o json | jq .topics",
)


def command(
    retries: Annotated[bool, typer.Option("--retries", help="Retry and dead-letter topics too.")] = False,
    system: AllOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """List every topic with its brokers, queues and permission. System topics are hidden unless --all."""
    with looking(namesrv, profile, timeout, snapshot) as look:
        brokers = masters_of(look.brokers({Part.TOPICS}))
        look.ask(ask_topics, brokers)
    topics: dict[str, dict[str, TopicConfig]] = {}
    for broker in brokers:
        for name, config in broker.topics.items():
            topics.setdefault(name, {})[broker.name] = config
    reserved = frozenset().union(*(broker.reserved for broker in brokers)) if brokers else frozenset()
    rows = [topic_row(name, configs, reserved) for name, configs in sorted(topics.items())]
    shown = {"normal"} | ({"retry", "dead-letter"} if retries or system else set()) | ({"system"} if system else set())
    document = list_document([row for row in rows if row.kind in shown])
    return answer(limited(document, output, limit), broker_gaps(brokers), output)
