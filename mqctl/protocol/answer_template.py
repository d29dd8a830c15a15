"""Answers that are encoded once and filled in many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from struct import Struct

from mqctl.protocol.frame import RemotingCommand, encode

_PREFIX = Struct(">iI")
_MARK = "\ue000"


class AnswerTemplate:
    """Answers without body that differ in few plain values: encoded once, filled in many times; for the hot paths.

    Args:
        answer: one of them, with a JSON header.
        fields: the ext fields that differ, in their order. Their values are written as they are: nothing in them may
            need escaping.
    """

    def __init__(self, answer: RemotingCommand, fields: Sequence[str]) -> None:
        marks = dict.fromkeys(fields, _MARK)
        marked = replace(answer, opaque=0, ext_fields={**(answer.ext_fields or {}), **marks})
        text = encode(marked)[_PREFIX.size :].decode()
        self._text = text.replace("%", "%%").replace(_MARK, "%s").replace('"opaque":0,', '"opaque":%d,')

    def fill(self, opaque: int, *values: object) -> bytes:
        """Returns the frame of the answer to call `opaque`."""
        header = (self._text % (*values, opaque)).encode()
        size = len(header)
        return _PREFIX.pack(4 + size, size) + header
