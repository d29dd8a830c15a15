"""`mqctl rules explain`: one rule in words."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.commands.rules.explain_view import RuleExplained, facts
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.render.document import Document, Paragraphs
from mqctl.render.finding_texts import explain, title
from mqctl.rules import RULES
from mqctl.rules.engine.audience import GroupKind, TopicKind
from mqctl.text import composed, sentence

EXAMPLES = ("mqctl rules explain MQ701", "mqctl rules explain MQ701 --lang zh")


def command(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Code of the rule, MQ701 for instance.")],
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Explain one rule: what it looks at, what it means, what helps."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise NotFoundError(
            sentence("rules-no-rule", "no rule {code}", code=code), remedy=command_line("mqctl rules list")
        )
    value = RuleExplained(
        code=rule.code,
        severity=str(rule.severity),
        playbook=rule.playbook,
        source=rule.source,
        needs=[str(part) for part in rule.needs],
        groups=_kinds(GroupKind, rule.groups),
        not_for=_others(GroupKind, rule.groups),
        topics=_kinds(TopicKind, rule.topics),
        not_topics=_others(TopicKind, rule.topics),
    )
    lines = [
        composed("{code}  {title}", code=rule.code, title=title(rule.code)),
        "",
        *explain(rule.code),
        "",
        *facts(value),
    ]
    emit(Document(schema="rules.explain/1", value=value, records=[value], blocks=[Paragraphs(lines)]), output)


def _kinds(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind in kinds]


def _others(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind not in kinds] if kinds else []
