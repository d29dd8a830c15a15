"""`mqctl rules explain`: one rule in words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.diagnosis import RULES
from mqctl.diagnosis.audience import GroupKind, TopicKind
from mqctl.errors import NotFoundError
from mqctl.render.document import Document, Paragraphs
from mqctl.render.messages import explain, title

EXAMPLES = ("mqctl rules explain MQ701", "mqctl rules explain MQ701 --lang zh")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleExplained:
    """Machine form of `rules explain`."""

    code: str
    severity: str
    playbook: str
    source: str
    needs: list[str]
    groups: list[str]
    not_for: list[str]
    topics: list[str]
    not_topics: list[str]


def command(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Code of the rule, MQ701 for instance.")],
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """Explain one rule: what it looks at, what it means, what helps."""
    rule = RULES.get(code.upper())
    if rule is None:
        raise NotFoundError(f"no rule {code}", remedy="mqctl rules list")
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
    lines = [f"{rule.code}  {title(rule.code, lang)}", "", *explain(rule.code, lang).splitlines(), ""]
    lines.append(f"severity:  {rule.severity}")
    lines.append(f"needs:     {', '.join(map(str, rule.needs)) or 'nothing beyond the snapshot'}")
    if value.groups:
        lines.append(f"groups:    {', '.join(value.groups)}")
        lines.append(f"not for:   {', '.join(value.not_for)}")
    if value.topics:
        lines.append(f"topics:    {', '.join(value.topics)}")
    if value.not_topics:
        lines.append(f"not for:   {', '.join(value.not_topics)}")
    lines.append(f"RocketMQ:  {rule.source}")
    lines.append(f"playbook:  {rule.playbook} (mqctl playbook show {rule.playbook})")
    emit(Document(schema="rules.explain/1", value=value, records=[value], blocks=[Paragraphs(lines)]), output)


def _kinds(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind in kinds]


def _others(all_kinds: type[StrEnum], kinds: Collection[StrEnum]) -> list[str]:
    return [str(kind) for kind in all_kinds if kind not in kinds] if kinds else []
