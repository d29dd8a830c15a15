"""What a word means, on a terminal."""

from __future__ import annotations

from mqctl.commands.explain.rows import Explained, Meant, RuleFacts
from mqctl.text import Word, composed, sentence


def page(row: Explained) -> list[str]:
    """Returns the lines that explain a word as one of the things it means."""
    if row.rule is not None:
        from mqctl.render.finding_texts import explain

        head = composed("{code}  {title}", code=row.word, title=row.meaning)
        return [head, "", *explain(row.word), "", *_facts(row.rule, row.command)]
    if row.kind is Meant.EXIT_CODE:
        return [sentence("explain-exit-code", "exit code {code}: {meaning}", code=row.word, meaning=row.meaning)]
    if row.kind is Meant.CAUSE:
        code = str(row.exit_code)
        return [
            sentence(
                "explain-cause",
                "cause {word} (exit code {code}): {meaning}",
                word=row.word,
                code=code,
                meaning=row.meaning,
            )
        ]
    words = f"{row.word} ({', '.join(row.also)})" if row.also else row.word
    return [
        composed("{words}  →  {rocketmq}", words=words, rocketmq=row.meaning),
        "",
        row.text or "",
        "",
        row.command or "",
    ]


def _facts(rule: RuleFacts, playbook: str | None) -> list[str]:
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
    lines.append(sentence("rules-playbook", "playbook:  {playbook} ({value})", playbook=rule.playbook, value=playbook))
    return lines
