"""`mqctl record`: the flight recorder."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.connection.target import DEFAULT_TIMEOUT_MS, NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.options.common import ExceptOption, GroupPatternOption, TopicPatternOption
from mqctl.cli.times import parse_span_ms
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl record /var/lib/mqctl/prod --profile prod",
    "mqctl record ./recording --every 10s --keep 2d",
    "mqctl record s3://ops/rocketmq/prod --profile prod --every 1m",
)
_LEAST_EVERY_MS = 100


def command(
    place: Annotated[str, typer.Argument(metavar="DIR", help="Directory of the recording, or a URL for fsspec.")],
    every: Annotated[str, typer.Option("--every", metavar="SPAN", help="Time between looks.")] = "30s",
    consumers_every: Annotated[
        str,
        typer.Option("--consumers-every", metavar="SPAN", help="Time between questions to consumers who owns a queue."),
    ] = "5m",
    keep: Annotated[str, typer.Option("--keep", metavar="SPAN", help="Remove days that are older.")] = "14d",
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="Stop after this many samples.")
    ] = None,
    group: GroupPatternOption = None,
    topic: TopicPatternOption = None,
    without: ExceptOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
) -> int:
    """Sample the state of a cluster at intervals until Ctrl-C.

    Writes Parquet by kind and UTC day: changes since the previous sample, and the complete state once an hour. Nothing
    in the cluster is changed, and no messages are read. A sample without an answer is recorded as a gap with its cause;
    --timeout limits one sample. If the recorder is killed, it loses at most the sample that it was writing. Each user
    can run one recorder for a cluster; a second one is refused.
    """
    every_ms = parse_span_ms(every)
    if every_ms < _LEAST_EVERY_MS:
        raise UsageError(
            sentence(
                "every-must-least-ms", "--every must be at least {least_every_ms}", least_every_ms=_LEAST_EVERY_MS
            ),
            remedy=sentence("record-use-instance-every", "use for instance --every 30s"),
        )
    from mqctl.commands.record.loop import RecordPace, record
    from mqctl.recording.libraries import require_libraries
    from mqctl.snapshot.live.asking import Scope

    require_libraries()
    target = cluster_target(namesrv, profile, timeout)
    pace = RecordPace(
        every_ms=every_ms,
        round_ms=target.timeout_ms if timeout else min(target.timeout_ms, DEFAULT_TIMEOUT_MS),
        consumers_every_ms=parse_span_ms(consumers_every),
        keep_ms=parse_span_ms(keep),
        count=count,
    )
    scope = Scope(groups=frozenset(group or ()), topics=frozenset(topic or ()), without=frozenset(without or ()))
    with target.open() as cluster:
        return record(cluster, place, pace, scope)
