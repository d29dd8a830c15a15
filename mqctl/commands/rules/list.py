"""`mqctl rules list`: every rule with severity and playbook."""

from __future__ import annotations

from typing import Any

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.render.finding_texts import title
from mqctl.rules import RULES
from mqctl.text import keep_texts

EXAMPLES = ("mqctl rules list", "mqctl rules list -o json", "mqctl explain MQ701")

COLUMNS = (
    Column("code", "code"),
    Column("severity", "severity", CellKind.SEVERITY),
    Column("title", "what it finds"),
    Column("playbook", "playbook"),
    Column("source", "in RocketMQ", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule."""

    code: str
    severity: str
    title: str
    playbook: str
    source: str
    title_key: str | None = None
    title_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "title")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleList:
    """Machine form of `rules list`."""

    rules: list[RuleRow]


def command(
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """List the rules with severity and playbook."""
    rows = [
        RuleRow(
            code=rule.code,
            severity=str(rule.severity),
            title=title(rule.code),
            playbook=rule.playbook,
            source=rule.source,
        )
        for rule in RULES.values()
    ]
    emit(
        Document(schema="rules.list/1", value=RuleList(rules=rows), records=rows, blocks=[Table(COLUMNS, rows)]), output
    )
