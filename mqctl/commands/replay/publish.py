"""`mqctl replay publish`: publish messages of the past once more."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OptionalStoreOption, OutputOption
from mqctl.cli.options.replay import (
    BrokersOption,
    ConfirmTopicOption,
    FromFileOption,
    FromOffsetOption,
    QueuesOption,
    SinceOption,
    SkippedOption,
    ToOffsetOption,
    TopicOption,
    UntilOption,
)

EXAMPLES = (
    "mqctl replay publish -t orders --since 'yesterday 10:00' --until 'yesterday 11:00' --to orders-again",
    "mqctl replay publish -t orders --since -2h --tags 'paid || refunded' --to orders-again --rate 50 --execute "
    "--confirm orders-again",
    "mqctl replay publish --store /data/store/commitlog.set-aside/00000000000000012345 -t orders --to orders --execute "
    "--confirm orders",
    "mqctl replay publish --skipped 20261121-091500-3fa2 --to orders --execute --confirm orders",
)


def command(
    target: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The topic to publish to; it must exist.")],
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    from_offset: FromOffsetOption = None,
    to_offset: ToOffsetOption = None,
    skipped: SkippedOption = None,
    from_file: FromFileOption = None,
    store: OptionalStoreOption = None,
    brokers: BrokersOption = None,
    queues: QueuesOption = None,
    tags: Annotated[str | None, typer.Option("--tags", metavar="EXPRESSION", help="Only these tags, `a || b`.")] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only messages with this key.")] = None,
    sql: Annotated[str | None, typer.Option("--sql", metavar="SQL92", help="Only messages that meet this.")] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="COUNT", min=0.01, help="Messages a second, at most.")] = 100,
    execute: ExecuteOption = False,
    confirm: ConfirmTopicOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan to publish messages again, and show who will receive them; with --execute, publish them at a bounded rate.

    Body, tags, keys and properties stay; an extra key and the MQCTL_ORIGIN_ properties name the origin of a copy. With
    --store, messages come from a store directory, with or without consume queues, also from log parts that a recovery
    moved away. Messages of one queue keep their order. Each message is published at least once: after a stop, `mqctl
    replay resume` looks up the keys of the messages that were being sent, and reports possible duplicates. Exit code 2:
    stopped in the middle; 3: complete, with messages in doubt.
    """
    from mqctl.changes.engine.run import Consent
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.commands.replay.gather import source_of
    from mqctl.commands.replay.publishing import plan_publish, run_publishing
    from mqctl.model.stretch import ReplayFilter

    source = source_of(
        topic=topic,
        since=since,
        until=until,
        from_offset=from_offset,
        to_offset=to_offset,
        skipped=skipped,
        from_file=from_file,
        brokers=brokers,
        queues=queues,
        store=store,
    )
    connected_to = cluster_target(namesrv, profile, timeout)
    with connected_to.open() as cluster:
        asking = asking_of(cluster, connected_to)
        wanted, consent = ReplayFilter(tags=tags, key=key, sql=sql), Consent(execute=execute, confirmed=confirm)
        done = run_publishing(
            asking, consent, lambda: plan_publish(asking, source, target, wanted, rate, execute=execute)
        )
    emit(done.document, output)
    return done.code
