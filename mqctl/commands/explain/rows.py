"""Words with what they mean: rules, exit codes, causes of gaps, terms of Kafka."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mqctl.errors import ExitCode
from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause, exit_code_of_cause
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column
from mqctl.text import keep_texts, sentence

if TYPE_CHECKING:
    from mqctl.render.kafka_terms import Term
    from mqctl.rules.engine.rule import Rule

COLUMNS = (
    Column("kind", "kind", CellKind.WORDS),
    Column("word", "word"),
    Column("meaning", "meaning"),
    Column("command", "look at it with", none=""),
    Column("text", "what", none="", wide=True),
)


class Meant(StrEnum):
    """What a word is."""

    RULE = "rule"
    EXIT_CODE = "exit code"
    CAUSE = "cause"
    KAFKA = "Kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFacts:
    """Whom a rule is for, what it needs, where it comes from."""

    code: str
    severity: str
    playbook: str
    source: str
    needs: list[str]
    groups: list[str]
    not_for: list[str]
    topics: list[str]
    not_topics: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One meaning of a word.

    Attributes:
        also: other words of Kafka that it explains.
        meaning: of a rule its title, of a term of Kafka what RocketMQ calls it.
        text: of a term of Kafka, what is the same and what differs.
        exit_code: what a command ends with, of a code or a cause.
    """

    kind: Meant
    word: str
    meaning: str
    also: list[str]
    text: str | None = None
    exit_code: int | None = None
    command: str | None = None
    command_argv: list[str] | None = None
    rule: RuleFacts | None = None
    meaning_key: str | None = None
    meaning_values: dict[str, Any] | None = None
    text_key: str | None = None
    text_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "meaning", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """Machine form of `explain`."""

    explanations: list[Explained]


CODES: dict[ExitCode, str] = {
    ExitCode.OK: sentence("exit-ok", "done; a judging command found nothing"),
    ExitCode.WARNING: sentence("exit-warning", "a judging command found at worst a warning"),
    ExitCode.ERROR: sentence("exit-error", "a judging command found an error or worse"),
    ExitCode.UNKNOWN: sentence(
        "exit-unknown", "a judging command could not see enough to judge; an answer lacks a broker that is gone"
    ),
    ExitCode.USAGE: sentence("exit-usage", "the command line is wrong"),
    ExitCode.BAD_INPUT: sentence(
        "exit-bad-input",
        "input that cannot be read at all: a directory that is not a store, a file that is not a snapshot",
    ),
    ExitCode.NOT_FOUND: sentence("exit-not-found", "no such topic, group, broker, message or file"),
    ExitCode.UNREACHABLE: sentence("exit-unreachable", "no answer"),
    ExitCode.BUG: sentence("exit-bug", "a bug in mqctl"),
    ExitCode.IO: sentence("exit-io", "the operating system refused to read or write"),
    ExitCode.TIMEOUT: sentence("exit-timeout", "no answer within the deadline"),
    ExitCode.REFUSED: sentence("exit-refused", "refused by the broker, or impossible in this state"),
    ExitCode.PERMISSION: sentence("exit-permission", "access control, file permissions or ptrace are in the way"),
    ExitCode.CONFIG: sentence("exit-config", "a setting that cannot be used: a broken profile, no Java for Spark"),
    ExitCode.INTERRUPTED: sentence("common-interrupted", "interrupted"),
}
"""What each exit code means; docs/exit-codes.md lists them."""

CAUSES: dict[Cause, str] = {
    Cause.SILENT: sentence("cause-silent", "nothing listened there, or the connection was lost"),
    Cause.TIMED_OUT: sentence("cause-timed-out", "asked, and not answered in time"),
    Cause.NOT_ASKED: sentence("cause-not-asked", "the time of the command was over before its turn came"),
    Cause.DENIED: sentence("cause-denied", "access control or a permission is in the way"),
    Cause.REFUSED: sentence("cause-refused", "the other side answered and refused"),
    Cause.UNSUPPORTED: sentence("cause-unsupported", "the other side, or its version, does not support it"),
    Cause.DAMAGED: sentence("cause-damaged", "an answer or a file that cannot be understood"),
    Cause.UNREADABLE: sentence(
        "cause-unreadable", "the operating system refused to read it, or its format is not read offline"
    ),
    Cause.LEFT_OUT: sentence(
        "cause-left-out", "it was not looked at: a limit, a quick look, a snapshot saved without it"
    ),
    Cause.UNREGISTERED: sentence(
        "cause-unregistered",
        "a broker that belongs to the cluster, or was registered within a day, is not registered and cannot be asked",
    ),
    Cause.UNPROVEN: sentence(
        "cause-unproven",
        "a release, or an engine, that mqctl does not know answered: it may mean something else there",
    ),
}
"""What the cause of a gap means; docs/exit-codes.md lists them."""


def of_code(code: ExitCode) -> Explained:
    """Returns what an exit code means."""
    return Explained(kind=Meant.EXIT_CODE, word=str(code.value), also=[], meaning=CODES[code], exit_code=code.value)


def of_cause(cause: Cause) -> Explained:
    """Returns what the cause of a gap means."""
    code = exit_code_of_cause(cause)
    return Explained(kind=Meant.CAUSE, word=cause.value, also=[], meaning=CAUSES[cause], exit_code=code.value)


def of_term(term: Term) -> Explained:
    """Returns what a term of Kafka is in RocketMQ."""
    line = command_line(term.command)
    return Explained(
        kind=Meant.KAFKA,
        word=term.name,
        also=list(term.also),
        meaning=term.rocketmq,
        text=term.text,
        command=line,
        command_argv=list(line.words),
    )


def of_rule(rule: Rule) -> Explained:
    """Returns what a rule is about, and for whom."""
    from mqctl.render.finding_texts import title
    from mqctl.rules.engine.audience import GroupKind, TopicKind

    line = command_line("mqctl playbook show {}", rule.playbook)
    return Explained(
        kind=Meant.RULE,
        word=rule.code,
        also=[],
        meaning=title(rule.code),
        command=line,
        command_argv=list(line.words),
        rule=RuleFacts(
            code=rule.code,
            severity=str(rule.severity),
            playbook=rule.playbook,
            source=rule.source,
            needs=[str(part) for part in rule.needs],
            groups=_kinds(GroupKind, rule.groups),
            not_for=_others(GroupKind, rule.groups),
            topics=_kinds(TopicKind, rule.topics),
            not_topics=_others(TopicKind, rule.topics),
        ),
    )


def _kinds(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind in kinds]


def _others(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind not in kinds] if kinds else []
