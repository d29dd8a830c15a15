"""`mqctl order check`: whether one key lies in one queue."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.allocation.key_order import key_lanes, key_spread, re_routing
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OptionalStoreOption, OutputOption
from mqctl.errors import ExitCode, UsageError
from mqctl.render.locks import order_document, order_report

EXAMPLES = (
    "mqctl order check -t orders",
    "mqctl order check -t orders --key orderId --queues 8 --queues 16 -o json",
    "mqctl order check -t orders --store /backup/store",
)


def command(
    topic: OneTopicOption,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PROPERTY", help="Property that holds the key; else the sharding key, or KEYS."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many messages of each queue to sample.")] = 500,
    queues: Annotated[
        list[int] | None,
        typer.Option(
            "--queues", metavar="COUNT", min=1, help="What this many queues on each broker would do; repeatable."
        ),
    ] = None,
    show: Annotated[int, typer.Option("--show", min=0, help="How many keys to list.")] = 20,
    store: OptionalStoreOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Sample a topic and show which keys are in several queues, where their order is not kept.

    A key that moved once was re-routed, by a changed number of queues for instance; one that moves back and forth has
    no order at all. Also shows what another number of queues would re-route, and how much faster each queue could be
    consumed if one thread worked on each key instead of each queue. Ends with 0 fine, 1 when a key lies in several
    queues, 3 when nothing was found but a queue could not be sampled.
    """
    from mqctl.operations.messages.key_samples import live_sample, store_sample, wider

    if store is not None:
        if namesrv or profile:
            raise UsageError("--store and a live cluster contradict each other", remedy="name one source")
        sample = store_sample(store, topic, key=key, count=count, broker_name="store")
    else:
        from mqctl.cli.sources.brokers import asking_of

        target = cluster_target(namesrv, profile, timeout)
        with target.open() as cluster:
            sample = live_sample(asking_of(cluster, target), topic, key=key, count=count)
    tell_gaps(sample.gaps)
    spread = key_spread(sample.messages, sample.queues)
    brokers = len({queue.broker_name for queue in sample.queues})
    wanted = queues or ([2 * (len(sample.queues) // brokers)] if brokers else [])
    routings = [re_routing(sample.messages, sample.queues, wider(sample.queues, number)) for number in wanted]
    width = len({message.queue for message in sample.messages} | set(sample.queues))
    lanes = key_lanes(sample.messages)
    report = order_report(topic, sample.key, spread, routings, lanes, queue_count=width, shown=show)
    emit(order_document(report), output)
    if spread.spread:
        return ExitCode.WARNING
    return ExitCode.UNKNOWN if sample.gaps else ExitCode.OK
