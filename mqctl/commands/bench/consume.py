"""`mqctl bench consume`: how fast a topic is read, and how old messages are then."""

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
    WarmUpOption,
)
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.model.bench import Workload

EXAMPLES = (
    "mqctl bench consume --execute",
    "mqctl bench consume --follow --duration 60s --processes 2 --execute -o json > after.json",
)


def command(
    name: NameOption = "default",
    topic: BenchTopicOption = None,
    foreign_topic: ForeignTopicOption = False,
    broker: OnlyBrokersOption = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read messages that arrive from now on, not stored ones.")
    ] = False,
    duration: DurationOption = None,
    count: CountOption = None,
    max_bytes: MaxBytesOption = "10g",
    warm_up: WarmUpOption = 0,
    batch: Annotated[int, typer.Option("--batch", min=1, max=4096, metavar="N", help="Messages of one pull.")] = 32,
    processes: ProcessesOption = 1,
    html: HtmlOption = None,
    execute: ExecuteOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Read a topic as fast as possible, and show rate, age of messages, errors, the brokers' view and the bottleneck.

    It reads the topic that `bench produce` filled from start to end, with one pull at a time for each queue. It joins
    no group and commits nothing, so the progress of groups does not change. With --follow it reads messages as they
    arrive, for --duration. On a cluster of `mqctl local up` it starts at once, elsewhere with --execute.
    """
    from mqctl.bench.command import bench_place, run_bounds, run_consume
    from mqctl.bench.page import emit_run
    from mqctl.cli.text_files import refuse_unwritable

    refuse_unwritable(html)

    workload = Workload(batch_count=batch, process_count=processes, in_flight=processes, connection_count=1)
    place = bench_place(name, topic, 4, broker or (), foreign=foreign_topic)
    bounds = run_bounds(duration, count, max_bytes, warm_up, ends_itself=not follow)
    target = cluster_target(namesrv, profile, timeout)
    document, code = run_consume(target, workload, place, bounds, follows=follow, execute=execute)
    emit_run(document, output, html)
    return code
