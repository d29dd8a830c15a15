"""A runbook that runs: what it answers, what it takes, its steps and what each result means. Spans are milliseconds.

Texts are held in every language of the catalogue; ids, codes and command lines do not depend on the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from mqctl.errors import ExitCode
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass

Words = Mapping[Lang, str]
Argument = str | int | None


class ParameterType(StrEnum):
    """What a parameter's value must look like."""

    TEXT = "text"
    GROUP = "group"
    TOPIC = "topic"
    BROKER = "broker"
    PATH = "path"
    SPAN = "span"
    INTEGER = "integer"


class PlaybookKind(StrEnum):
    """What a playbook is for: an incident that findings report, or a rehearsal before there is one."""

    INCIDENT = "incident"
    REHEARSAL = "rehearsal"


class PlaybookEnd(StrEnum):
    """How a playbook ends before its last step."""

    DONE = "done"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What a playbook is told with `-p NAME=VALUE`.

    Attributes:
        default: used when nothing is given; None makes an optional parameter absent.
        required: must be given.
    """

    name: str
    type: ParameterType
    about: Words
    default: str | int | None = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What a step may show, and what that means.

    Attributes:
        when: a condition over parameters, captures, exits and choices.
        stop: whether the playbook ends here.
    """

    id: str
    when: str
    means: Words
    stop: PlaybookEnd | None = None


_IN_PART = (ExitCode.IO, ExitCode.TIMEOUT, ExitCode.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookStep:
    """One step: a command of mqctl, or (with `options`) a decision that a person takes.

    Attributes:
        command: words after `mqctl`, with places such as `{group}`; `[-t {topic}]` is left out without a topic.
        exits: expected exit codes and what each means; any other stops the playbook.
        when: the step is skipped unless this holds.
        capture: name -> JMESPath expression over the command's JSON document.
        changes: the command only plans until the playbook runs with `--execute`.
        confirm: the name that must be confirmed before the change.
        asks: the command asks somebody while it works: it only announces until the playbook runs with `--execute`.
        options: of a decision: choice -> what it means.
    """

    id: str
    about: Words
    command: str | None = None
    timeout_ms: int = 60_000
    exits: Mapping[int, Words] = field(default_factory=dict)
    when: str | None = None
    capture: Mapping[str, str] = field(default_factory=dict)
    results: tuple[StepResult, ...] = ()
    changes: bool = False
    confirm: str | None = None
    asks: bool = False
    options: Mapping[str, Words] = field(default_factory=dict)

    @property
    def meanings(self) -> Mapping[int, Words]:
        """What each expected exit code means. 69 stands for every answer in part that other keys would not complete:
        silent, timed out, refused and damaged mean the same to a playbook unless it says otherwise."""
        part = self.exits.get(ExitCode.UNREACHABLE)
        return self.exits if part is None else {**dict.fromkeys(_IN_PART, part), **self.exits}


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """A runbook.

    Attributes:
        answers: codes of the findings that it is for; none of a rehearsal.
        rollback: how to take back what its steps changed, one sentence each.
    """

    slug: str
    title: Words
    symptom: Words
    answers: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    steps: tuple[PlaybookStep, ...]
    rollback: Mapping[Lang, tuple[str, ...]]
    kind: PlaybookKind = PlaybookKind.INCIDENT

    @property
    def changes(self) -> bool:
        """Tells whether a step can change a cluster."""
        return any(step.changes or step.asks for step in self.steps)
