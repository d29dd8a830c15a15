"""The file of a playbook, `playbook.yaml`, and what may stand in it."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from mqctl.errors import ConfigurationError
from mqctl.model.lang import Lang
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.playbook import Parameter, ParameterType, Playbook, PlaybookEnd, PlaybookKind, PlaybookStep, StepResult
from mqctl.model.spans import UNIT_MS
from mqctl.playbook.checking import Misplaced, check
from mqctl.playbook.yaml_places import YamlProblem, line_of, read_yaml
from mqctl.store.plain_files import read_named, refused
from mqctl.text import composed, sentence

_Texts = dict[Lang, str]
_SPAN = re.compile(r"(\d+)(ms|s|m|h)")
_UNKNOWN_FIELD = re.compile(r"unknown field `(.+?)`(?: - at `(.+)`)?")
_CHOICES = ((".type", ParameterType), (".kind", PlaybookKind), (".stop", PlaybookEnd))
_AT = re.compile(r"(.*) - at (?:`key` in )?`(.+)`")


class _Parameter(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    type: ParameterType
    about: _Texts
    default: str | int | None = None
    required: bool = False


class _Result(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    when: str
    means: _Texts
    stop: PlaybookEnd | None = None


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    about: _Texts
    run: str | None = None
    decide: dict[str, _Texts] = {}
    timeout: str = "60s"
    exits: dict[int, _Texts] = {}
    when: str | None = None
    capture: dict[str, str] = {}
    results: list[_Result] = []
    changes: bool = False
    confirm: str | None = None
    asks: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True):
    title: _Texts
    symptom: _Texts
    parameters: list[_Parameter]
    steps: list[_Step]
    rollback: dict[Lang, list[str]]
    answers: list[str] | None = None
    kind: PlaybookKind = PlaybookKind.INCIDENT


_KINDS: tuple[tuple[re.Pattern[str], type[msgspec.Struct]], ...] = (
    (re.compile(r"\$"), _File),
    (re.compile(r"\$\.parameters\[\d+\]"), _Parameter),
    (re.compile(r"\$\.steps\[\d+\]"), _Step),
    (re.compile(r"\$\.steps\[\d+\]\.results\[\d+\]"), _Result),
)


def read_playbook(slug: str, file: Traversable, answers: tuple[str, ...] | None = None) -> Playbook:
    """Reads and checks the playbook `slug`.

    Args:
        answers: codes of the findings that it is for, where the file does not have to name them.

    Raises:
        PermissionDeniedError, StorageError: the operating system refuses to read the file.
        ConfigurationError: it is no text, says something that is not known, or contradicts itself; the
            message names the line and the key.
    """
    lines: dict[str, int] = {}
    try:
        parsed, lines = read_yaml(_text(file))
        content = msgspec.convert(parsed, _File)
        if content.answers == [] and content.kind is PlaybookKind.INCIDENT:
            raise Misplaced("$.answers", sentence("playbook-answers-none", "it answers no finding"))
        playbook = _playbook(slug, content)
        if answers is not None:
            playbook = replace(playbook, answers=answers)
        check(playbook)
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            sentence("could-not-read", "could not read {file}", file=file), reason=str(error)
        ) from error
    except YamlProblem as error:
        raise _bad(file, error.line, str(error)) from error
    except msgspec.ValidationError as error:
        path, reason = _located(str(error))
        raise _bad(file, line_of(path, lines), composed("{path}: {reason}", path=path, reason=reason)) from error
    except Misplaced as error:
        raise _bad(
            file, line_of(error.path, lines), composed("{path}: {error}", path=error.path, error=error)
        ) from error
    return playbook


def _text(file: Traversable) -> str:
    return read_named(file).decode() if isinstance(file, Path) else file.read_text(encoding="utf-8")


def _bad(file: Traversable, line: int | None, reason: str) -> ConfigurationError:
    where = f"{file}, line {line}" if line else str(file)
    return ConfigurationError(
        sentence("could-not-use-playbook", "could not use the playbook {where}", where=where),
        reason=reason,
        remedy=sentence("docs-playbooks-md-describes", "docs/playbooks.md describes the form"),
    )


def _located(message: str) -> tuple[str, str]:
    """Splits a message of msgspec into the path and the reason; an unknown key is told with those that are known."""
    unknown = _UNKNOWN_FIELD.search(message)
    if unknown:
        name, path = unknown[1], unknown[2] or "$"
        kind = next((kind for form, kind in _KINDS if form.fullmatch(path)), None)
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(kind)) if kind else ""
        return f"{path}.{name}", sentence("playbook-no-such-key", "no such key; there are {known}", known=known)
    match = _AT.fullmatch(message)
    path, reason = (match[2], match[1]) if match else ("$", message)
    path = path.split("[...]")[0]
    choices = next((kinds for end, kinds in _CHOICES if path.endswith(end)), None)
    if choices is not None:
        reason = sentence("playbook-there-are", "{reason}; there are {names}", reason=reason, names=list(choices))
    return path, reason


def _playbook(slug: str, parsed: _File) -> Playbook:
    return Playbook(
        slug=slug,
        title=parsed.title,
        symptom=parsed.symptom,
        answers=tuple(parsed.answers or ()),
        parameters=tuple(
            Parameter(name=item.name, type=item.type, about=item.about, default=item.default, required=item.required)
            for item in parsed.parameters
        ),
        steps=tuple(_step(number, item) for number, item in enumerate(parsed.steps)),
        rollback={lang: tuple(lines) for lang, lines in parsed.rollback.items()},
        kind=parsed.kind,
    )


def _step(number: int, parsed: _Step) -> PlaybookStep:
    span = _SPAN.fullmatch(parsed.timeout)
    count = decimal(span[1], high=MOST_INT32) if span else None
    if span is None or count is None:
        raise Misplaced(
            f"$.steps[{number}].timeout",
            sentence("playbook-no-span", "{text!r} is not a time span such as 90s or 5m", text=parsed.timeout),
        )
    return PlaybookStep(
        id=parsed.id,
        about=parsed.about,
        command=parsed.run,
        options=parsed.decide,
        timeout_ms=count * UNIT_MS[span[2]],
        exits=parsed.exits,
        when=parsed.when,
        capture=parsed.capture,
        results=tuple(
            StepResult(id=item.id, when=item.when, means=item.means, stop=item.stop) for item in parsed.results
        ),
        changes=parsed.changes,
        confirm=parsed.confirm,
        asks=parsed.asks,
    )
