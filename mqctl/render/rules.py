"""What is to be said of a rule beside its text: whom it is for, what it needs, where it comes from."""

from __future__ import annotations

from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass


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
    lines = [f"severity:  {rule.severity}"]
    lines.append(f"needs:     {', '.join(rule.needs)}" if rule.needs else "needs:     nothing beyond the snapshot")
    if rule.groups:
        lines.append(f"groups:    {', '.join(rule.groups)}")
        lines.append(f"not for:   {', '.join(rule.not_for)}")
    if rule.topics:
        lines.append(f"topics:    {', '.join(rule.topics)}")
    if rule.not_topics:
        lines.append(f"not for:   {', '.join(rule.not_topics)}")
    lines.append(f"RocketMQ:  {rule.source}")
    lines.append(f"playbook:  {rule.playbook} ({command_line('mqctl playbook show {}', rule.playbook)})")
    return lines
