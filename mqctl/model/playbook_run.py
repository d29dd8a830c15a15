"""What became of a run of a playbook: which steps ran, what they said, how long they took. Spans are milliseconds."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

from mqctl.errors import ExitCode
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.text import keep_texts

Scalar = str | int | float | bool | None


class StepState(StrEnum):
    """How a step fared.

    `planned`: a change that was only shown; `decided`: a person chose; `undecided`: nobody did.
    """

    EXPECTED = "expected"
    CHANGED = "changed"
    PLANNED = "planned"
    SKIPPED = "skipped"
    DECIDED = "decided"
    UNDECIDED = "undecided"
    UNEXPECTED = "unexpected"
    TIMED_OUT = "timed-out"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"


class Ending(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    DONE = "done"
    ATTENTION = "attention"
    UNDECIDED = "undecided"
    UNEXPECTED = "unexpected"
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    OTHER_CLUSTER = "other-cluster"
    NO_CLUSTER = "no-cluster"
    INTERRUPTED = "interrupted"

    @property
    def exit_code(self) -> ExitCode:
        """What `playbook run` ends with: 0 at its end, 1 somebody must act, 2 stopped in the middle."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Ending.COMPLETE: ExitCode.OK,
    Ending.DONE: ExitCode.OK,
    Ending.ATTENTION: ExitCode.WARNING,
    Ending.UNDECIDED: ExitCode.WARNING,
    Ending.UNEXPECTED: ExitCode.ERROR,
    Ending.REFUSED: ExitCode.REFUSED,
    Ending.TIMED_OUT: ExitCode.TIMEOUT,
    Ending.OTHER_CLUSTER: ExitCode.BAD_INPUT,
    Ending.NO_CLUSTER: ExitCode.UNREACHABLE,
    Ending.INTERRUPTED: ExitCode.INTERRUPTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which cluster the name servers told of.

    Attributes:
        clusters: their names.
        brokers: `cluster/broker`, of all of them.
        fingerprint: of both; the same until a cluster, or a broker of one, comes or goes.
    """

    clusters: tuple[str, ...]
    brokers: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step of a run.

    Attributes:
        command: the whole command line, as one could type it, `command_argv` its words; None for a decision.
        exit_code: None where nothing ran.
        result: id of the result that held, if one did.
        means: what the exit code or the result means, in words.
        said: what the command wrote to stdout, cut where it was very long.
        complained: what it wrote to stderr.
        change: id of the change in the journal, for `mqctl undo`.
    """

    id: str
    state: StepState
    about: str
    command: str | None = None
    exit_code: int | None = None
    took_ms: int = 0
    result: str | None = None
    means: list[str] = field(default_factory=list)
    choice: str | None = None
    captured: dict[str, Scalar] = field(default_factory=dict)
    said: str = ""
    complained: str = ""
    change: str | None = None
    command_argv: list[str] | None = None
    keyed_means: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        if [item.text for item in self.keyed_means] != self.means:
            object.__setattr__(self, "keyed_means", said(self.means))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookRun:
    """Machine form of `playbook run`.

    Attributes:
        executed: whether changes were allowed.
        why: why the run ended where it did, beyond what its steps say.
    """

    playbook: str
    title: str
    began_at_ms: int
    took_ms: int
    executed: bool
    ending: Ending
    why: str
    parameters: dict[str, str | int | None]
    cluster: Identity | None
    steps: list[StepRun]
    rollback: list[str]
    why_key: str | None = None
    why_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "why")
