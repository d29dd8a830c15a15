"""Machine rooms: how a name tells its room, and which queues a producer that stays in its room uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mqctl.errors import UsageError
from mqctl.model.config import PERM_WRITE
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomOf, RoomRule
from mqctl.model.route import TopicRoute
from mqctl.text import sentence


def room_rule(text: str, mapping: Mapping[str, str] | None = None) -> RoomRule:
    """Reads a rule.

    Args:
        text: `prefix:-` (what comes before the first `-`), `prefix:@`, `regex:PATTERN` (its first group, else the whole
            match), or `map`.
        mapping: for `map`, names (of brokers, and of clients or their addresses) to rooms.

    Raises:
        UsageError: it is none of these, or the pattern is no regular expression.
    """
    kind, _, argument = text.partition(":")
    if kind == "prefix" and argument:
        return RoomRule(text, _prefix(argument), _prefix(argument))
    if kind == "regex" and argument:
        return RoomRule(text, _matching(argument), _matching(argument))
    if kind == "map" and mapping is not None:
        return RoomRule(text, mapping.get, _client_in(mapping))
    raise UsageError(
        sentence("allocation-cannot-read-room-rule", "cannot read the room rule {text!r}", text=text),
        remedy=sentence("allocation-use-prefix-regex", "use prefix:-, prefix:@, regex:PATTERN or map:FILE"),
    )


def inferred_rule(brokers: Iterable[str], clients: Iterable[str]) -> RoomRule | None:
    """Reads rooms from names that agree; None where they do not, and may mean anything.

    Every broker has a room before its first `@` or `-`, there are several, and every client is in one of them.
    """
    names, ids = list(brokers), list(clients)
    for separator in "@-":
        rule = room_rule(f"prefix:{separator}")
        rooms = {rule.broker_room(name) for name in names}
        if len(rooms) > 1 and None not in rooms and ids and {rule.client_room(client) for client in ids} <= rooms:
            return rule
    return None


def _prefix(separator: str) -> RoomOf:
    def room(name: str) -> str | None:
        before, cut, _ = name.partition(separator)
        return before if cut else None

    return room


def _matching(pattern: str) -> RoomOf:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(
            sentence(
                "allocation-cannot-read-room-rule-regex", "cannot read the room rule regex:{pattern}", pattern=pattern
            ),
            reason=str(error),
        ) from error
    except RecursionError as error:
        raise UsageError(
            sentence(
                "allocation-cannot-read-room-rule-regex", "cannot read the room rule regex:{pattern}", pattern=pattern
            ),
            reason=sentence("nested-too-deeply", "it is nested too deeply"),
        ) from error

    def room(name: str) -> str | None:
        match = compiled.search(name)
        return None if match is None else match[1] if compiled.groups else match[0]

    return room


def _client_in(mapping: Mapping[str, str]) -> RoomOf:
    """A client is found by its whole id, or by the address before its first `@`."""
    return lambda client: mapping.get(client) or mapping.get(client.partition("@")[0])


def writable_queues(route: TopicRoute) -> list[MessageQueue]:
    """Returns the queues that producers send to: those of brokers with a master and write permission."""
    masters = {endpoint.name for endpoint in route.endpoints if endpoint.master is not None}
    return [
        MessageQueue(route.topic, item.broker_name, number)
        for item in sorted(route.queues, key=lambda item: item.broker_name)
        if item.perm & PERM_WRITE and item.broker_name in masters
        for number in range(item.write_queue_count)
    ]


def selectable_queues(queues: Iterable[MessageQueue], room: str, rule: RoomRule) -> list[MessageQueue]:
    """Returns the queues that a producer in `room` chooses from: its own room's, or all of them when it has none."""
    listed = list(queues)
    own = [queue for queue in listed if rule.broker_room(queue.broker_name) == room]
    return own or listed
