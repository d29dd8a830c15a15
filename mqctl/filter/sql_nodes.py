"""What SQL92 expressions are made of, and what they come to for a message's properties.

Three values: true, false and None for unknown. A comparison that Java's code cannot make throws there, and the message
is not delivered; here it raises EvaluationError. Source: `org.apache.rocketmq.filter.expression` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.text import sentence

Properties: TypeAlias = Mapping[str, str]


class Whole(int):
    """A Java Integer; 32 bits wide."""


class Long(int):
    """A Java Long; 64 bits wide."""


Present: TypeAlias = bool | int | float | str
Value: TypeAlias = Present | None
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_BLANK = "".join(map(chr, range(0x21)))


class EvaluationError(MqctlError):
    """A comparison that throws in a broker: the message is not delivered."""


class Node(ABC):
    """Part of an expression."""

    boolean = False
    """Whether it comes to true, false or unknown by itself."""

    @abstractmethod
    def value(self, properties: Properties) -> Value:
        """Evaluates for one message. Raises EvaluationError."""


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal."""

    constant: Value

    @property
    def boolean(self) -> bool:  # type: ignore[override]
        return isinstance(self.constant, bool)

    def value(self, properties: Properties) -> Value:
        return self.constant


@dataclass(frozen=True, slots=True)
class Property(Node):
    """A property of the message: a text, or None when it has none."""

    name: str

    def value(self, properties: Properties) -> Value:
        return properties.get(self.name)


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """Unary minus: of a number; of anything else it is unknown."""

    of: Node

    def value(self, properties: Properties) -> Value:
        operand = self.of.value(properties)
        if isinstance(operand, bool) or not isinstance(operand, int | float):
            return None
        return type(operand)(-operand)


class BooleanNode(Node):
    """An expression that is true, false or unknown."""

    boolean = True

    @abstractmethod
    def value(self, properties: Properties) -> bool | None:
        """Evaluates for one message. Raises EvaluationError."""


@dataclass(frozen=True, slots=True)
class Cast(BooleanNode):
    """A name alone: properties are texts, so it is false where there is one."""

    of: Node

    def value(self, properties: Properties) -> bool | None:
        operand = self.of.value(properties)
        return None if operand is None else operand if isinstance(operand, bool) else False


@dataclass(frozen=True, slots=True)
class Not(BooleanNode):
    """The contrary; unknown stays unknown."""

    of: Node

    def value(self, properties: Properties) -> bool | None:
        operand = self.of.value(properties)
        return None if operand is None else not operand


@dataclass(frozen=True, slots=True)
class And(BooleanNode):
    """False if any term is; the first false one spares the rest."""

    terms: tuple[Node, ...]

    def value(self, properties: Properties) -> bool | None:
        return _decided(self.terms, properties, by=False)


@dataclass(frozen=True, slots=True)
class Or(BooleanNode):
    """True if any term is; the first true one spares the rest."""

    terms: tuple[Node, ...]

    def value(self, properties: Properties) -> bool | None:
        return _decided(self.terms, properties, by=True)


def _decided(terms: tuple[Node, ...], properties: Properties, *, by: bool) -> bool | None:
    unknown = False
    for term in terms:
        result = term.value(properties)
        if result is by:
            return by
        unknown = unknown or result is None
    return None if unknown else not by


@dataclass(frozen=True, slots=True)
class IsNull(BooleanNode):
    """Whether there is nothing; never unknown."""

    of: Node

    def value(self, properties: Properties) -> bool | None:
        return self.of.value(properties) is None


@dataclass(frozen=True, slots=True)
class Equal(BooleanNode):
    """Equality. Two absent properties are equal; a present one on the left never equals an absent one."""

    left: Node
    right: Node

    def value(self, properties: Properties) -> bool | None:
        left, right = self.left.value(properties), self.right.value(properties)
        if left is None:
            return True if right is None else None
        if right is None:
            return False
        if isinstance(left, str) and isinstance(right, str):
            return left == right
        return _compared(left, right) == 0


@dataclass(frozen=True, slots=True)
class Order(BooleanNode):
    """`>`, `>=`, `<` or `<=`; unknown when either side is."""

    left: Node
    operator: str
    right: Node

    def value(self, properties: Properties) -> bool | None:
        left, right = self.left.value(properties), self.right.value(properties)
        if left is None or right is None:
            return None
        if isinstance(left, str) and isinstance(right, str):
            left, right = _double(left), _double(right)
        sign = _compared(left, right)
        return {">": sign > 0, ">=": sign >= 0, "<": sign < 0, "<=": sign <= 0}[self.operator]


@dataclass(frozen=True, slots=True)
class In(BooleanNode):
    """Whether a property is one of some texts; unknown when it is absent."""

    of: Property
    texts: tuple[str, ...]

    def value(self, properties: Properties) -> bool | None:
        operand = self.of.value(properties)
        return None if operand is None else operand in self.texts


@dataclass(frozen=True, slots=True)
class TextMatch(BooleanNode):
    """CONTAINS, STARTSWITH, ENDSWITH, or their contrary: never unknown, and false for an absent property either way."""

    of: Node
    operator: str
    text: str
    negated: bool = False

    def value(self, properties: Properties) -> bool | None:
        operand = self.of.value(properties)
        if not self.text or not isinstance(operand, str):
            return False
        match self.operator:
            case "CONTAINS":
                held = self.text in operand
            case "STARTSWITH":
                held = operand.startswith(self.text)
            case _:
                held = operand.endswith(self.text)
        return held != self.negated


def _compared(left: Present, right: Present) -> int:
    """Compares two values, a text as the other side's type."""
    if isinstance(left, str) and isinstance(right, bool):
        left = left.lower() == "true"
    elif isinstance(left, str) and not isinstance(right, str):
        left = _as_type_of(left, right)
    elif isinstance(right, str) and not isinstance(left, str | bool):
        right = _as_type_of(right, left)
    if isinstance(left, bool) != isinstance(right, bool) or isinstance(left, str) or isinstance(right, str):
        raise EvaluationError(
            sentence("filter-cannot-compare", "cannot compare {left!r} with {right!r}", left=left, right=right),
            reason=sentence("java-throws-class-cast", "Java throws ClassCastException"),
        )
    return (left > right) - (left < right)


def _as_type_of(text: str, number: int | float) -> int | float:
    if isinstance(number, float):
        return _double(text)
    bits = 64 if isinstance(number, Long) else 32
    match = _INTEGER.fullmatch(text)
    whole = decimal(text.lstrip("+"), low=-(1 << (bits - 1)), high=(1 << (bits - 1)) - 1) if match else None
    if whole is None:
        reason = sentence("java-throws-number-format", "Java throws NumberFormatException")
        raise EvaluationError(
            sentence(
                "filter-no-whole-number", "cannot read {text!r} as a whole number of {bits} bits", text=text, bits=bits
            ),
            reason=reason,
        )
    return whole


def _double(text: str) -> float:
    trimmed = text.strip(_BLANK)
    if not _DOUBLE.fullmatch(trimmed):
        raise EvaluationError(
            sentence("filter-no-number", "cannot read {text!r} as a number", text=text),
            reason=sentence("java-throws-number-format", "Java throws NumberFormatException"),
        )
    return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
