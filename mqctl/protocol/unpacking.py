"""Messages with their ids and unpacked bodies, as many as one page or one search holds in memory."""

from __future__ import annotations

from mqctl.model.message import Message
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.compression import MAX_BODY_BYTES, CompressionError, decompress
from mqctl.protocol.message_id import OffsetId
from mqctl.text import sentence

TOTAL_BYTES = 512 * 1024 * 1024


class Unpacker:
    """Unpacks bodies that are kept together, within one limit for all of them.

    A body has a limit of its own, but a frame can hold thousands of bodies that stay just below it: 4 KiB of zstd can
    mean 64 MiB each. What counts is what unpacking adds; bodies that are not compressed are as large as what was read.

    Args:
        total_bytes: what all bodies together may become larger than they were stored. Further ones are left packed
            and say so.
    """

    def __init__(self, total_bytes: int = TOTAL_BYTES) -> None:
        self._total_bytes = self._left_bytes = total_bytes

    def stored(self, message: Message) -> StoredMessage:
        """Joins a message with its offset id and its unpacked body, or with why there is none."""
        message_id = str(OffsetId(message.store_host, message.physical_offset))
        packed_bytes = len(message.body)
        room = min(MAX_BODY_BYTES, self._left_bytes + packed_bytes)
        try:
            body = decompress(message.body, message.sys_flag, max_bytes=room)
        except CompressionError as error:
            reason = error.reason or error.problem
            if room < MAX_BODY_BYTES and error.is_too_large:
                reason = sentence(
                    "wire-bodies-unpack-to-more",
                    "this and the bodies before it unpack to more than {total_bytes:byte}",
                    total_bytes=self._total_bytes,
                )
            return StoredMessage(message, message_id, message.body, reason)
        self._left_bytes -= max(0, len(body) - packed_bytes)
        return StoredMessage(message, message_id, body)

    def forget(self, item: StoredMessage) -> None:
        """Takes back the room of a message that is not kept."""
        self._left_bytes += max(0, len(item.body) - len(item.message.body))
