"""docs/kafka.md and its Chinese: Kafka's terms in RocketMQ's, from the catalogue behind `mqctl explain`.

What follows below the table, the examples, is written by hand and kept.
"""

from __future__ import annotations

from pathlib import Path

from mqctl.model.lang import Lang
from mqctl.render.kafka_terms import KAFKA_TERMS
from mqctl.render.translation import spoken

_HEADS = {
    Lang.EN: (
        "# RocketMQ for people who know Kafka",
        "The same on a terminal: `mqctl explain TERM`. To see what another assignor would do with a group of "
        "yours: `mqctl allocation simulate -g GROUP -t TOPIC --as kafka range` (or `roundrobin`, `sticky`). "
        "[中文](kafka.zh.md)",
        "| Kafka | RocketMQ | what is the same, what differs | look at it with |",
    ),
    Lang.ZH: (
        "# 写给熟悉 Kafka 的人",
        "终端中查看：`mqctl explain TERM --lang zh`。比较同一消费组在 Kafka 分配策略下的结果："
        "`mqctl allocation simulate -g GROUP -t TOPIC --as kafka range`（或 `roundrobin`、`sticky`）。"
        "[English](kafka.md)",
        "| Kafka | RocketMQ | 异同 | 查看命令 |",
    ),
}


def page(lang: Lang) -> str:
    """Returns the page in a language."""
    title, begin, head = _HEADS[lang]
    rows = []
    for term in KAFKA_TERMS:
        words = f"**{term.name}**" + (f"<br>{', '.join(term.also)}" if term.also else "")
        rows.append(f"| {words} | {spoken(term.rocketmq, lang)} | {spoken(term.text, lang)} | `{term.command}` |")
    name = "kafka.md" if lang is Lang.EN else "kafka.zh.md"
    _, _, examples = (Path(__file__).parent / name).read_text(encoding="utf-8").partition("\n## ")
    return "\n".join((title, "", begin, "", head, "|---|---|---|---|", *rows, "", f"## {examples}"))
