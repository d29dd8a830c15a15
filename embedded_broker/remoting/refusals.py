"""What a request is refused with: raised anywhere behind a handler, answered by the dispatcher."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.protocol.codes import ResponseCode


class Refusal(Exception):
    """A request that is not carried out.

    Attributes:
        code: response code.
        remark: response text.
        fields: ext fields of the answer.
    """

    def __init__(self, code: ResponseCode, remark: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark
        self.fields = fields
