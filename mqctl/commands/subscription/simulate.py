"""`mqctl subscription simulate`: what a grey release of new tags would lose."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import NoColorOption, OneGroupOption, OneTopicOption, OutputOption, SnapshotOption
from mqctl.cli.sources.brokers import gaps_of
from mqctl.cli.sources.named import require_group
from mqctl.cli.sources.snapshot_source import LiveOptions, read_snapshot
from mqctl.commands.subscription.gather import TagsFromOption, counted_in
from mqctl.commands.subscription.release_plan import release_report
from mqctl.commands.subscription.view import release_document
from mqctl.model.gap import Part

EXAMPLES = (
    "mqctl subscription simulate -g order-service -t orders --to 'paid' --instances 2",
    "mqctl subscription simulate -g order-service -t orders --to 'paid || refunded' --client 10.0.0.1@9#1",
    "mqctl subscription simulate -g order-service -t orders --to 'paid' --instances 1 --tags-from broker-a=/data/store",
)


def command(
    group: OneGroupOption,
    topic: OneTopicOption,
    to: Annotated[str, typer.Option("--to", metavar="TAGS", help="The new tags: `a || b`, `*`.")],
    instances: Annotated[
        int | None,
        typer.Option("--instances", min=1, help="How many members change, from the end of the allocation order."),
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option("--client", metavar="ID", help="Instead: this member changes; may be repeated.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="NAME", help="avg, circle or hash; else what members hold now.")
    ] = None,
    tags_from: TagsFromOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    snapshot: SnapshotOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Simulate a grey release: some members of a group change to other tags, the rest keep theirs.

    Shows for each tag what would be skipped meanwhile, and a way that loses nothing. Shares come from the newest
    messages of each queue, with their error, or from all entries of a store. Nothing is changed.
    """
    options = LiveOptions(
        namesrv=namesrv,
        profile=profile,
        timeout=timeout,
        groups=[group],
        topics=[topic],
        sampled=frozenset({topic}),
        members_only=True,
    )
    state = read_snapshot(store=None, snapshot=snapshot, now=datetime.now().astimezone(), live=options)
    require_group(state, group, options)
    state = counted_in(state, tags_from or (), [topic])
    report = release_report(state, group, topic, to, instances=instances, clients=client or (), strategy=strategy)
    gaps = gaps_of(state, (Part.MEMBERS, Part.ROUTES, Part.TAGS))
    return answer(release_document(report), gaps, output)
