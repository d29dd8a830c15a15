"""docs/literature.md and its Chinese: what articles and books about RocketMQ name, what shows it, and its tests.

The table is docs/literature.yaml; tests/docs/test_literature_page.py holds that what it names is there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from mqctl.model.lang import Lang

_HEADS = {
    Lang.EN: (
        "# The literature, clause by clause",
        "What articles and books about RocketMQ name: mechanisms, sums, remedies. Each with the command that shows it, "
        "a scenario (`mqctl local scenario run NAME`) or a store to see it on, and the test that holds it. "
        "[中文](literature.zh.md)",
        "| what | command | to see it on | test |",
        "a store directory",
    ),
    Lang.ZH: (
        "# 文献逐条对照",
        "关于 RocketMQ 的文章和书籍提到的机制、计算与对策：每一条给出查看它的命令、"
        "可以观察它的场景（`mqctl local scenario run NAME`）或存储目录，以及保证它的测试。[English](literature.md)",
        "| 内容 | 命令 | 在哪里观察 | 测试 |",
        "存储目录",
    ),
}


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that the literature names.

    Attributes:
        en, zh: what it is.
        run: command lines that show it, without `mqctl`.
        scenario: where to see it live.
        store: it is seen on a store directory.
        tests: `file::name`.
    """

    en: str
    zh: str
    tests: tuple[str, ...]
    run: tuple[str, ...] = ()
    scenario: str | None = None
    store: bool = False


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What belongs together."""

    en: str
    zh: str
    clauses: tuple[Clause, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Returns the table."""
    text = (Path(__file__).parent / "literature.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=tuple[Section, ...])


def page(lang: Lang) -> str:
    """Returns the page in a language."""
    title, begin, head, store = _HEADS[lang]
    lines = [title, "", begin]
    for section in sections():
        lines += ["", f"## {section.en if lang is Lang.EN else section.zh}", "", head, "|---|---|---|---|"]
        lines += [_row(clause, lang, store) for clause in section.clauses]
    return "\n".join((*lines, ""))


def _row(clause: Clause, lang: Lang, store: str) -> str:
    what = clause.en if lang is Lang.EN else clause.zh
    commands = "<br>".join(f"`mqctl {line}`" for line in clause.run)
    places = [f"`{clause.scenario}`"] if clause.scenario else []
    places += [store] if clause.store else []
    tests = "<br>".join(f"`{name.rpartition('::')[2]}`" for name in clause.tests)
    return f"| {what} | {commands} | {', '.join(places)} | {tests} |"
