"""Values of parameters, as given with `-p NAME=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mqctl.errors import UsageError
from mqctl.model.command_line import command_line
from mqctl.model.numbers import decimal
from mqctl.model.playbook import Argument, Parameter, ParameterType, Playbook
from mqctl.text import sentence

_SPAN = re.compile(r"(\d+(ms|s|m|min|h|d))+")
_NAME = re.compile(r"[%|a-zA-Z0-9_-]+")
_BROKER = re.compile(r"[^\s;]+")


def bound(playbook: Playbook, given: Sequence[str]) -> dict[str, Argument]:
    """Returns the value of every parameter, None for those that are absent; a path brings `NAME_name`, its last part.

    Raises:
        UsageError: a value is missing, cannot be, or is for a parameter that the playbook does not have.
    """
    values: dict[str, Argument] = {item.name: item.default for item in playbook.parameters}
    by_name = {item.name: item for item in playbook.parameters}
    remedy = command_line("mqctl playbook show {}", playbook.slug)
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(
                sentence("playbook-not-name-value", "-p {word} is not NAME=VALUE", word=word), remedy=remedy
            )
        if name not in by_name:
            there = ", ".join(by_name) or "none"
            raise UsageError(
                sentence("playbook-no-parameter", "{slug} has no parameter {name}", slug=playbook.slug, name=name),
                reason=sentence("common-there", "there are {there}", there=there),
                remedy=remedy,
            )
        values[name] = _value(by_name[name], value)
    missing = [item.name for item in playbook.parameters if item.required and values[item.name] is None]
    if missing:
        wanted = " ".join(f"-p {name}=..." for name in missing)
        raise UsageError(
            sentence("playbook-needs", "{slug} needs {missing}", slug=playbook.slug, missing=missing),
            remedy=sentence("playbook-add", "add {wanted}", wanted=wanted),
        )
    for item in playbook.parameters:
        path = values[item.name]
        if item.type is ParameterType.PATH:
            values[f"{item.name}_name"] = Path(str(path)).resolve().name if path is not None else None
    return values


def _value(parameter: Parameter, text: str) -> Argument:
    if parameter.type is ParameterType.INTEGER:
        number = decimal(text)
        if number is None:
            raise _bad(parameter, text, sentence("playbook-whole-number", "a whole number"))
        return number
    form = {
        ParameterType.SPAN: (_SPAN, sentence("playbook-span", "a span such as 30s or 5m")),
        ParameterType.GROUP: (_NAME, sentence("playbook-name-form", "a name of letters, digits and %|_-")),
        ParameterType.TOPIC: (_NAME, sentence("playbook-name-form", "a name of letters, digits and %|_-")),
        ParameterType.BROKER: (_BROKER, sentence("playbook-broker-name", "the name of a broker")),
    }.get(parameter.type)
    if form is not None and not form[0].fullmatch(text):
        raise _bad(parameter, text, form[1])
    if not text:
        raise _bad(parameter, text, sentence("playbook-a-value", "a value"))
    return text


def _bad(parameter: Parameter, text: str, wanted: str) -> UsageError:
    return UsageError(
        sentence("playbook-cannot", "-p {parameter}={text} cannot be", parameter=parameter.name, text=text),
        reason=sentence("playbook-takes", "it takes {wanted}", wanted=wanted),
    )
