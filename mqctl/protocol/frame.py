"""Frames of the remoting protocol: bytes in, commands out, and back; no sockets.

A frame is `total length | type byte and header length | header | body`, big-endian. The header is JSON or the binary
ROCKETMQ form, told apart frame by frame. Source: `RemotingCommand`, `RocketMQSerializable` and `NettyDecoder` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import isfinite
from struct import Struct
from struct import error as StructError

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.protocol.codes import V4_9_8, Language
from mqctl.protocol.fastjson import FastjsonError, dumps, json_string, loads
from mqctl.text import sentence

MAX_FRAME_BYTES = 16 * 1024 * 1024
FLAG_RESPONSE = 1
FLAG_ONEWAY = 2

_PREFIX = Struct(">iI")
_BINARY = Struct(">hBhiii")
_INT = Struct(">i")
_SHORT = Struct(">h")
_HEADER_MASK = 0xFFFFFF
_SMALL_BYTES = 4_096
"""Pieces of a frame that are smaller are joined at once: each costs as much again in memory."""
_LANGUAGES = {language.value: language for language in Language}
_LANGUAGE_NAMES = {language.name: language for language in Language}


class FrameError(BadInputError):
    """Bytes that are no frame: the connection that brought them has to be closed, without an answer.

    Attributes:
        frames: the whole commands that the same bytes held before the bad one.
    """

    frames: tuple[RemotingCommand, ...] = ()


class SerializeType(IntEnum):
    """How a header is written."""

    JSON = 0
    ROCKETMQ = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotingCommand:
    """One frame, decoded: a request or a response.

    Attributes:
        code: request code, or response code when bit 0 of `flag` is set.
        opaque: the requester's number of the call; a response repeats it.
        version: version ordinal of the sender (`mqctl.protocol.codes.version_text`).
        language: None for a language nobody knows.
        ext_fields: the typed header as text; None when there is none at all.
        body: empty when there is none.
    """

    code: int
    opaque: int = 0
    flag: int = 0
    version: int = V4_9_8
    language: Language | None = Language.PYTHON
    remark: str | None = None
    ext_fields: Mapping[str, str] | None = None
    body: bytes = b""
    serialize_type: SerializeType = SerializeType.JSON

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

    def ext(self, name: str) -> str | None:
        """Returns the ext field `name`, or None."""
        return self.ext_fields.get(name) if self.ext_fields else None

    def answer(
        self,
        code: int,
        *,
        remark: str | None = None,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        version: int = V4_9_8,
        language: Language = Language.PYTHON,
    ) -> RemotingCommand:
        """Builds the response to this request: same opaque, same kind of header."""
        return RemotingCommand(
            code=code,
            opaque=self.opaque,
            flag=FLAG_RESPONSE,
            version=version,
            language=language,
            remark=remark,
            ext_fields=ext_fields,
            body=body,
            serialize_type=self.serialize_type,
        )


class FrameDecoder:
    """Cuts a stream of bytes into commands.

    Either `feed` takes bytes and returns all commands that are complete, or `receive` takes them and `next_command`
    gives one command at a time, for a side that may stop in between.

    Args:
        max_frame_bytes: limit of one frame, its length field included.
        max_header_bytes: limit of its header, which costs far more to read than a body.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES, max_header_bytes: int = MAX_FRAME_BYTES) -> None:
        self._buffer = b""
        self._at = 0
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._wanted = 0
        self._max_bytes = max_frame_bytes
        self._max_header_bytes = max_header_bytes
        self._surely_fine = min(max_frame_bytes - 4, max_header_bytes)  # a header is no longer than its frame
        self._failure: FrameError | None = None

    @property
    def pending_bytes(self) -> int:
        """Bytes that were received and not given out as commands."""
        return len(self._buffer) - self._at + self._parts_bytes

    def receive(self, data: bytes | bytearray | memoryview) -> None:
        """Takes the next bytes of the stream.

        Those of a frame that has not ended are kept in pieces, each copied to what it needs: a buffer that grows, and
        one that was read into and cut, leave holes in memory that nobody can use, several times as large.
        """
        data = data if isinstance(data, bytes) else bytes(data)
        if not self._parts_bytes and self._at == len(self._buffer):
            self._buffer, self._at = data, 0
            return
        if self._parts and len(self._parts[-1]) < _SMALL_BYTES:
            self._parts[-1] += data
        else:
            self._parts.append(bytes(memoryview(data)))
        self._parts_bytes += len(data)

    def whole(self, data: bytes) -> RemotingCommand | None:
        """Returns the command where `data` is one frame and nothing is pending; else None. Raises FrameError."""
        length = int.from_bytes(data[:4], "big", signed=True)
        is_idle = not self._parts_bytes and self._at == len(self._buffer) and self._failure is None
        is_whole = length + 4 == len(data) and 4 <= length <= self._surely_fine
        return decode(data) if is_idle and is_whole else None

    def next_command(self) -> RemotingCommand | None:
        """Returns the next command, None while its frame is not complete.

        Raises:
            FrameError: the stream is broken here, for good.
        """
        if self._failure is not None:
            raise self._failure
        if self._parts_bytes:
            if self.pending_bytes < self._wanted:
                return None
            self._buffer, self._at = b"".join((self._buffer[self._at :], *self._parts)), 0
            self._parts.clear()
            self._parts_bytes = 0
        buffer, start = self._buffer, self._at
        size = len(buffer)
        if size - start < 4:
            self._wanted = 4
            return None
        length = int.from_bytes(buffer[start : start + 4], "big", signed=True)
        end = start + 4 + length
        try:
            if not 4 <= length <= self._surely_fine:
                self._check_lengths(buffer, start, end)
            if end > size:
                self._buffer, self._at, self._wanted = bytes(memoryview(buffer)[start:]), 0, end - start
                return None
            if end == size:
                self._buffer, self._at = b"", 0
            else:
                self._at = end
            return decode(buffer if end - start == size else buffer[start:end])
        except FrameError as error:
            self._failure = error
            self.clear()
            raise

    def clear(self) -> None:
        """Forgets what was received and not given out."""
        self._buffer, self._at = b"", 0
        self._parts.clear()
        self._parts_bytes = 0

    def feed(self, data: bytes | bytearray | memoryview) -> list[RemotingCommand]:
        """Takes the next bytes of the stream and returns the commands that are now complete.

        Raises:
            FrameError: the stream is broken here, for good; `frames` of the error holds what came before.
        """
        self.receive(data)
        commands: list[RemotingCommand] = []
        try:
            while (command := self.next_command()) is not None:
                commands.append(command)
        except FrameError as error:
            error.frames = tuple(commands)
            raise
        return commands

    def _check_lengths(self, buffer: bytes, start: int, end: int) -> None:
        total = end - start - 4
        if total < 4:
            raise FrameError(
                sentence("wire-frame-read", "A frame cannot be read"),
                reason=sentence("wire-frame-length-field", "its length field says {total}", total=total),
            )
        if total + 4 > self._max_bytes:
            word = _INT.pack(total)
            if word.isalpha() and word.isascii():
                named = (
                    sentence("wire-http-no-port", "HTTP: no RocketMQ port")
                    if word == b"HTTP"
                    else sentence("wire-no-frame", "no frame of RocketMQ's")
                )
                raise FrameError(
                    sentence("wire-frame-read", "A frame cannot be read"),
                    reason=sentence(
                        "wire-frame-begins",
                        "it begins with {word!r}, which is {named}",
                        word=word.decode(),
                        named=named,
                    ),
                )
            raise FrameError(
                sentence("wire-frame-read", "A frame cannot be read"),
                reason=sentence(
                    "wire-frame-over-limit",
                    "{total:byte is/are} more than the limit of {max_bytes:,}",
                    total=total + 4,
                    max_bytes=self._max_bytes,
                ),
            )
        header_bytes = int.from_bytes(buffer[start + 5 : start + 8], "big")
        if header_bytes > self._max_header_bytes:
            raise FrameError(
                sentence("wire-frame-read", "A frame cannot be read"),
                reason=sentence(
                    "wire-header-over-limit",
                    "{header_bytes:byte} of header {header_bytes:/is/are} more than the limit of {max_header_bytes:,}",
                    header_bytes=header_bytes,
                    max_header_bytes=self._max_header_bytes,
                ),
            )


def decode(frame: bytes) -> RemotingCommand:
    """Decodes one whole frame, length field included.

    Raises:
        FrameError: the bytes are no frame.
    """
    if len(frame) < 8:
        raise FrameError(
            sentence("wire-frame-read", "A frame cannot be read"),
            reason=sentence("wire-bytes-too-few", "{frame_count:byte is/are} too few", frame_count=len(frame)),
        )
    total, mark = _PREFIX.unpack_from(frame)
    kind, header_end = mark >> 24, 8 + (mark & _HEADER_MASK)
    if total + 4 != len(frame) or header_end > len(frame):
        raise FrameError(
            sentence("wire-frame-read", "A frame cannot be read"),
            reason=sentence(
                "wire-lengths-disagree-frame-header",
                "lengths disagree: frame {total}, header {header_end}, present {frame_count}",
                total=total,
                header_end=header_end - 8,
                frame_count=len(frame) - 4,
            ),
        )
    header, body = frame[8:header_end], frame[header_end:]
    try:
        if kind == SerializeType.JSON:
            return _decode_json(header, body)
        if kind == SerializeType.ROCKETMQ:
            return _decode_binary(header, body)
    except FastjsonError as error:  # also of what can be read just so, nested too deeply to be written again
        raise FrameError(sentence("wire-header-read", "A header cannot be read"), reason=str(error)) from None
    except StructError:
        raise FrameError(
            sentence("wire-binary-header-read", "A binary header cannot be read"),
            reason=sentence("wire-ends-too-early", "it ends too early"),
        ) from None
    raise FrameError(
        sentence("wire-frame-read", "A frame cannot be read"),
        reason=sentence("wire-serialize-type-unknown", "serialize type {kind} is unknown", kind=kind),
    )


def encode(command: RemotingCommand) -> bytes:
    """Encodes `command` as one frame, length field included; header keys in Java's order.

    Raises:
        FrameError: it is longer than peers accept, or a value does not fit the binary header.
    """
    if command.serialize_type is SerializeType.ROCKETMQ:
        try:
            header = _encode_binary(command)
        except StructError as error:
            raise FrameError(
                sentence("wire-command-too-large", "A command does not fit the binary header"), reason=str(error)
            ) from None
    else:
        header = _encode_json(command)
    total = 4 + len(header) + len(command.body)
    if total + 4 > MAX_FRAME_BYTES:
        raise FrameError(
            sentence("wire-frame-too-long-send", "A frame is too long to send"),
            reason=sentence(
                "wire-bytes-peers-accept",
                "{total:byte}, peers accept {max_frame_bytes:,}",
                total=total + 4,
                max_frame_bytes=MAX_FRAME_BYTES,
            ),
        )
    return b"".join((_PREFIX.pack(total, command.serialize_type << 24 | len(header)), header, command.body))


# JSON headers


def _decode_json(header: bytes, body: bytes) -> RemotingCommand:
    fields = loads(header)
    if not isinstance(fields, dict):
        raise FrameError(
            sentence("wire-header-read", "A header cannot be read"),
            reason=sentence("wire-no-json-object", "it is not a JSON object"),
        )
    get = fields.get
    language = get("language")
    remark = get("remark")
    return RemotingCommand(
        code=_integer(get("code")),
        opaque=_integer(get("opaque")),
        flag=_integer(get("flag")),
        version=_integer(get("version")),
        language=_LANGUAGE_NAMES.get(language) if isinstance(language, str) else _LANGUAGES.get(_integer(language)),
        remark=remark if remark is None or isinstance(remark, str) else _text(remark),
        ext_fields=_ext_fields(get("extFields")),
        body=body,
    )


def _integer(value: object) -> int:
    if isinstance(value, str):
        value = decimal(value or "0", -MOST_INT32 - 1)
    elif value is None or isinstance(value, float):
        value = int(value or 0) if value is None or isfinite(value) else None
    if type(value) is not int or not -0x80000000 <= value <= MOST_INT32:
        raise FrameError(
            sentence("wire-header-read", "A header cannot be read"),
            reason=sentence("wire-field-no-integer", "a field that must be an integer is none"),
        )
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _ext_fields(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise FrameError(
            sentence("wire-header-read", "A header cannot be read"),
            reason=sentence("wire-extfields-no-object", "extFields is not a JSON object"),
        )
    for key, text in value.items():
        if not (isinstance(text, str) and isinstance(key, str)):
            return {_text(name): _text(item) for name, item in value.items() if item is not None}
    return value


def _encode_json(command: RemotingCommand) -> bytes:
    parts = [f'{{"code":{command.code}']
    if command.ext_fields is not None:
        pairs = ",".join([f"{json_string(name)}:{json_string(value)}" for name, value in command.ext_fields.items()])
        parts.append(f'"extFields":{{{pairs}}}')
    parts.append(f'"flag":{command.flag}')
    if command.language is not None:
        parts.append(f'"language":"{command.language.name}"')
    parts.append(f'"opaque":{command.opaque}')
    if command.remark is not None:
        parts.append(f'"remark":{json_string(command.remark)}')
    parts.append(f'"serializeTypeCurrentRPC":"JSON","version":{command.version}}}')
    return ",".join(parts).encode("utf-8", "replace")


# Binary headers


def _decode_binary(header: bytes, body: bytes) -> RemotingCommand:
    code, language, version, opaque, flag, remark_bytes = _BINARY.unpack_from(header)
    remark, position = _slice(header, _BINARY.size, remark_bytes)
    ext_bytes = _INT.unpack_from(header, position)[0]
    area, end = _slice(header, position + 4, ext_bytes)
    if end != len(header):
        raise FrameError(
            sentence("wire-binary-header-read", "A binary header cannot be read"),
            reason=sentence(
                "wire-bytes-left-over", "{header_count:byte is/are} left over", header_count=len(header) - end
            ),
        )
    return RemotingCommand(
        code=code,
        opaque=opaque,
        flag=flag,
        version=version,
        language=_LANGUAGES.get(language),
        remark=str(remark, "utf-8", "replace") if remark else None,
        ext_fields=_binary_ext(area) if area else None,
        body=body,
        serialize_type=SerializeType.ROCKETMQ,
    )


def _slice(data: bytes, start: int, size: int) -> tuple[bytes, int]:
    end = start + size
    if size < 0 or end > len(data):
        raise FrameError(
            sentence("wire-binary-header-read", "A binary header cannot be read"),
            reason=sentence("wire-header-length-field", "a length field says {size}", size=size),
        )
    return data[start:end], end


def _binary_ext(area: bytes) -> dict[str, str]:
    fields: dict[str, str] = {}
    position = 0
    while position < len(area):
        name, position = _slice(area, position + 2, _SHORT.unpack_from(area, position)[0])
        value, position = _slice(area, position + 4, _INT.unpack_from(area, position)[0])
        if name and value:  # a length of 0 is Java's null
            fields[str(name, "utf-8", "replace")] = str(value, "utf-8", "replace")
    return fields


def _encode_binary(command: RemotingCommand) -> bytes:
    remark = command.remark.encode("utf-8", "replace") if command.remark else b""
    pairs: list[bytes] = []
    for name, value in (command.ext_fields or {}).items():
        key, text = name.encode("utf-8", "replace"), value.encode("utf-8", "replace")
        pairs += (_SHORT.pack(len(key)), key, _INT.pack(len(text)), text)
    ext = b"".join(pairs)
    language = Language.OTHER if command.language is None else command.language
    start = _BINARY.pack(command.code, language, command.version, command.opaque, command.flag, len(remark))
    return b"".join((start, remark, _INT.pack(len(ext)), ext))
