"""A request together with how its answer reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Generic, TypeVar

from mqctl.client.remoting.answers import refusal, too_many, unreadable
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import BadInputError
from mqctl.protocol.body import Body
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import ExtHeader, HeaderFieldError, Request

T = TypeVar("T")
B = TypeVar("B", bound=Body)
H = TypeVar("H", bound=ExtHeader)
SUCCESS_ONLY: Set[int] = frozenset({0})
_ENTRIES_PER_MS = 5
"""Of a table or list; to put a name together with what others say of it takes up to 200 microseconds."""
_ALWAYS_TAKEN = 5_000


class Question(Generic[T]):
    """What to ask, and what the answer means.

    Args:
        request: the typed header.
        read: turns a successful answer into a value; may raise the errors of the codecs.
        body: bytes of the request's body.
        accepts: response codes that are answers rather than refusals.
    """

    __slots__ = ("accepts", "body", "read", "request")

    def __init__(
        self,
        request: Request,
        read: Callable[[RemotingCommand], T],
        *,
        body: bytes = b"",
        accepts: Set[int] = SUCCESS_ONLY,
    ) -> None:
        self.request = request
        self.read = read
        self.body = body
        self.accepts = accepts

    def value(self, answer: RemotingCommand, address: str, deadline: Deadline | None = None) -> T:
        """Reads `answer`, which came from `address`.

        Args:
            deadline: of the whole that the answer is for; no limit if not given.

        Raises:
            AnswerError: its code is a refusal.
            UnreadableAnswerError: it does not have the shape it must have, or has more entries than there is time for.
        """
        if answer.code not in self.accepts:
            raise refusal(self.request.code, address, answer)
        try:
            value = self.read(answer)
        except (BadInputError, HeaderFieldError) as error:
            raise unreadable(self.request.code, address, error) from error
        if deadline is not None:
            limit_ms, count = deadline.whole.limit_ms, _entry_count(value)
            most = max(_ALWAYS_TAKEN, limit_ms * _ENTRIES_PER_MS)
            if count > most:
                raise too_many(self.request.code, address, count, most=most, limit_ms=limit_ms)
        return value


def _entry_count(value: object) -> int:
    """Counts what the largest table or list of an answer holds."""
    parts = vars(value).values() if isinstance(value, Body) else (value,)
    return max((len(part) for part in parts if isinstance(part, Mapping | tuple | list | Set)), default=0)


def nothing(answer: RemotingCommand) -> None:
    """Reads an answer that says no more than its code."""


def body_of(kind: type[B]) -> Callable[[RemotingCommand], B]:
    """Returns a reader of bodies of `kind`."""
    return lambda answer: kind.from_bytes(answer.body)


def header_of(kind: type[H]) -> Callable[[RemotingCommand], H]:
    """Returns a reader of typed response headers."""
    return lambda answer: kind.from_ext(answer.ext_fields)
