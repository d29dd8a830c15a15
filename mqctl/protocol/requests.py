"""All declared requests: `REQUESTS` by code, reading by code, and the generated list.

The declarations themselves are in `requests_client`, `requests_namesrv`, `requests_admin`, `requests_v5` and
`requests_pop`; this module is for those who need them all (a server, the tests, the documentation). A client that sends
two kinds imports just their module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar

from mqctl.errors import RefusedError
from mqctl.protocol import requests_admin, requests_client, requests_namesrv, requests_pop, requests_v5
from mqctl.protocol.codes import request_name
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import _REQUESTS, ExtHeader, HeaderFieldError, NoFields, Request
from mqctl.text import sentence

__all__ = [
    "REQUESTS",
    "ExtHeader",
    "HeaderFieldError",
    "NoFields",
    "Request",
    "UnknownRequestError",
    "describe_requests",
    "read_reply",
    "read_request",
    "requests_admin",
    "requests_client",
    "requests_namesrv",
    "requests_pop",
    "requests_v5",
]

R = TypeVar("R", bound=ExtHeader)

REQUESTS: Mapping[int, type[Request]] = MappingProxyType(_REQUESTS)


class UnknownRequestError(RefusedError):
    """A request code without a declaration.

    Attributes:
        remark: what a broker answers with code 3.
    """

    def __init__(self, problem: str, *, reason: str = "", remedy: str = "", remark: str = "") -> None:
        super().__init__(problem, reason=reason, remedy=remedy)
        self.remark = remark


def read_request(command: RemotingCommand) -> Request:
    """Reads the typed header of a request.

    Raises:
        UnknownRequestError: nobody declared the code.
        HeaderFieldError: a required field is missing or unreadable.
    """
    kind = _REQUESTS.get(command.code)
    if kind is None:
        raise UnknownRequestError(
            sentence("wire-request-code-unknown", "Request code {code} is unknown", code=command.code),
            remark=f" request type {command.code} not supported",
        )
    return kind.from_ext(command.ext_fields)


def read_reply(kind: type[R], command: RemotingCommand) -> R:
    """Reads the typed header of a response.

    Raises:
        HeaderFieldError: a required field is missing or unreadable.
    """
    return kind.from_ext(command.ext_fields)


def describe_requests() -> Iterator[str]:
    """Yields one line for each declared request, in order of code: code, name, first release, fields, bodies."""
    for code in sorted(_REQUESTS):
        kind = _REQUESTS[code]
        fields = ", ".join(
            f"{item.short if kind._short else item.wire}{'' if item.required else '?'}"
            for item in kind.fields()
            if item.name != "bname"
        )
        bodies = f"{kind.body or '-'} -> {kind.reply_body or '-'}"
        yield f"{code} {request_name(code)} since {kind.since}: {fields or '-'}; {bodies}"
