"""Whether a message is where a broker answered that it stored it: SEND_OK is an answer, no proof.

A broker whose disk fails, that dies before it flushes, or that something answers for, says SEND_OK as well.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from mqctl.client.admin.broker_messages import message_at, says_no_message
from mqctl.client.message.outgoing import SendResult
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.protocol.message_id import MessageIdError, OffsetId
from mqctl.text import sentence

_LOOKS = 3
_BETWEEN_LOOKS_MS = 200
"""With `transientStorePoolEnable` a broker cannot read what it has not committed yet (`commitIntervalCommitLog`)."""

Ask = Callable[[str, Question[Message]], Message]
"""Asks the broker at an address. Raises MqctlError."""


class Found(Enum):
    """What became of a message whose send was answered."""

    STORED = "stored"
    NOT_READ_BACK = "answered, not read back"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What was found, and why it is not `STORED`."""

    found: Found
    reason: str | None = None


def read_back(result: SendResult, ask: Ask, pause: Callable[[int], None]) -> ReadBack:
    """Looks for a message at its broker, by the offset id that this answered.

    Args:
        result: of one message, no batch.
        pause: waits so many milliseconds.
    """
    back = ReadBack(Found.GONE)
    for look in range(_LOOKS):
        if look:
            pause(_BETWEEN_LOOKS_MS)
        back = _looked(result, ask)
        if back.found is not Found.GONE:
            return back
    return back


def _looked(result: SendResult, ask: Ask) -> ReadBack:
    try:
        message = ask(result.address, message_at(OffsetId.parse(result.offset_id).physical_offset))
    except MessageIdError as error:
        return ReadBack(Found.NOT_READ_BACK, sentence("not-read-back", "answered, not read back: {error}", error=error))
    except MqctlError as error:
        if says_no_message(error):
            return _gone(result)
        return ReadBack(Found.NOT_READ_BACK, sentence("not-read-back", "answered, not read back: {error}", error=error))
    return ReadBack(Found.STORED) if message.unique_key == result.message_id else _gone(result)


def _gone(result: SendResult) -> ReadBack:
    return ReadBack(
        Found.GONE,
        sentence(
            "answered-stored-but-gone",
            "gone: {address} answered {status}, and has no such message at {offset_id}",
            address=result.address,
            status=result.status.name,
            offset_id=result.offset_id,
        ),
    )
