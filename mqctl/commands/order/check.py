"""`mqctl order check`: whether one key lies in one queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.allocation.handovers import handovers
from mqctl.allocation.key_order import key_lanes, key_spread, re_routing
from mqctl.cli.connection.target import ClusterTarget, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit
from mqctl.cli.gaps import tell_gaps
from mqctl.cli.options.common import NoColorOption, OneTopicOption, OptionalStoreOption, OutputOption
from mqctl.commands.order.traced import OrderQuestion
from mqctl.errors import ExitCode, UsageError
from mqctl.model.names import TRACE_TOPIC
from mqctl.render.locks import OrderCheckReport, order_document, order_report, traced_order
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.cli.sources.key_samples import KeySample
    from mqctl.commands.order.traced import Traces

EXAMPLES = (
    "mqctl order check -t orders",
    "mqctl order check -t orders --key orderId --queues 8 --queues 16 -o json",
    "mqctl order check -t orders -g matching",
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
            "--queues", metavar="COUNT", min=1, help="Also forecast this many queues on each broker; may be repeated."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("-g", "--group", metavar="GROUP", help="Show what rebalances of this group did, by traces."),
    ] = None,
    trace_topic: Annotated[
        str, typer.Option("--trace-topic", metavar="TOPIC", help="Where its consumers write their traces.")
    ] = TRACE_TOPIC,
    show: Annotated[int, typer.Option("--show", min=0, help="How many keys to list.")] = 20,
    store: OptionalStoreOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Sample a topic and show keys that are in several queues, so that their order is not kept.

    A key that moved once was re-routed, for instance by a changed number of queues; a key that moves back and forth is
    not ordered at all. Messages that mqctl resent, replayed or probed with are ignored. It also shows which keys
    another number of queues would re-route, and how much faster each queue could be consumed with one thread for each
    key instead of one for each queue. With -g it shows from the traces of the group's consumers which queues changed
    owners, and what the old owner was still processing when the new one started. Ends with 0 fine, 1 when a key is in
    several queues or a handover broke the order, 3 when nothing was found but a queue could not be sampled, or the
    group's deliveries are not traced.
    """
    if store is not None and (namesrv or profile):
        raise UsageError(
            sentence("order-store-cannot-combined-live", "--store cannot be combined with a live cluster"),
            remedy=sentence("name-source", "name one source"),
        )
    wanted = OrderQuestion(topic=topic, key=key, count=count, group=group, trace_topic=trace_topic)
    sample, traces = (
        _of_store(store, wanted) if store else _of_cluster(cluster_target(namesrv, profile, timeout), wanted)
    )
    gaps = (*sample.gaps, *traces.gaps)
    tell_gaps(gaps)
    report = _report(sample, wanted, traces, queues, show)
    emit(order_document(report), output)
    if report.spread_key_count or (report.traced and report.traced.broken_count):
        return ExitCode.WARNING
    return ExitCode.UNKNOWN if gaps or (report.traced and not report.traced.delivery_count) else ExitCode.OK


def _of_store(store: Path, wanted: OrderQuestion) -> tuple[KeySample, Traces]:
    from mqctl.cli.sources.key_samples import store_sample
    from mqctl.commands.order.traced import store_traces

    sample = store_sample(store, wanted.topic, key=wanted.key, count=wanted.count, broker_name="store")
    return sample, store_traces(store, wanted, sample)


def _of_cluster(target: ClusterTarget, wanted: OrderQuestion) -> tuple[KeySample, Traces]:
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.cli.sources.key_samples import live_sample
    from mqctl.commands.order.traced import live_traces

    with target.open() as cluster:
        asking = asking_of(cluster, target)
        sample = live_sample(asking, wanted.topic, key=wanted.key, count=wanted.count)
        return sample, live_traces(asking, wanted, sample)


def _report(
    sample: KeySample, wanted: OrderQuestion, traces: Traces, queues: list[int] | None, show: int
) -> OrderCheckReport:
    from mqctl.cli.sources.key_samples import wider

    messages = tuple(message for message in sample.messages if not message.own)
    brokers = len({queue.broker_name for queue in sample.queues})
    widths = queues or ([2 * (len(sample.queues) // brokers)] if brokers else [])
    return order_report(
        wanted.topic,
        sample.key,
        key_spread(messages, sample.queues),
        [re_routing(messages, sample.queues, wider(sample.queues, width)) for width in widths],
        key_lanes(messages),
        queue_count=len({message.queue for message in messages} | set(sample.queues)),
        shown=show,
        traced=traced_order(wanted.group, len(traces.deliveries), handovers(traces.deliveries))
        if wanted.group
        else None,
    )
