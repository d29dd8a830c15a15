"""`mqctl offset reset`: move where a consumer group stands."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection import NamesrvOption, ProfileOption, TimeoutOption, connection
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options import (
    ConfirmOption,
    ExecuteOption,
    NoColorOption,
    OneGroupOption,
    OneTopicOption,
    OutputOption,
)
from mqctl.errors import UsageError
from mqctl.model.names import retry_topic
from mqctl.plan.targets import ShiftBy, Target, ToCurrent, ToEarliest, ToLatest, ToOffset, ToTime

EXAMPLES = (
    "mqctl offset reset -g order-service -t orders --to-time 'yesterday 10:00'",
    "mqctl offset reset -g order-service -t orders --by-duration 2h --execute --confirm order-service",
    "mqctl offset reset -g order-service -t orders --to-latest --broker broker-a --queue 3 -o json",
)


def command(
    group: OneGroupOption,
    topic: OneTopicOption,
    to_time: Annotated[
        str | None, typer.Option("--to-time", metavar="TIME", help="The first message stored at or after a time.")
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", metavar="SPAN", help="Back by a span from now: 90s, 2h, 1d.")
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The first message that is still there.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end: skips the backlog.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="Where it stands, brought inside each queue; gives every queue one.")
    ] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", metavar="OFFSET", min=0, help="One queue offset.")
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", metavar="COUNT", help="Messages onward; -100 goes back by 100.")
    ] = None,
    queues: Annotated[
        list[int] | None, typer.Option("-q", "--queue", metavar="ID", min=0, help="Only this queue; may be repeated.")
    ] = None,
    brokers: Annotated[
        list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
    ] = None,
    with_retry: Annotated[bool, typer.Option("--with-retry", help="The group's retry topic as well.")] = False,
    clamp: Annotated[bool, typer.Option("--clamp", help="Take the nearest bound for offsets outside a queue.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan where a group should stand, show what that replays and skips, and with --execute move it there.

    Times are exact: the first message stored at or after the instant, in every queue. Offsets of a group without
    members are committed at the brokers; with members, 5.x brokers with server-side reset move them, and others leave
    offsets to the members: mqctl then changes nothing. Each queue is read back, and a journal keeps the old offsets.
    """
    target = _target(to_time, by_duration, to_earliest, to_latest, to_current, to_offset, shift_by)
    from mqctl.cli.live_brokers import asking_of
    from mqctl.cli.live_offsets import Wish, run

    wish = Wish(
        group=group,
        topics=(topic, retry_topic(group)) if with_retry else (topic,),
        target=target,
        brokers=frozenset(brokers or ()),
        queue_ids=frozenset(queues or ()),
        clamp=clamp,
    )
    chosen = connection(namesrv, profile, timeout)
    with chosen.open() as cluster:
        document, code = run(asking_of(cluster, chosen), wish, execute=execute, confirmed=confirm)
    emit(document, output)
    return code


def _target(
    to_time: str | None,
    by_duration: str | None,
    to_earliest: bool,  # noqa: FBT001 - as typer gives them
    to_latest: bool,  # noqa: FBT001
    to_current: bool,  # noqa: FBT001
    to_offset: int | None,
    shift_by: int | None,
) -> Target:
    wishes: list[Target] = []
    if to_time is not None or by_duration is not None:
        wishes += _times(to_time, by_duration)
    wishes += [ToEarliest()] if to_earliest else []
    wishes += [ToLatest()] if to_latest else []
    wishes += [ToCurrent()] if to_current else []
    wishes += [ToOffset(to_offset)] if to_offset is not None else []
    wishes += [ShiftBy(shift_by)] if shift_by is not None else []
    if len(wishes) != 1:
        raise UsageError(
            f"where to? {len(wishes)} targets are given",
            remedy="use one of --to-time, --by-duration, --to-earliest, --to-latest, --to-current, --to-offset, "
            "--shift-by",
        )
    return wishes[0]


def _times(to_time: str | None, by_duration: str | None) -> list[Target]:
    from mqctl.cli.times import parse_instant

    now = datetime.now().astimezone()
    moments = []
    for text in [to_time] if to_time is not None else []:
        moments.append(parse_instant(text, now))
    if by_duration is not None:
        moments.append(parse_instant(f"-{by_duration}", now))
    for moment in moments:
        if moment.epoch_ms > round(now.timestamp() * 1000):
            raise UsageError(f"{moment.text} is in the future", remedy="--to-latest skips all that is there now")
        tell(f"mqctl: to {moment.text}")
    return [ToTime(moment.epoch_ms, moment.text) for moment in moments]
