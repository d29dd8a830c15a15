"""`mqctl timeline`: what happened, in order, from a recording."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options.common import (
    BrokersOption,
    GroupOption,
    LangOption,
    NoColorOption,
    OutputOption,
    TopicOption,
)
from mqctl.cli.options.limit import LimitOption, most_of
from mqctl.cli.times import parse_instant, parse_span_ms
from mqctl.errors import ExitCode, UsageError
from mqctl.model.spans import FAR
from mqctl.text import sentence

EXAMPLES = (
    "mqctl timeline --recording /var/lib/mqctl/prod --since 'yesterday 02:00' --until 'today 06:00'",
    "mqctl timeline --recording /var/lib/mqctl/prod --since -12h -g order-service",
    "mqctl timeline --recording /var/lib/mqctl/prod --since -1d --html night.html",
    "mqctl timeline --recording s3://ops/rocketmq/prod --since -1d -o json | jq '.events[] | select(.who)'",
)


def command(
    recording: Annotated[str, typer.Option("--recording", metavar="DIR", help="A directory or URL of `mqctl record`.")],
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Start of the time to show.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Until when.")] = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    broker: BrokersOption = None,
    backlog: Annotated[
        int, typer.Option("--backlog", metavar="N", min=1, help="Messages behind from which a backlog counts.")
    ] = 1_000,
    stopped: Annotated[
        str,
        typer.Option(
            "--stopped", metavar="SPAN", help="An offset with lag that does not move for this long has stopped."
        ),
    ] = "5m",
    causes: Annotated[
        int, typer.Option("--causes", metavar="N", min=0, help="Moments at which the rules are asked for a cause.")
    ] = 3,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write one page with charts to scroll and zoom.")
    ] = None,
    limit: LimitOption = None,
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the events of a cluster in order, from a recording.

    Events: members that joined, left or flapped, queues that changed owner, subscriptions and settings, offsets that
    stopped, were skipped or went back, backlogs with their cause, brokers, disks, and changes made with mqctl from this
    machine. Times without a recording are marked. If not all events fit, the gravest are shown; machine formats have
    all. Ends with 74 if files of the recording could not be read; the rest is used.
    """
    from mqctl.recording.libraries import require_libraries

    stopped_ms = parse_span_ms(stopped)
    now = datetime.now().astimezone()
    since_ms, until_ms = _moment(since, -FAR, now, "since"), _moment(until, FAR, now, "until")
    if since_ms >= until_ms:
        raise UsageError(
            sentence("timeline-since-must-before-until", "--since must be before --until"),
            remedy=sentence("timeline-name-earlier-time-first", "name the earlier time first"),
        )
    require_libraries()
    from mqctl.commands.timeline.telling import read_timeline, write_page
    from mqctl.recording.timeline.question import TimelineQuestion

    question = TimelineQuestion(
        since_ms=since_ms,
        until_ms=until_ms,
        groups=frozenset(group or ()),
        topics=frozenset(topic or ()),
        brokers=frozenset(broker or ()),
        backlog_count=backlog,
        stopped_ms=stopped_ms,
    )
    answer = read_timeline(recording, question, causes=causes, lang=lang)
    if html is not None:
        write_page(html, answer, lang, limit)
    from mqctl.commands.timeline.view import timeline_document

    people = output in (Output.TABLE, Output.WIDE)
    emit(timeline_document(answer.reported, most_of(limit, 40) if people or limit else None), output)
    return ExitCode.OK if answer.whole else ExitCode.IO


def _moment(text: str | None, unless_ms: int, now: datetime, name: str) -> int:
    """Parses a time and says how it was understood."""
    if text is None:
        return unless_ms
    moment = parse_instant(text, now)
    tell(f"mqctl: {name} {moment.text}")
    return moment.epoch_ms
