"""`message trace`: the message, its traces and its tracks from one id."""

from __future__ import annotations

from mqctl.commands.message.searching import find_by_id, look_up_everywhere, topics_to_search
from mqctl.commands.message.trace_view import NOT_LOOKED_FOR, TraceReport
from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.stored_message import StoredMessage
from mqctl.render.messages_view import shown_message
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.delayed import look_up
from mqctl.snapshot.live.messages import KeyQuery, broker_names
from mqctl.snapshot.message_trace import Traced, consumptions, gather_traces, gather_tracks, traced_sends
from mqctl.text import sentence


def trace_message(
    asking: Asking, message_id: str, topic: str | None, trace_topic: str, form: BodyForm
) -> tuple[TraceReport, list[Gap]]:
    """Gathers what is known of a message.

    The topic of a unique id is the one that its traces name, else it is looked up in all topics of applications:
    consumers of 4.9 trace without a topic.

    Raises:
        UsageError: it is no id.
        NotFoundError: neither the message nor a trace of it is there, and everybody was asked.
    """
    message, errors = _look_up(asking, message_id, topic)
    unique_id = message.message.unique_key if message else message_id
    traced: list[Traced] = []
    unreadable, has_topic = 0, True
    if unique_id is not None:
        try:
            traced, unreadable, failed = gather_traces(asking, unique_id, trace_topic)
            errors += failed
        except NotFoundError:
            has_topic = False
    topics = [topic] if topic else sorted({item.record.topic for item in traced if item.record.topic})
    if message is None and topic is None:
        topics = topics or _topics(asking)
        try:
            matches, failed = look_up_everywhere(asking, KeyQuery(topic="", key=message_id), topics, unique=True)
        except NotFoundError:  # its topic was deleted
            matches, failed = [], []
        message = matches[0] if matches else None
        errors += failed
    if message is None and not traced and not errors:
        raise NotFoundError(
            sentence(
                "message-not-found-nor",
                "message {message_id} not found, nor a trace of it",
                message_id=message_id,
            ),
            reason="" if topics else sentence("message-look-up-unique-id", "to look up a unique id, add -t TOPIC"),
            remedy=sentence("message-expired", "it may have expired")
            if topics
            else command_line("mqctl message trace {} -t TOPIC", message_id),
        )
    tracks, gaps = gather_tracks(asking, message.message) if message and message.waiting is None else ([], [])
    report = TraceReport(
        unique_id=unique_id,
        message=shown_message(message, form, broker_names(asking)) if message else None,
        looked_everywhere=not errors,
        searched_topic_count=len(topics),
        traced=has_topic,
        sends=traced_sends(traced),
        consumptions=consumptions(traced),
        unreadable_count=unreadable,
        tracks=tracks,
    )
    if message is None and not topics:
        errors.append(UsageError(NOT_LOOKED_FOR))
    return report, [*gaps, *(Gap.of(Part.MESSAGES, error) for error in errors)]


def _topics(asking: Asking) -> list[str]:
    """Returns the topics in which an id is looked up whose topic is not known; none where they are too many."""
    try:
        return topics_to_search(asking)
    except UsageError:
        return []


def _look_up(asking: Asking, message_id: str, topic: str | None) -> tuple[StoredMessage | None, list[MqctlError]]:
    """Returns the first message with the id. Raises NotFoundError when there is no such topic."""
    if topic is not None:
        messages, errors = look_up(asking, KeyQuery(topic=topic, key=message_id), unique=True)
        if messages or errors:
            return (messages[0] if messages else None), errors
    try:
        messages, errors = find_by_id(asking, message_id, None)
    except NotFoundError:
        return None, []
    return (messages[0] if messages else None), errors
