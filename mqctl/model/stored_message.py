"""A stored message as a person looks at it: with its id and its body unpacked."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.model.message import Message


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message, its offset message id, and its body as the producer gave it.

    Attributes:
        body: the unpacked body; as stored when it does not unpack.
        problem: why the body does not unpack, None when it does.
    """

    message: Message
    message_id: str
    body: bytes
    problem: str | None = None
