"""Whether a playbook makes sense as a whole: names that exist, conditions that can be read, texts in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mqctl.errors import BadInputError
from mqctl.model.lang import Lang
from mqctl.model.playbook import ParameterType, Playbook, PlaybookKind, PlaybookStep, Words
from mqctl.playbook import conditions, template
from mqctl.text import sentence

_NAME = re.compile(r"[a-z][a-z0-9_]*")
RESERVED = ("exit", "choice", "done")


class Misplaced(Exception):
    """Something in the file cannot be; `path` says where: `$.steps[0].when`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def check(playbook: Playbook) -> None:
    """Checks what the form alone does not tell. Raises Misplaced at the first thing that cannot be."""
    known = set(RESERVED)
    for number, parameter in enumerate(playbook.parameters):
        path = f"$.parameters[{number}]"
        _fresh(f"{path}.name", parameter.name, known)
        _texts(f"{path}.about", parameter.about)
        if parameter.type is ParameterType.PATH:
            _fresh(f"{path}.name", f"{parameter.name}_name", known)
        if parameter.required and parameter.default is not None:
            raise Misplaced(
                f"{path}.default", sentence("playbook-required-default", "a required parameter has no default")
            )
    _texts("$.title", playbook.title)
    _texts("$.symptom", playbook.symptom)
    if playbook.kind is PlaybookKind.REHEARSAL and playbook.answers:
        raise Misplaced("$.answers", sentence("playbook-rehearsal-answers", "a rehearsal answers no finding"))
    if not playbook.steps:
        raise Misplaced("$.steps", sentence("playbook-no-steps", "it has no steps"))
    seen: set[str] = set()
    for number, step in enumerate(playbook.steps):
        path = f"$.steps[{number}]"
        if step.id in seen or not _NAME.fullmatch(step.id):
            raise Misplaced(
                f"{path}.id",
                sentence(
                    "playbook-name-taken", "{name!r} is taken, or not of small letters, digits and _", name=step.id
                ),
            )
        seen.add(step.id)
        _step(path, step, known)
    _rollback(playbook)


def _step(path: str, step: PlaybookStep, known: set[str]) -> None:
    if (step.command is None) == (not step.options):
        raise Misplaced(path, sentence("playbook-run-or-decide", "a step has either run or decide"))
    for where, texts in _all_texts(path, step):
        _texts(where, texts)
    if step.when is not None:
        _condition(f"{path}.when", step.when, known)
    if step.command is not None:
        _places(f"{path}.run", step.command, known)
    if step.changes != (step.confirm is not None):
        raise Misplaced(
            f"{path}.confirm",
            sentence(
                "playbook-changes-confirm", "a step that changes something has the name to confirm, and no other step"
            ),
        )
    if step.asks and (step.command is None or step.changes):
        raise Misplaced(
            f"{path}.asks",
            sentence(
                "playbook-asks-only-runs",
                "only a step that runs something, and asks for no name to confirm, asks meanwhile",
            ),
        )
    if step.confirm is not None:
        _places(f"{path}.confirm", step.confirm, known)
    if step.command is not None and "--execute" in step.command.split():
        raise Misplaced(
            f"{path}.run",
            sentence(
                "playbook-execute-added",
                "--execute is added when the playbook runs with it; say `changes: true`, or `asks: true`",
            ),
        )
    for name, expression in step.capture.items():
        where = f"{path}.capture.{name}"
        if conditions.problem(expression):
            raise Misplaced(
                where,
                sentence("playbook-not-jmespath", "not JMESPath: {problem}", problem=conditions.problem(expression)),
            )
        _fresh(where, name, known)
    for number, result in enumerate(step.results):
        _condition(f"{path}.results[{number}].when", result.when, known)


def _all_texts(path: str, step: PlaybookStep) -> Iterator[tuple[str, Words]]:
    yield f"{path}.about", step.about
    for code, texts in step.exits.items():
        yield f"{path}.exits.{code}", texts
    for name, texts in step.options.items():
        yield f"{path}.decide.{name}", texts
    for number, result in enumerate(step.results):
        yield f"{path}.results[{number}].means", result.means


def _fresh(path: str, name: str, known: set[str]) -> None:
    if name in known or not _NAME.fullmatch(name):
        raise Misplaced(
            path, sentence("playbook-name-taken", "{name!r} is taken, or not of small letters, digits and _", name=name)
        )
    known.add(name)


def _condition(path: str, expression: str, known: set[str]) -> None:
    problem = conditions.problem(expression)
    if problem:
        raise Misplaced(path, sentence("playbook-not-jmespath", "not JMESPath: {problem}", problem=problem))
    _known(path, conditions.looked_up(expression), known)


def _places(path: str, command: str, known: set[str]) -> None:
    try:
        places = template.template_places(command)
    except BadInputError as error:
        raise Misplaced(path, str(error)) from error
    _known(path, places, known)


def _known(path: str, names: set[str], known: set[str]) -> None:
    strange = sorted(names - known)
    if strange:
        there = ", ".join(sorted(known.difference(RESERVED))) or "none"
        raise Misplaced(
            path,
            sentence(
                "playbook-not-called",
                "no parameter or earlier capture is called {name}; there are {known}",
                name=strange[0],
                known=there,
            ),
        )


def _texts(path: str, texts: Mapping[Lang, object]) -> None:
    missing = [lang.value for lang in Lang if not texts.get(lang)]
    if missing:
        raise Misplaced(path, sentence("playbook-no-text-in", "there is no text in {lang}", lang=missing[0]))


def _rollback(playbook: Playbook) -> None:
    _texts("$.rollback", playbook.rollback)
