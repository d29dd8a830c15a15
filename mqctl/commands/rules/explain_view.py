"""What is to be said of a rule beside its text: whom it is for, what it needs, where it comes from."""

from __future__ import annotations

from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import Word, sentence


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


def facts(rule: RuleExplained) -> list[str]:
    """Returns the lines below a rule's text."""
    lines = [sentence("rules-severity", "severity:  {severity}", severity=Word(rule.severity))]
    lines.append(
        sentence("rules-needs", "needs:     {needs}", needs=rule.needs)
        if rule.needs
        else sentence("rules-needs-nothing-beyond-snapshot", "needs:     nothing beyond the snapshot")
    )
    if rule.groups:
        lines.append(sentence("rules-groups", "groups:    {groups}", groups=rule.groups))
        lines.append(sentence("rules-not", "not for:   {not_for}", not_for=rule.not_for))
    if rule.topics:
        lines.append(sentence("rules-topics", "topics:    {topics}", topics=rule.topics))
    if rule.not_topics:
        lines.append(sentence("rules-not", "not for:   {not_for}", not_for=rule.not_topics))
    lines.append(sentence("rules-rocketmq", "RocketMQ:  {source}", source=rule.source))
    lines.append(
        sentence(
            "rules-playbook",
            "playbook:  {playbook} ({value})",
            playbook=rule.playbook,
            value=command_line("mqctl playbook show {}", rule.playbook),
        )
    )
    return lines
