"""`mqctl bench latency`: how long a message takes from being due to being with a consumer."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.bench.options import (
    BenchTopicOption,
    CountOption,
    DurationOption,
    ForeignTopicOption,
    HtmlOption,
    MaxBytesOption,
    NameOption,
    ProcessesOption,
    QueueCountOption,
    SizeOption,
    WarmUpOption,
    size_range,
)
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.model.bench import SendMode, Workload

EXAMPLES = (
    "mqctl bench latency --execute",
    "mqctl bench latency --rate 2000 --duration 60s --execute -o json > before.json",
)


def command(
    name: NameOption = "default",
    topic: BenchTopicOption = None,
    foreign_topic: ForeignTopicOption = False,
    queues: QueueCountOption = 4,
    broker: OnlyBrokersOption = None,
    rate: Annotated[
        float, typer.Option("--rate", min=0.1, max=1e6, metavar="N", help="Messages a second, by schedule.")
    ] = 100.0,
    duration: DurationOption = None,
    count: CountOption = None,
    max_bytes: MaxBytesOption = "1g",
    warm_up: WarmUpOption = 0,
    size: SizeOption = "1024",
    processes: ProcessesOption = 1,
    html: HtmlOption = None,
    execute: ExecuteOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Send by a schedule, read at once, and show how long messages took to the broker and to the consumer.

    Times count from when a message was due, so that what waits while a broker stalls is not left out. --processes is
    how many send; as many read. Nothing is committed. `bench clean` removes topic and groups.
    """
    from mqctl.bench.command import bench_place, run_bounds, run_latency
    from mqctl.bench.page import emit_run
    from mqctl.cli.text_files import refuse_unwritable

    refuse_unwritable(html)

    smallest, largest = size_range(size)
    workload = Workload(
        mode=SendMode.ASYNC, min_bytes=smallest, max_bytes=largest, process_count=processes, in_flight=1024, rate=rate
    )
    place = bench_place(name, topic, queues, broker or (), foreign=foreign_topic)
    bounds = run_bounds(duration, count, max_bytes, warm_up, ends_itself=count is not None)
    target = cluster_target(namesrv, profile, timeout)
    document, code = run_latency(target, workload, place, bounds, execute=execute)
    emit_run(document, output, html)
    return code
