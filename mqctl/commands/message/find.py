"""`mqctl message find`: messages by key."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from mqctl.cli.connection.target import NamesrvOption, ProfileOption, TimeoutOption, cluster_target
from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.common import BodyOption, NoColorOption, OutputOption
from mqctl.cli.sources.brokers import asking_of
from mqctl.cli.times import parse_instant
from mqctl.commands.message.searching import look_up_everywhere, topics_to_search, tracks_of
from mqctl.commands.message.trace_view import with_tracks
from mqctl.errors import UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.counts import counted
from mqctl.model.gap import Gap, Part
from mqctl.model.spans import FAR
from mqctl.render.messages_view import found_document
from mqctl.snapshot.live.messages import KeyQuery, broker_names
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message find -t orders --key order-4711",
    "mqctl message find -t orders --key order-4711 --since -2h -o json",
    "mqctl message find order-4711",
    "mqctl message find -t orders --unique-key C0000202000018B4AAC27C6D0A4A0001",
)


_TopicOption = Annotated[
    str | None,
    typer.Option(
        "-t", "--topic", metavar="TOPIC", help="Which topic; without it all of applications, where they are 64 or less."
    ),
]


def command(
    topic: _TopicOption = None,
    key: Annotated[str | None, typer.Option("--key", help="One of the message's KEYS.")] = None,
    unique_key: Annotated[str | None, typer.Option("--unique-key", help="The producer's unique id.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Stored at or after this time.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Stored before this time.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=64, help="How many at most; brokers give 64.")] = 64,
    body: BodyOption = BodyForm.TEXT,
    namesrv: NamesrvOption = None,
    profile: ProfileOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Find messages by key through the brokers' index files, oldest first. Nothing found is an empty list.

    Messages that still wait for their delay come last, with the delay level, or the timer of 5.x, and when they are
    due. Of a single message people see which groups are past it, as `mqctl message trace` judges it.
    """
    if (key is None) == (unique_key is None):
        raise UsageError(
            sentence("say-messages", "say which messages"),
            remedy=sentence("message-use-key-unique", "use one of --key and --unique-key"),
        )
    now = datetime.now().astimezone()
    query = KeyQuery(
        topic=topic or "",
        key=key or unique_key or "",
        begin_ms=parse_instant(since, now).epoch_ms if since else 0,
        end_ms=parse_instant(until, now).epoch_ms if until else FAR,
        count=count,
    )
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        topics = [topic] if topic else topics_to_search(asking)
        messages, errors = look_up_everywhere(asking, query, topics, unique=key is None)
        names = broker_names(asking) if messages else {}
        tracks = tracks_of(asking, messages) if output in (Output.TABLE, Output.WIDE) else []
    gaps = [Gap.of(Part.MESSAGES, error) for error in errors]
    what = (
        sentence("message-sought-unique-id", "unique id {key}", key=query.key)
        if key is None
        else sentence("delay-key", "key {key}", key=query.key)
    )
    sought = (
        sentence("message-sought-in", "the {what} in {topic}", what=what, topic=topic)
        if topic
        else sentence(
            "message-sought-anywhere", "the {what} in any of {topics}", what=what, topics=counted(len(topics), "topic")
        )
    )
    document = found_document(messages, body, names, sought=sought, now_ms=round(now.timestamp() * 1000))
    return answer(with_tracks(document, tracks), gaps, output)
