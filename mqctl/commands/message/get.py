"""`mqctl message get`: messages by id or key."""

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
from mqctl.commands.message.searching import (
    can_be_id,
    find_by_id,
    look_up_everywhere,
    topics_to_search,
    tracks_of,
)
from mqctl.commands.message.trace_view import with_tracks
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.gap import Gap, Part
from mqctl.model.spans import FAR
from mqctl.render.messages_view import found_document
from mqctl.snapshot.live.messages import KeyQuery, broker_names
from mqctl.text import sentence

EXAMPLES = (
    "mqctl message get 7F00000100002A9F0000000000000000",
    "mqctl message get C0000202000018B4AAC27C6D0A4A0001 -t orders --body json",
    "mqctl message get order-4711",
    "mqctl message get -t orders --key order-4711 --since -2h -o json",
    "mqctl message get -t orders --unique-key C0000202000018B4AAC27C6D0A4A0001",
)


_TopicOption = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--topic",
        metavar="TOPIC",
        help="Which topic; a unique id needs one. For a key without it all of applications, where they are 64 or less.",
    ),
]


def command(
    word: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Offset id (of a send result) or unique id; else it is a key."),
    ] = None,
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
    """Show messages by id, or by key through the brokers' index files, oldest first.

    Both kinds of id look alike: an id that names a broker is looked up there first. An unknown id ends with 66; an
    unknown key gives an empty list.

    Messages that still wait for their delay are listed last, with the delay level, or the timer of 5.x, and the time
    they are due. If exactly one message is found, the table also shows which groups have passed it, as `mqctl message
    trace` does.
    """
    if (word, key, unique_key).count(None) != 2:
        raise UsageError(
            sentence("say-messages", "say which messages"),
            remedy=sentence("message-give-id-or-key", "give an id, or one of --key and --unique-key"),
        )
    by_id = word is not None and can_be_id(word)
    if by_id and (since or until):
        raise UsageError(sentence("message-times-with-key", "--since and --until choose among messages with a key"))
    now = datetime.now().astimezone()
    query = KeyQuery(
        topic=topic or "",
        key=key or unique_key or word or "",
        begin_ms=parse_instant(since, now).epoch_ms if since else 0,
        end_ms=parse_instant(until, now).epoch_ms if until else FAR,
        count=count,
    )
    target = cluster_target(namesrv, profile, timeout)
    with target.open() as cluster:
        asking = asking_of(cluster, target)
        topics = [query.topic] if topic or by_id else topics_to_search(asking)
        if by_id:
            messages, errors = find_by_id(asking, query.key, topic)
        else:
            messages, errors = look_up_everywhere(asking, query, topics, unique=unique_key is not None)
        names = broker_names(asking) if messages else {}
        tracks = tracks_of(asking, messages) if output in (Output.TABLE, Output.WIDE) else []
    if by_id and not messages and not errors:
        raise _no_such_id(query.key, topic)
    gaps = [Gap.of(Part.MESSAGES, error) for error in errors]
    what = (
        sentence("delay-key", "key {key}", key=query.key)
        if unique_key is None and not by_id
        else sentence("message-sought-unique-id", "unique id {key}", key=query.key)
    )
    sought = (
        what
        if by_id
        else sentence("message-sought-in", "the {what} in {topic}", what=what, topic=topic)
        if topic
        else sentence(
            "message-sought-anywhere", "the {what} in any of {topics}", what=what, topics=counted(len(topics), "topic")
        )
    )
    document = found_document(messages, body, names, sought=sought, now_ms=round(now.timestamp() * 1000))
    return answer(with_tracks(document, tracks), gaps, output)


def _no_such_id(message_id: str, topic: str | None) -> NotFoundError:
    remedy = sentence("message-expired-or-traced", "it may have expired; mqctl message trace shows what clients traced")
    if topic is None:
        again = command_line("mqctl message get {} -t TOPIC", message_id)
        remedy = sentence(
            "message-again-by-unique-id", "{again}, if it is a unique id; else it may have expired", again=again
        )
    return NotFoundError(
        sentence("no-message-message-id", "there is no message {message_id}", message_id=message_id), remedy=remedy
    )
