"""What rules say, in each language, for tests that go through all of it."""

from __future__ import annotations

from functools import cache

from docs import texts
from mqctl.model.finding import Finding
from mqctl.model.lang import Lang
from mqctl.render.finding_texts import FindingTexts, sentences
from mqctl.render.translation import CATALOGUE, read_catalogue, spoken
from mqctl.rules import RULES
from mqctl.rules.engine.rule import RuleTexts

CHINESE = read_catalogue(CATALOGUE.read_text(encoding="utf-8"))
KNOWN = texts.sources()
ENGLISH = {key: min(templates) for key, templates in KNOWN.items()}


@cache
def rule_texts(lang: Lang | None) -> dict[str, RuleTexts]:
    """Returns the texts of each rule in a language."""
    english = {code: rule.texts for code, rule in RULES.items()}
    return english if lang is not Lang.ZH else {code: _chinese(code, text) for code, text in english.items()}


def _chinese(code: str, english: RuleTexts) -> RuleTexts:
    def said(part: str) -> str:
        return CHINESE[f"{code.lower()}-{part}"]

    return RuleTexts(
        title=said("title"),
        what={variant: said(f"what-{variant}" if variant else "what") for variant in english.what},
        effect=said("effect"),
        advice=said("advice"),
        other_advice={variant: said(f"advice-{variant}") for variant in english.other_advice},
        explain=said("explain"),
    )


def finding_texts(finding: Finding, lang: Lang | None, source: str = "--store DIR") -> FindingTexts:
    """Returns what people read of a finding in a language."""
    said = sentences(finding, source)
    return FindingTexts(
        what=spoken(said.what, lang),
        effect=spoken(said.effect, lang),
        advice=spoken(said.advice, lang),
        next_command=said.next_command,
    )
