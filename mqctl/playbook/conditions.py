"""Conditions and captures of playbooks: JMESPath, which is made to ask JSON documents such things."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from mqctl.errors import BadInputError
from mqctl.model.playbook_run import Scalar
from mqctl.text import sentence

_NAMES = re.compile(r"!?[a-z0-9_]+( && !?[a-z0-9_]+)*")
# What a field of these nodes names belongs to what stands before it, not to the facts.
_BELONGS_TO_FIRST = frozenset(
    {"subexpression", "index_expression", "pipe", "projection", "value_projection", "filter_projection", "flatten"}
)


def problem(expression: str) -> str | None:
    """Returns why an expression cannot be read, in one line; None when it can."""
    try:
        looked_up(expression)
    except JMESPathError as error:
        return " ".join(str(error).split())
    except RecursionError:
        return sentence("nested-too-deeply", "it is nested too deeply")
    return None


def looked_up(expression: str) -> set[str]:
    """Returns the names that an expression looks up among the facts."""
    return _names(jmespath.compile(expression).parsed)


def _names(node: Mapping[str, Any]) -> set[str]:
    if node["type"] == "field":
        return {str(node["value"])}
    children = node["children"]
    if node["type"] in _BELONGS_TO_FIRST:
        children = children[:1]
    return set().union(*map(_names, children)) if children else set()


def condition_holds(expression: str, facts: Mapping[str, object], given: Collection[str] = ()) -> bool:
    """Tells whether a condition holds; what is not known (null) and what is empty do not.

    Args:
        given: names of parameters; a condition of nothing but these asks whether they were given, numbers too.

    Raises:
        BadInputError: it cannot be decided: a number, or a comparison of unlike things.
    """
    value = _ask(expression, facts)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if _NAMES.fullmatch(expression) and looked_up(expression) <= set(given):
            return True
        raise BadInputError(
            sentence("playbook-could-not-decide", "could not decide {expression!r}", expression=expression),
            reason=sentence("playbook-gives-not-true-false", "it gives {value}, not true or false", value=value),
        )
    return bool(value)


def read(expression: str, document: object) -> Scalar:
    """Reads one value out of a JSON document.

    Raises:
        BadInputError: the expression gives no single value, or asks for something that cannot be.
    """
    value = _ask(expression, document)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, list) and all(isinstance(item, (str, int)) for item in value):
        return ",".join(map(str, value))
    raise BadInputError(
        sentence("playbook-could-not-capture", "could not capture {expression!r}", expression=expression),
        reason=sentence("playbook-gives-no-single-value", "it gives no single value"),
    )


def _ask(expression: str, document: object) -> object:
    try:
        return jmespath.search(expression, document)
    except JMESPathError as error:
        raise BadInputError(
            sentence("playbook-could-not-ask", "could not ask {expression!r}", expression=expression),
            reason=" ".join(str(error).split()),
        ) from error
    except RecursionError as error:
        raise BadInputError(
            sentence("playbook-could-not-ask", "could not ask {expression!r}", expression=expression),
            reason=sentence("nested-too-deeply", "it is nested too deeply"),
        ) from error
