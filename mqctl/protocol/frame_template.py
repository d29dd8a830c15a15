"""Frames that are encoded once and filled in many times: requests of a load, answers of a broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from struct import Struct

from mqctl.protocol.frame import RemotingCommand, encode

_PREFIX = Struct(">iI")
MARK = "\ue000"
"""Stands in an ext field where a value will be filled in."""


class FrameTemplate:
    """Frames whose headers differ in few plain values; for the hot paths.

    Args:
        command: one of them, with a JSON header, and a `MARK` in its ext fields for each value, in their order. Values
            are written as they are: nothing in them may need escaping.
    """

    def __init__(self, command: RemotingCommand) -> None:
        text = encode(replace(command, opaque=0, body=b""))[_PREFIX.size :].decode()
        self._text = text.replace("%", "%%").replace(MARK, "%s").replace('"opaque":0,', '"opaque":%d,')

    def fill(self, opaque: int, *values: object, body: bytes = b"") -> bytes:
        """Returns the frame of call `opaque`, or of the answer to it."""
        header = (self._text % (*values, opaque)).encode()
        size = len(header)
        return b"".join((_PREFIX.pack(4 + size + len(body), size), header, body))


class AnswerTemplate(FrameTemplate):
    """Answers without body.

    Args:
        answer: one of them.
        fields: the ext fields that differ, in their order.
    """

    def __init__(self, answer: RemotingCommand, fields: Sequence[str]) -> None:
        super().__init__(replace(answer, ext_fields={**(answer.ext_fields or {}), **dict.fromkeys(fields, MARK)}))
