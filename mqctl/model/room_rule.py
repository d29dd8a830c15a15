"""How names of brokers and clients tell the machine room that they are in."""

from __future__ import annotations

from collections.abc import Callable

from mqctl.model.lazy_dataclass import dataclass

RoomOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class RoomRule:
    """How the names of brokers and clients tell their room; None or an empty text means they do not.

    Attributes:
        text: the rule as it was written.
    """

    text: str
    broker_room: RoomOf
    client_room: RoomOf
