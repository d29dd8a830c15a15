"""The two kinds of message ids, both upper-case hexadecimal and of the same length.

An offset id is the store host and the physical offset; a unique id (property UNIQ_KEY) is made by the producer from its
address, its process and a clock. Source: `MessageDecoder.createMessageId` and `MessageClientIDSetter` of 4.9.8.
"""

from __future__ import annotations

from struct import Struct

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.message_record import RecordError, pack_host
from mqctl.text import sentence

_OFFSET = Struct(">q")
_UNIQUE = Struct(">HIIH")
_IPV4, _IPV6 = 4, 16
_OFFSET_ID_LENGTHS = {32, 56}


class MessageIdError(BadInputError):
    """Text that is no message id."""


def _bytes(text: str) -> bytes:
    if len(text) not in _OFFSET_ID_LENGTHS:
        raise MessageIdError(
            sentence("wire-no-message-id", "{text!r} is not a message id", text=text),
            reason=sentence("wire-id-digits", "message ids have 32 or 56 hexadecimal digits"),
        )
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if 2 * len(data) != len(text):  # `fromhex` passes over blanks
        raise MessageIdError(
            sentence("wire-no-message-id", "{text!r} is not a message id", text=text),
            reason=sentence("wire-id-not-hexadecimal", "it is not hexadecimal"),
        )
    return data


def _address(packed: bytes) -> str:
    if len(packed) == _IPV4:
        return ".".join([str(part) for part in packed])
    from ipaddress import IPv6Address

    return f"[{IPv6Address(packed)}]"


@dataclass(frozen=True, slots=True)
class OffsetId:
    """Store host (`ip:port`) and physical offset of a message."""

    host: str
    physical_offset: int

    def __str__(self) -> str:
        return (pack_host(self.host) + _OFFSET.pack(self.physical_offset)).hex().upper()

    @classmethod
    def parse(cls, text: str) -> OffsetId:
        """Reads an offset id; a unique id reads as well, and means nothing then. Raises MessageIdError."""
        data = _bytes(text)
        port = int.from_bytes(data[-12:-8], "big", signed=True)
        return cls(f"{_address(data[:-12])}:{port}", _OFFSET.unpack(data[-8:])[0])


@dataclass(frozen=True, slots=True)
class UniqueId:
    """Parts of a unique id.

    Attributes:
        address: IP of the producer (IPv6 in brackets).
        process: low 16 bits of its process id.
        loader: hash of its class loader; any number that tells instances of one process apart.
        month_ms: milliseconds since the start of the producer's month, in its own zone.
        counter: low 16 bits of a counter.
    """

    address: str
    process: int
    loader: int
    month_ms: int
    counter: int

    def __str__(self) -> str:
        try:
            host = pack_host(f"{self.address}:0")[:-4]
        except RecordError as error:
            raise MessageIdError(
                sentence("wire-message-id-written", "A message id cannot be written"), reason=error.reason
            ) from None
        parts = _UNIQUE.pack(
            self.process & 0xFFFF, self.loader & 0xFFFFFFFF, self.month_ms & 0xFFFFFFFF, self.counter & 0xFFFF
        )
        return (host + parts).hex().upper()

    @classmethod
    def parse(cls, text: str) -> UniqueId:
        """Reads a unique id; an offset id reads as well, and means nothing then. Raises MessageIdError."""
        data = _bytes(text)
        return cls(_address(data[: -_UNIQUE.size]), *_UNIQUE.unpack(data[-_UNIQUE.size :]))
