"""Declarations of what travels: classes whose annotated fields are the wire's fields, cheap to define and frozen.

Requests, response headers and bodies are declared as classes; the field table of a class is computed at its first use,
because a command line that sends two requests must not pay for two hundred declarations (a dataclass costs a third of a
millisecond to create). To type checkers they are frozen, keyword-only dataclasses.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

T = TypeVar("T")
_MISSING: Any = object()


class FieldOptions:
    """What `field` was told about one field."""

    __slots__ = ("default", "short", "since", "wire")

    def __init__(self, wire: str | None, short: str | None, default: object, since: str) -> None:
        self.wire = wire
        self.short = short
        self.default = default
        self.since = since


def field(wire: str | None = None, *, short: str | None = None, default: Any = _MISSING, since: str = "4.0") -> Any:
    """Declares a field whose wire name is not its own name in camel case, or which is newer than 4.0.

    Args:
        wire: name on the wire.
        short: one-letter name of the V2 form of the send requests.
        since: first release that knows the field.
    """
    return FieldOptions(wire, short, default, since)


class Field:
    """One declared field.

    Attributes:
        kind: the annotation without its `| None`.
        required: whether RocketMQ marks it "not null".
    """

    __slots__ = ("default", "kind", "name", "required", "short", "since", "wire")

    def __init__(self, name: str, annotation: str, value: object) -> None:
        options = value if isinstance(value, FieldOptions) else FieldOptions(None, None, value, "4.0")
        optional = annotation.endswith(" | None")
        self.name = name
        self.kind = annotation.removesuffix(" | None")
        self.wire = options.wire or camel_case(name)
        self.short = options.short or self.wire
        self.since = options.since
        self.required = not optional and options.default is _MISSING
        self.default = None if optional and options.default is _MISSING else options.default


def camel_case(name: str) -> str:
    """Returns `queueOffset` for `queue_offset`."""
    first, *rest = name.split("_")
    return first + "".join([word.capitalize() for word in rest])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Declared:
    """Base of all declarations: keyword arguments in, no changes afterwards, equal by value."""

    _own_fields: ClassVar[tuple[Field, ...] | None] = None

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Returns the declared fields, inherited ones first."""
        known: tuple[Field, ...] | None = cls.__dict__.get("_own_fields")
        if known is None:
            table: dict[str, Field] = {}
            for base in reversed(cls.__mro__):
                for name, annotation in vars(base).get("__annotations__", {}).items():
                    if not str(annotation).startswith("ClassVar"):
                        table[name] = Field(name, str(annotation), base.__dict__.get(name, _MISSING))
            known = cls._own_fields = tuple(table.values())
            cls._defaults = {item.name: item.default for item in known if item.default is not _MISSING}
            cls._names = frozenset(table)
        return known

    _defaults: ClassVar[dict[str, object]] = {}
    _names: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **values: Any) -> None:
        cls = type(self)
        if "_own_fields" not in cls.__dict__:
            cls.fields()
        own = self.__dict__
        own.update(cls._defaults)
        own.update(values)
        if own.keys() != cls._names:
            wrong = ", ".join(sorted(own.keys() ^ cls._names))
            raise TypeError(f"{cls.__name__}: missing or unknown fields: {wrong}")

    @classmethod
    def _complete(cls, values: dict[str, object]) -> Self:
        """Makes one of values that are known to be fields of it, and all that have no default; for the hot paths."""
        made = cls.__new__(cls)
        made.__dict__.update(cls._defaults, **values)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[item.name] for item in self.fields()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{item.name}={self.__dict__[item.name]!r}" for item in self.fields())
        return f"{type(self).__name__}({shown})"


def replaced(value: T, **changes: object) -> T:
    """Returns a copy of a declared value with some fields changed."""
    return type(value)(**{**value.__dict__, **changes})
