"""One message by its id, whichever kind of id it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.client.admin.nameserver import topic_names
from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.message_track import Track
from mqctl.model.names import is_retry_topic, is_system_topic
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.message_id import MessageIdError, OffsetId
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.delayed import look_up, with_due
from mqctl.snapshot.live.messages import KeyQuery, by_offset_id
from mqctl.snapshot.message_trace import gather_tracks
from mqctl.text import sentence

_BY_KEY = sentence("find-by-key", "for a key: mqctl message trace KEY -t TOPIC, or mqctl message get KEY -t TOPIC")

_NAMED = 5
_SEARCHED = 64


def can_be_id(text: str) -> bool:
    """Tells whether a text has the form of an id, of either kind."""
    try:
        OffsetId.parse(text)
    except MessageIdError:
        return False
    return True


def check_id(text: str) -> None:
    """Passes for what can be an id of either kind: they look alike.

    Raises:
        UsageError: it can be none.
    """
    try:
        OffsetId.parse(text)
    except MessageIdError as error:
        raise UsageError(error.problem, reason=error.reason, remedy=_BY_KEY) from error


def topics_to_search(asking: Asking) -> list[str]:
    """Returns the topics of applications. Raises UsageError: they are too many to search each."""
    names = asking.cluster.name_servers.ask(topic_names(), asking.deadline)
    topics = sorted(name for name in names if not is_system_topic(name) and not is_retry_topic(name))
    if len(topics) > _SEARCHED:
        raise UsageError(
            sentence("no-topic-named", "no topic is named"),
            reason=sentence(
                "message-indexes-topic", "indexes are by topic, and there are {topics:,}", topics=len(topics)
            ),
            remedy=sentence("add-topic", "add -t TOPIC"),
        )
    return topics


def look_up_everywhere(
    asking: Asking, query: KeyQuery, topics: Sequence[str], *, unique: bool
) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Looks a key up in each topic.

    Raises:
        NotFoundError: the only topic is not there, or it and the key were typed in the other's place.
    """
    seen: list[StoredMessage] = []
    errors: dict[str, MqctlError] = {}
    for topic in topics:
        try:
            messages, failed = look_up(asking, replace(query, topic=topic), unique=unique)
        except NotFoundError as error:
            if query.key not in asking.cluster.name_servers.ask(topic_names(), asking.deadline):
                raise
            swapped = command_line("mqctl message get {} -t {}", topic, query.key)
            raise NotFoundError(
                sentence("no-topic", "there is no topic {topic}", topic=topic),
                reason=sentence("message-topic", "{key} is a topic", key=query.key),
                remedy=swapped,
            ) from error
        seen += messages
        errors |= {str(error): error for error in failed}
    return seen[: query.count], list(errors.values())


def tracks_of(asking: Asking, messages: Sequence[StoredMessage]) -> list[Track]:
    """Returns which groups are past the only message that was found.

    None where there are several or none, where it waits to be delivered, and where not everything was told in what is
    left of the time: `message trace` says then what is missing.
    """
    if len(messages) != 1 or messages[0].waiting is not None:
        return []
    try:
        tracks, gaps = gather_tracks(asking, messages[0].message)
    except MqctlError:  # what was asked for is there; this is more than that
        return []
    return [] if gaps else tracks


def id_of(asking: Asking, text: str, topic: str) -> str:
    """Returns `text` when it can be an id, else the id of the only message of `topic` that has it as a key.

    Raises:
        NotFoundError: no message has the key, and every broker was asked.
        UsageError: several messages have it; their ids are named.
        MqctlError: a broker could not be asked, so that another message may have the key.
    """
    if can_be_id(text):
        return text
    matches, errors = look_up(asking, KeyQuery(topic=topic, key=text), unique=False)
    ids = dict.fromkeys(one.message.unique_key or one.message_id for one in matches)
    if len(ids) > 1:
        find = command_line("mqctl message get {} -t {}", text, topic)
        raise UsageError(
            sentence(
                "messages-key", "{ids} messages of {topic} have the key {text}", ids=len(ids), topic=topic, text=text
            ),
            reason=", ".join(list(ids)[:_NAMED]) + (", ..." if len(ids) > _NAMED else ""),
            remedy=sentence("message-trace-id-shows", "trace one of them by its id; {find} shows them", find=find),
        )
    if errors:
        raise errors[0]
    if not ids:
        raise NotFoundError(
            sentence("no-message-key", "no message of {topic} has the key {text}", topic=topic, text=text),
            remedy=sentence("message-expired", "it may have expired"),
        )
    return next(iter(ids))


def find_by_id(asking: Asking, message_id: str, topic: str | None) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Looks an id up: at the broker it names, else as a unique id on `topic`.

    Returns:
        the message (several after retries), and why a broker could not be asked.

    Raises:
        UsageError: it is no id.
        NotFoundError: it names a broker that is not there, and no topic is given.
    """
    check_id(message_id)
    try:
        messages = by_offset_id(asking, message_id, asking.cluster.brokers(asking.deadline))
    except NotFoundError:  # it names no broker of this cluster: a unique id, then
        if topic is None:
            raise
        messages = []
    if messages or topic is None:
        return with_due(asking, messages)
    return look_up(asking, KeyQuery(topic=topic, key=message_id), unique=True)
