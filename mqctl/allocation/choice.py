"""Strategies by the names that people type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.allocation.strategies import (
    Average,
    AverageByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    NearbyRoom,
    Strategy,
)
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.text import sentence

NAMES = ("avg", "circle", "hash", "nearby", "nearby:circle", "nearby:hash", "room", "config")
# As strategies call themselves, and as outputs print them.
_PRINTED = {
    "avg_by_circle": "circle",
    "consistent_hash": "hash",
    "machine_room": "room",
    "machine_room_nearby": "nearby",
}
_PLAIN: dict[str, Strategy] = {"avg": Average(), "circle": AverageByCircle(), "hash": ConsistentHash()}


def strategy_of(
    name: str,
    rule: RoomRule | None = None,
    rooms: frozenset[str] = frozenset(),
    fixed: Mapping[str, Sequence[MessageQueue]] | None = None,
) -> Strategy:
    """Returns the strategy that a name means.

    Args:
        name: `avg`, `circle`, `hash`, `nearby` (over `avg`) or `nearby:circle`, `nearby:hash`, `room`, `config`; or the
            name that the strategy gives itself, such as `AVG_BY_CIRCLE` or `MACHINE_ROOM_NEARBY-AVG`; in any case.
        rule: how names tell their room, for `nearby`.
        rooms: the rooms that `room` serves.
        fixed: the queues of each client, for `config`.

    Raises:
        UsageError: there is no such strategy, or it lacks its rule or rooms.
    """
    kind, _, inner = (_PRINTED.get(part, part) for part in name.lower().replace("-", ":", 1).partition(":"))
    if kind in _PLAIN and not inner:
        return _PLAIN[kind]
    if kind == "nearby" and (inner or "avg") in _PLAIN:
        if rule is None:
            raise UsageError(
                sentence("allocation-strategy-nearby-needs-know", "the strategy nearby needs to know rooms"),
                remedy=sentence("allocation-add-room-rule-prefix", "add --room-rule prefix:- or regex:PATTERN"),
            )
        return NearbyRoom(_PLAIN[inner or "avg"], rule.broker_room, rule.client_room)
    if kind == "config" and not inner:
        if fixed is None:
            raise UsageError(
                sentence("allocation-strategy-config-needs-lists", "the strategy config needs its lists"),
                remedy=sentence("allocation-add-config-file-yaml", "add --config FILE, a YAML map of lists"),
            )
        return ByConfig(fixed)
    if kind == "room" and not inner:
        if not rooms:
            raise UsageError(
                sentence("allocation-strategy-room-needs-rooms", "the strategy room needs the rooms it serves"),
                remedy=sentence("allocation-add-serve-rooms-ht", "add --serve-rooms HT,CP"),
            )
        return ByMachineRoom(rooms)
    raise UsageError(
        sentence("allocation-no-strategy", "there is no strategy {name}", name=name),
        remedy=sentence("common-use", "use one of: {names}", names=NAMES),
    )
