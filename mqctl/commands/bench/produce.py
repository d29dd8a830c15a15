"""`mqctl bench produce`: how many messages a second, and how long each takes."""

from __future__ import annotations

from dataclasses import replace
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
    RateOption,
    SizeOption,
    WarmUpOption,
    size_range,
)
from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.options.common import ExecuteOption, NoColorOption, OnlyBrokersOption, OutputOption
from mqctl.model.bench import CompressionName, MessageType, SendMode, Workload

EXAMPLES = (
    "mqctl bench produce",
    "mqctl bench produce --duration 60s --rate 5000 --size 100-4k --execute -o json > before.json",
    "mqctl bench produce --batch 32 --processes 2 --in-flight 256 --execute",
    "mqctl bench produce --type fifo --keys 10000 --count 100000 --execute",
)
_Mode = Annotated[SendMode, typer.Option("--mode", help="How sends wait for answers.", show_choices=True)]
_Type = Annotated[MessageType, typer.Option("--type", help="Kind of messages.", show_choices=True)]
_Compression = Annotated[
    CompressionName,
    typer.Option("--compression", help="Bodies are compressed once, before the run.", show_choices=True),
]
_DelayLevel = Annotated[int, typer.Option("--delay-level", min=1, max=1000, metavar="LEVEL", help="With --type delay.")]
_Rollback = Annotated[
    float, typer.Option("--rollback", min=0, max=1, metavar="SHARE", help="Transactions that are rolled back.")
]
_InFlight = Annotated[
    int, typer.Option("--in-flight", min=1, max=100_000, metavar="N", help="Requests without an answer, in all.")
]
_Connections = Annotated[
    int,
    typer.Option("--connections", min=1, max=256, metavar="N", help="Connections to each broker from each process."),
]


def command(
    name: NameOption = "default",
    topic: BenchTopicOption = None,
    foreign_topic: ForeignTopicOption = False,
    queues: QueueCountOption = 4,
    broker: OnlyBrokersOption = None,
    duration: DurationOption = None,
    count: CountOption = None,
    max_bytes: MaxBytesOption = "10g",
    warm_up: WarmUpOption = 0,
    rate: RateOption = None,
    mode: _Mode = SendMode.SYNC,
    message_type: _Type = MessageType.NORMAL,
    size: SizeOption = "1024",
    batch: Annotated[int, typer.Option("--batch", min=1, max=4096, metavar="N", help="Messages of one request.")] = 1,
    keys: Annotated[int, typer.Option("--keys", min=0, max=10**9, metavar="N", help="Distinct message keys.")] = 0,
    tag: Annotated[str | None, typer.Option("--tag", help="Tag of every message.")] = None,
    compression: _Compression = CompressionName.NONE,
    delay_level: _DelayLevel = 1,
    rollback: _Rollback = 0.0,
    in_flight: _InFlight = 64,
    connections: _Connections = 4,
    processes: ProcessesOption = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of bodies, sizes and keys.")] = 1,
    html: HtmlOption = None,
    execute: ExecuteOption = False,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Send as fast as possible, or at a fixed rate, and show rate, times, errors, the brokers' view and the bottleneck.

    On a cluster of `mqctl local up` it starts at once. Elsewhere it shows a plan with the topic it needs and the number
    of messages it will send at most; --execute starts it. `mqctl bench clean` removes topics and groups. With --rate,
    times count from the moment a message was due, so messages that wait while a broker stalls count too. Ctrl-C stops
    it and shows the figures so far.
    """
    workload = Workload(mode=mode, message_type=message_type, key_count=keys, tag=tag, batch_count=batch, rate=rate)
    smallest, largest = size_range(size)
    level = delay_level if message_type is MessageType.DELAY else 0
    workload = replace(workload, min_bytes=smallest, max_bytes=largest, compression=compression, seed=seed)
    workload = replace(workload, in_flight=in_flight, connection_count=connections, process_count=processes)
    workload = replace(workload, delay_level=level, rollback_share=rollback)
    from mqctl.bench.command import bench_place, run_bounds, run_produce
    from mqctl.bench.page import emit_run
    from mqctl.cli.text_files import refuse_unwritable

    refuse_unwritable(html)

    place = bench_place(name, topic, queues, broker or (), foreign=foreign_topic)
    bounds = run_bounds(duration, count, max_bytes, warm_up, ends_itself=count is not None)
    target = cluster_target(namesrv, profile, timeout)
    document, code = run_produce(target, workload, place, bounds, execute=execute)
    emit_run(document, output, html)
    return code
