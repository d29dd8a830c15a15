"""One message by its id, whichever kind of id it is."""

from __future__ import annotations

from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.message_id import MessageIdError, OffsetId
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import KeyQuery, by_offset_id, by_unique_key

_BY_KEY = "mqctl message find -t TOPIC --key KEY looks for a key; ids are in send results and in message peek"


def check_id(text: str) -> None:
    """Passes for what can be an id of either kind: they look alike.

    Raises:
        UsageError: it can be none.
    """
    try:
        OffsetId.parse(text)
    except MessageIdError as error:
        raise UsageError(error.problem, reason=error.reason, remedy=_BY_KEY) from error


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
        found = by_offset_id(asking, message_id, asking.cluster.brokers(asking.deadline))
    except NotFoundError:  # it names no broker of this cluster: a unique id, then
        if topic is None:
            raise
        found = []
    if found or topic is None:
        return found, []
    return by_unique_key(asking, KeyQuery(topic=topic, key=message_id))
