"""Tables and machine forms of `mqctl commands`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqctl.cli.catalog_mqadmin import span_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Document, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """One command of mqctl; `impact` is `reads`, `changes` or `destroys`."""

    command: str
    summary: str
    impact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandList:
    """Machine form of `commands`."""

    commands: list[CommandRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class MqadminRow:
    """One sub-command of mqadmin and the releases that have it; `coverage` is `whole`, `part` or `none`, `commands` the
    lines to type instead, `commands_argv` the words of each."""

    mqadmin: str
    versions: list[str]
    coverage: str
    commands: list[str]
    note: str
    commands_argv: list[list[str]]
    note_key: str | None
    note_values: dict[str, Any] | None

    @property
    def instead(self) -> str:
        """The lines to type after `mqctl`, the best first."""
        return "; ".join(line.removeprefix("mqctl ") for line in self.commands)

    @property
    def span(self) -> str:
        """The first and the last release that has it."""
        return span_of(self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class MqadminList:
    """Machine form of `commands --mqadmin`."""

    commands: list[MqadminRow]


_COMMANDS = (Column("command", "command"), Column("impact", "impact"), Column("summary", "what it does"))
_MQADMIN = (
    Column("mqadmin", "mqadmin"),
    Column("instead", "mqctl"),
    Column("coverage", "coverage"),
    Column("span", "in"),
    Column("note", "note"),
)
_MQADMIN_CSV = tuple(Column("versions", "versions") if column.key == "span" else column for column in _MQADMIN)


def commands_document(rows: Sequence[CommandRow]) -> Document:
    """Shows the commands of mqctl."""
    return Document(
        schema="commands/1",
        value=CommandList(commands=list(rows)),
        records=rows,
        blocks=[Table(_COMMANDS, rows)],
    )


def mqadmin_document(rows: Sequence[MqadminRow]) -> Document:
    """Shows what stands in for sub-commands of mqadmin."""
    return Document(
        schema="commands.mqadmin/1",
        value=MqadminList(commands=list(rows)),
        records=rows,
        csv_columns=_MQADMIN_CSV,
        blocks=[Table(_MQADMIN, rows)],
    )
