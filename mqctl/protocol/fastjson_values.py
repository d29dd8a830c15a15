"""What both readers of the dialect share: object keys, the error, and the depth limit."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.errors import BadInputError
from mqctl.text import sentence

MAX_DEPTH = 256


class FastjsonError(BadInputError, ValueError):
    """Text that is not in the dialect.

    Attributes:
        position: index of the offending character; `line` and `column` are counted from 1.
    """

    def __init__(
        self, problem: str, *, reason: str = "", remedy: str = "", position: int = 0, line: int = 1, column: int = 1
    ) -> None:
        super().__init__(problem, reason=reason, remedy=remedy)
        self.position = position
        self.line = line
        self.column = column

    @classmethod
    def at(cls, text: str, position: int, reason: str) -> FastjsonError:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        problem = sentence(
            "wire-json-at-line",
            "JSON text cannot be read at line {line}, column {column}",
            line=line,
            column=column,
        )
        return cls(problem, reason=reason, position=position, line=line, column=column)


class ObjectKey:
    """An object used as the key of a map; hashable and equal to any object key with the same properties."""

    __slots__ = ("_hash", "items")

    items: tuple[tuple[str, object], ...]
    """Name and value pairs, sorted by name (the order in which fastjson writes them)."""

    def __init__(self, properties: Mapping[str, object]) -> None:
        self.items = tuple(sorted((str(name), _frozen(value)) for name, value in properties.items()))
        self._hash = hash(self.items)

    def get(self, name: str, default: object = None) -> object:
        """Returns the property `name`, or `default`."""
        for key, value in self.items:
            if key == name:
                return value
        return default

    def __getitem__(self, name: str) -> object:
        for key, value in self.items:
            if key == name:
                return value
        raise KeyError(name)

    def java_text(self) -> str:
        """Returns what `toString` of RocketMQ's MessageQueue gives; `$ref` paths name map keys by it."""
        topic, broker_name, queue_id = self.get("topic"), self.get("brokerName"), self.get("queueId")
        return f"MessageQueue [topic={topic}, brokerName={broker_name}, queueId={queue_id}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectKey) and self.items == other.items

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"ObjectKey({dict(self.items)!r})"


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return ObjectKey(value)
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
