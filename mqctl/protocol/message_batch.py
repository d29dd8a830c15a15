"""The body of a batch send: messages of one topic and queue, one behind the other (`MessageDecoder.encodeMessages`)."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError

from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.message_record import RecordError
from mqctl.text import sentence

_HEAD = Struct(">iiiii")
_SHORT = Struct(">h")
_FIXED_BYTES = 22


@dataclass(frozen=True, slots=True)
class BatchElement:
    """One message of a batch, its properties still text."""

    body: bytes
    properties_text: str = ""
    flag: int = 0


def encode_batch(elements: Iterable[BatchElement]) -> bytes:
    """Encodes a batch body; magic and CRC are 0, as Java clients leave them.

    Raises:
        RecordError: properties are longer than their length field can say.
    """
    parts: list[bytes] = []
    for element in elements:
        properties = element.properties_text.encode()
        size = _FIXED_BYTES + len(element.body) + len(properties)
        try:
            tail = _SHORT.pack(len(properties))
        except StructError:
            raise RecordError(
                sentence("wire-batch-written", "A batch cannot be written"),
                reason=sentence("wire-properties-message-too-long", "properties of a message are too long"),
            ) from None
        parts += (_HEAD.pack(size, 0, 0, element.flag, len(element.body)), element.body, tail, properties)
    return b"".join(parts)


def decode_batch(data: bytes) -> list[BatchElement]:
    """Decodes a batch body.

    Raises:
        RecordError: the lengths contradict each other.
    """
    elements: list[BatchElement] = []
    position = 0
    try:
        while position < len(data):
            size, _, _, flag, body_size = _HEAD.unpack_from(data, position)
            body_at = position + _HEAD.size
            (properties_size,) = _SHORT.unpack_from(data, body_at + body_size)
            properties_at = body_at + body_size + 2
            end = properties_at + properties_size
            if body_size < 0 or properties_size < 0 or end > len(data) or size != end - position:
                raise RecordError(
                    sentence("wire-batch-read", "A batch cannot be read"),
                    reason=sentence(
                        "wire-lengths-byte-disagree", "the lengths at byte {position} disagree", position=position
                    ),
                )
            text = str(data[properties_at:end], "utf-8", "replace")
            elements.append(BatchElement(data[body_at : body_at + body_size], text, flag))
            position = end
    except StructError:
        raise RecordError(
            sentence("wire-batch-read", "A batch cannot be read"),
            reason=sentence(
                "wire-message-byte-cut-off", "the message at byte {position} is cut off", position=position
            ),
        ) from None
    return elements
