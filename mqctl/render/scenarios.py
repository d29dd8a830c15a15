"""Scenarios: the list of them, what one that runs has planted, and what the findings of the quickstart mean."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import CommandLine, composed, keep_texts, sentence

_MEANS = (
    (
        "MQ203",
        sentence(
            "scenario-settlement-loses-messages-two",
            "settlement loses messages: its two instances want different tags, and each queue has one owner.",
        ),
    ),
    (
        "MQ307",
        sentence(
            "scenario-billing-stands-still-threads",
            "billing is stuck: its threads hold messages and finish none.",
        ),
    ),
    (
        "MQ301",
        sentence(
            "scenario-account-makes-most-trades",
            "one account makes most trades, and a key has one queue: more instances would not help matching.",
        ),
    ),
    (
        "MQ707",
        sentence(
            "scenario-reminders-overdue-broker-room",
            "reminders are overdue: a broker of room CP has stopped delivering delayed messages.",
        ),
    ),
    (
        "MQ401",
        sentence(
            "scenario-billing-matching-behind-count",
            "billing and matching are behind, by count and by time: that is what they suffer from, not the cause.",
        ),
    ),
)
HEALTHY = sentence("scenario-notify-healthy-nothing-said", "notify is healthy, so nothing is said about it.")

LIST_COLUMNS = (
    Column("name", "scenario"),
    Column("title", "what is wrong", CellKind.SENTENCE),
    Column("findings", "doctor finds"),
    Column("playbook", "playbook", wide=True),
    Column("time_scale", "time scale", CellKind.COUNT, wide=True),
    Column("consumer_count", "consumers", CellKind.COUNT, wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRow:
    """One scenario.

    Attributes:
        findings: codes that `doctor` shows, separated by commas.
        playbook: slug of the playbook that it is for.
        time_scale: how many times shorter than RocketMQ's own its periods are.
    """

    name: str
    title: str
    playbook: str | None
    findings: str
    time_scale: float
    broker_count: int
    consumer_count: int
    planted: list[str]
    title_key: str | None = None
    title_values: dict[str, Any] | None = None
    keyed_planted: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        keep_texts(self, "title")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioList:
    """Machine form of `local scenario list`."""

    scenarios: list[ScenarioRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningScenario:
    """Machine form of `local scenario run`.

    Attributes:
        cluster: name of the local cluster.
        namesrv: name servers of the first cluster: `host:port;host:port`.
        stores: store directory by broker.
        as_declared: whether `doctor` has shown what is declared; if not, `trouble` tells what is missing.
        doctor: command lines of `doctor` that show it, each as its words after `mqctl`.
        next_commands: what to type next, `next_commands_argv` the words of each.
    """

    scenario: ScenarioRow
    cluster: str
    namesrv: str
    stores: dict[str, str]
    as_declared: bool
    trouble: str
    doctor: list[list[str]]
    next_commands: list[str]
    next_commands_argv: list[list[str]]
    trouble_key: str | None = None
    trouble_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "trouble")


def scenario_list_document(rows: Sequence[ScenarioRow]) -> Document:
    """Builds the list."""
    return Document(
        schema="local.scenario.list/1",
        value=ScenarioList(scenarios=list(rows)),
        records=rows,
        blocks=[Table(LIST_COLUMNS, rows)],
    )


def running_document(running: RunningScenario) -> Document:
    """Builds what a reader needs to begin: what is wrong, where it is, what to type."""
    row = running.scenario
    lines = [
        composed("{row}: {title}", row=row.name, title=row.title),
        *(composed("  {line}", line=line) for line in row.planted),
    ]
    where = [sentence("scenario-name-server", "Name server  {namesrv}", namesrv=running.namesrv)]
    where += [
        sentence("scenario-store", "Store        {name}: {path}", name=name, path=path)
        for name, path in running.stores.items()
    ]
    where += [sentence("scenario-time-scale", "Time scale   {scale_text}", scale_text=scale_text(row.time_scale))]
    blocks = [Paragraphs(lines), Paragraphs(where)]
    if running.trouble:
        blocks.append(
            Paragraphs(
                [sentence("scenario-not-declared", "Not as declared: {trouble}", trouble=running.trouble)],
                severity="warning",
            )
        )
    if running.next_commands:
        blocks.append(
            Paragraphs([sentence("type-next", "What to type next"), *(f"  {line}" for line in running.next_commands)])
        )
    return Document(schema="local.scenario.run/1", value=running, records=[running], blocks=blocks)


def scale_text(time_scale: float) -> str:
    """Returns a time scale in words."""
    return sentence(
        "scenario-minute-clients-brokers-rules",
        "{time_scale:g}: a minute of clients, brokers and rules is {minute_ms}",
        time_scale=time_scale,
        minute_ms=round(60_000 / time_scale),
    )


def commands_to_type(
    doctor: Iterable[Sequence[str]], following: Iterable[str], stores: Mapping[str, str]
) -> list[CommandLine]:
    """Returns the commands as a shell takes them; `{broker}` stands for its store directory."""
    lines = [shell_words(["mqctl", *words]) for words in doctor]
    for line in following:
        words = shlex.split(line)
        for name, path in stores.items():
            words = [word.replace(f"{{{name}}}", path) for word in words]
        lines.append(shell_words(words))
    return lines


def meanings(codes: Iterable[str]) -> list[str]:
    """Returns what the findings with these codes mean, causes first."""
    known = set(codes)
    return [text for code, text in _MEANS if code in known]
