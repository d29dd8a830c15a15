"""`mqctl offset reset`: move where a consumer group stands."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import (
    ConfirmOption,
    ExecuteOption,
    GroupsTopicOption,
    NoColorOption,
    OutputOption,
    SettleOption,
)
from mqctl.errors import UsageError
from mqctl.model.names import retry_topic
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.changes.offsets.planning import OffsetRequest
    from mqctl.changes.plan.offsets import Target

EXAMPLES = (
    "mqctl offset reset -g order-service -t orders --to-time 'yesterday 10:00'",
    "mqctl offset reset -g order-service -t orders --by-duration 2h --execute --confirm order-service",
    "mqctl offset reset -g order-service -t orders --to-latest --broker broker-a --queue 3 -o json",
    "mqctl offset reset -g order-service -t orders --to-earliest --export plan.csv",
    "mqctl offset reset -g order-service --from-file plan.csv --execute --confirm order-service",
    "mqctl offset reset --resume 20261121-091500-3fa2 --execute --confirm order-service",
)


_ToTime = Annotated[
    str | None, typer.Option("--to-time", metavar="TIME", help="The first message stored at or after a time.")
]
_ByDuration = Annotated[
    str | None, typer.Option("--by-duration", metavar="SPAN", help="Back by a span from now: 90s, 2h, 1d.")
]
_ToCurrent = Annotated[
    bool, typer.Option("--to-current", help="Keep offsets, clamped to each queue's range; gives every queue one.")
]
_ToOffset = Annotated[int | None, typer.Option("--to-offset", metavar="OFFSET", min=0, help="One queue offset.")]
_ShiftBy = Annotated[
    int | None, typer.Option("--shift-by", metavar="COUNT", help="Move by this many messages; -100 goes back by 100.")
]
_FromFile = Annotated[
    Path | None,
    typer.Option("--from-file", metavar="FILE", help="A plan of --export, or a CSV: topic,broker_name,queue_id,new"),
]
_Resume = Annotated[
    str | None, typer.Option("--resume", metavar="ID", help="Finish a change that was stopped in the middle.")
]
_Export = Annotated[
    Path | None, typer.Option("--export", metavar="FILE", help="Write the plan to a .json or .csv file.")
]
_Queues = Annotated[
    list[int] | None, typer.Option("-q", "--queue", metavar="ID", min=0, help="Only this queue; may be repeated.")
]
_Brokers = Annotated[
    list[str] | None, typer.Option("--broker", metavar="NAME", help="Only this broker; may be repeated.")
]


def command(
    group: Annotated[str | None, typer.Option("-g", "--group", metavar="GROUP", help="Which consumer group.")] = None,
    topic: GroupsTopicOption = None,
    to_time: _ToTime = None,
    by_duration: _ByDuration = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The first message that is still there.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end: skips the backlog.")] = False,
    to_current: _ToCurrent = False,
    to_offset: _ToOffset = None,
    shift_by: _ShiftBy = None,
    from_file: _FromFile = None,
    resume: _Resume = None,
    export: _Export = None,
    queues: _Queues = None,
    brokers: _Brokers = None,
    with_retry: Annotated[bool, typer.Option("--with-retry", help="The group's retry topic as well.")] = False,
    clamp: Annotated[bool, typer.Option("--clamp", help="Take the nearest bound for offsets outside a queue.")] = False,
    execute: ExecuteOption = False,
    confirm: ConfirmOption = None,
    settle: SettleOption = None,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Plan new offsets for a group, show what that replays and skips; with --execute, set them.

    Times are exact: each queue starts at the first message stored at or after the instant. Without members, offsets are
    committed at the brokers. With members, 5.x brokers with server-side reset move them. Otherwise the members are
    asked to restart from a time, earliest or latest, for all queues of a topic; each broker searches for itself, so
    consumption may restart slightly before the instant, never after it. Each queue is read back until it is confirmed,
    and a journal keeps the old offsets. Exit code 2: stopped in the middle; --resume finishes it.
    """
    target = _target(to_time, by_duration, to_earliest, to_latest, to_current, to_offset, shift_by)
    request = _request(group, topic, target, brokers, queues, from_file, resume, with_retry=with_retry, clamp=clamp)
    from mqctl.changes.offsets.change import consent_of, run_offset_change
    from mqctl.cli.sources.brokers import asking_of

    connected_to = cluster_target(namesrv, profile, timeout)
    with connected_to.open() as cluster:
        asking = asking_of(cluster, connected_to)
        if not request.topics:
            from mqctl.changes.offsets.only_topic import only_topic

            topics = _topics(only_topic(asking, request.group), request.group, with_retry=with_retry)
            request = replace(request, topics=topics)
        done = run_offset_change(asking, request, consent_of(confirm, settle, execute=execute, export=export))
    emit(done.document, output)
    return done.code


def _request(
    group: str | None,
    topic: str | None,
    target: list[Target],
    brokers: list[str] | None,
    queues: list[int] | None,
    from_file: Path | None,
    resume: str | None,
    *,
    with_retry: bool,
    clamp: bool,
) -> OffsetRequest:
    given = len(target) + (from_file is not None) + (resume is not None)
    if given != 1:
        raise UsageError(
            sentence("offset-no-target-given", "no target given")
            if not given
            else sentence("offset-targets-given", "{given} targets given", given=given),
            remedy=sentence(
                "offset-use-time-duration-earliest",
                "use one of --to-time, --by-duration, --to-earliest, --to-latest, --to-current, "
                "--to-offset, --shift-by, --from-file, --resume",
            ),
        )
    if not target and (brokers or queues or with_retry):
        raise UsageError(
            sentence("offset-file-change-names-own", "a file or a change names its own queues"),
            remedy=sentence("offset-leave-broker-queue-retry", "leave --broker, --queue, --with-retry out"),
        )
    from mqctl.changes.engine.run import journal
    from mqctl.changes.offsets.planning import OffsetRequest
    from mqctl.changes.offsets.requests import file_request, resume_request

    if resume is not None:
        return resume_request(journal().offsets.read(resume))
    if from_file is not None:
        return file_request(from_file, group, topic, clamp=clamp)
    if group is None:
        raise UsageError(
            sentence("offset-no-group-named", "no group is named"),
            remedy=sentence("offset-add-group-topic-where", "add -g GROUP, and -t TOPIC where it has several"),
        )
    return OffsetRequest(
        group=group,
        topics=_topics(topic, group, with_retry=with_retry) if topic is not None else (),
        target=target[0],
        brokers=frozenset(brokers or ()),
        queue_ids=frozenset(queues or ()),
        clamp=clamp,
    )


def _topics(topic: str, group: str, *, with_retry: bool) -> tuple[str, ...]:
    return (topic, retry_topic(group)) if with_retry else (topic,)


def _target(
    to_time: str | None,
    by_duration: str | None,
    to_earliest: bool,  # noqa: FBT001 - as typer gives them
    to_latest: bool,  # noqa: FBT001
    to_current: bool,  # noqa: FBT001
    to_offset: int | None,
    shift_by: int | None,
) -> list[Target]:
    from mqctl.changes.plan.offsets import ShiftBy, ToCurrent, ToEarliest, ToLatest, ToOffset

    targets: list[Target] = []
    if to_time is not None or by_duration is not None:
        targets += _times(to_time, by_duration)
    targets += [ToEarliest()] if to_earliest else []
    targets += [ToLatest()] if to_latest else []
    targets += [ToCurrent()] if to_current else []
    targets += [ToOffset(to_offset)] if to_offset is not None else []
    targets += [ShiftBy(shift_by)] if shift_by is not None else []
    return targets


def _times(to_time: str | None, by_duration: str | None) -> list[Target]:
    from mqctl.changes.plan.offsets import ToTime
    from mqctl.cli.times import parse_instant

    now = datetime.now().astimezone()
    moments = []
    for text in [to_time] if to_time is not None else []:
        moments.append(parse_instant(text, now))
    if by_duration is not None:
        moments.append(parse_instant(f"-{by_duration}", now))
    for moment in moments:
        if moment.epoch_ms > round(now.timestamp() * 1000):
            raise UsageError(
                sentence("offset-future", "{moment} is in the future", moment=moment.text),
                remedy=sentence("offset-latest-skips-all-now", "--to-latest skips all messages stored so far"),
            )
        tell(sentence("offset-moment", "mqctl: to {moment}", moment=moment.text))
    return [ToTime(moment.epoch_ms, moment.text) for moment in moments]
