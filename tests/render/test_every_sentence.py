"""Every sentence of the catalogue with counts 0, 1 and 2, in both languages: no `1 messages`, no braces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import product
from string import Formatter

import pytest

from mqctl.diagnosis import RULES
from mqctl.local.scenario_files import load_scenario, scenario_names
from mqctl.model.finding import Confidence, Evidence, Finding, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.lang import Lang
from mqctl.model.timeline import EventKind, TimelineEvent
from mqctl.render.messages import explain, reason, sayer, sentences, title
from mqctl.render.messages.en.phrases import PHRASES as EN_PHRASES
from mqctl.render.messages.en.rules import RULES as EN
from mqctl.render.messages.zh.heads import HEADS, TITLES
from mqctl.render.messages.zh.phrases import PHRASES as ZH_PHRASES
from mqctl.render.messages.zh.rules import RULES as ZH
from mqctl.render.timeline import event_sentence
from mqctl.render.translation import spoken
from tests.each import each
from tests.sources import Source, in_every_module

COUNTS = (0, 1, 2)
CATALOGUES = {Lang.EN: (EN, EN_PHRASES), Lang.ZH: (ZH, ZH_PHRASES)}
NOUNS = {
    noun.rpartition(" ")[2]
    for text in EN.values()
    for template in (*text.what.values(), text.effect, text.advice)
    for _, name, noun, _ in Formatter().parse(template)
    if name and noun and "/" not in noun
} | {"message", "queue", "instance", "thread", "member", "master", "broker", "topic", "group", "record", "file"}
MANY = {f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s" for noun in NOUNS}
PLURAL_VERBS = "are|do|have|were|carry|wait|belong|hold|fail|lie|miss|come|stay|need|want"
ONE_OF_MANY = re.compile(rf"(?<![\d.,/#:-])1 (?:[a-z-]+ )?(?:(?:{'|'.join(sorted(MANY))})|(?:{PLURAL_VERBS}))\b(?! \()")


def places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def value(name: str, count: int) -> Value:
    """A value as a rule would give it, by the unit that its name ends in."""
    kind, _, ending = name.rpartition("_")
    if ending in ("word", "words"):
        return next(key.removeprefix(f"{kind}_") for key in EN_PHRASES if key.startswith(f"{kind}_"))
    if ending == "count":
        return count
    if ending in ("ms", "bytes", "id", "offset"):
        return count * 1_000
    if ending == "share":
        return 0.330064814814814
    if ending in ("tps", "rate", "ratio", "factor"):
        return count / 3
    return "text"


def written() -> Iterator[tuple[str, str, Lang]]:
    for lang, (rules, _) in CATALOGUES.items():
        for code, text in rules.items():
            for variant in text.what:
                yield code, variant, lang


@each("code, variant, lang", written())
def test_n11_sentences_of_rules_agree_with_their_counts(code: str, variant: str, lang: Lang) -> None:
    text = CATALOGUES[lang][0][code]
    commands = [command for command in (EN[code].next_command, EN[code].live_command) if command]
    names = set().union(*map(places, (text.what[variant], text.effect, text.advice, *commands))) - {"source"}
    for count in COUNTS:
        finding = Finding(
            code=code,
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            subject=Subject(kind=SubjectKind.CLUSTER),
            params={},
            evidence=tuple(Evidence(name=name, value=value(name, count)) for name in sorted(names)),
            variant=variant or None,
        )
        said = sentences(finding, lang)
        for sentence in (said.what, said.effect, said.advice, said.next_command or ""):
            check(sentence, lang)


@each("lang, about", product(Lang, ["reports", "drill", "bench"]))
def test_n11_sentences_of_reports_agree_with_their_counts(lang: Lang, about: str) -> None:
    words = import_module(f"mqctl.render.messages.{lang}.{about}").SENTENCES
    assert words.keys() == import_module(f"mqctl.render.messages.en.{about}").SENTENCES.keys()
    for key, template in words.items():
        for count in COUNTS:
            figures = {**dict.fromkeys(places(template), str(count)), "ratio": "2.5"}
            check(sayer(lang, about)(key, **figures), lang)


# Evidence that fits two causes: a word of each, and what tells them apart.
TWO_CAUSES = {
    "MQ205": ("two processes", "reconnected", "group members"),
    "MQ206": ("do not reach", "do not know", "broker reach", "topic route"),
    "MQ301": ("hash", "added later", "topic stats"),
    "MQ307": ("waiting", "busy", "stacks"),
    "MQ308": ("pull thread", "clock", "stacks"),
    "MQ309": ("same subscription", "do not see", "again"),
    "MQ402": ("not consumed", "moved the group back", "offset history"),
    "MQ404": ("crash", "created again", "older copy"),
    "MQ411": ("reset", "crashed", "two instances", "mqctl history"),
    "MQ418": ("Proxy", "without heartbeats"),
    "MQ504": ("reaches the master", "paused", "group member"),
    "MQ505": ("two releases", "two programs", "group members"),
    "MQ506": ("Bring the broker back", "create the topic", "broker list"),
    "MQ608": ("every 30 s", "does not reach", "leaves it out", "broker config"),
    "MQ615": ("on purpose", "lost the broker", "broker reach"),
    "MQ620": ("hangs", "blocked on the way", "slow", "broker reach"),
}


@each("code", TWO_CAUSES)
def test_a_rule_whose_evidence_fits_two_causes_names_both_and_what_tells_them_apart(code: str) -> None:
    missing = [word for word in TWO_CAUSES[code] if word not in EN[code].advice]
    assert missing == [], EN[code].advice


@each("lang", Lang)
def test_n11_reasons_agree_with_their_counts(lang: Lang) -> None:
    for key in Reason:
        names = places(CATALOGUES[lang][1][f"why_{key}"])
        for count in COUNTS:
            sentence = reason(Why(key, {name: value(name, count) for name in names}), lang, more_count=count)
            check(sentence, lang)
            assert lang is Lang.EN or re.search("[\u4e00-\u9fff]", sentence), sentence


@each("code", EN)
def test_n11_a_sentence_tells_a_count_once(code: str) -> None:
    """`{lost_count:was/were}` brings its number, `{lost_count:/was/were}` follows one that has told it."""
    text = EN[code]
    for template in (*text.what.values(), text.effect, text.advice):
        counts_said = set()
        for _, name, words, _ in Formatter().parse(template):
            if name and words and words.startswith("/"):
                assert name in counts_said, template
            elif name and words and " " not in words and "/" in words:
                assert name not in counts_said, template
            counts_said.add(name)


# Said of several only: of more than one broker, group, member or moment, and of rates that differ.
OF_SEVERAL = re.compile(r"brokers|alike_of|timeline_(groups|times|page_lines)|event_member-\w+|(reason_keys|keys)_\w+")


@each("lang", Lang)
def test_n11_phrases_of_advice_and_reports_agree_with_their_counts(lang: Lang) -> None:
    """Bounds, remedies, events, and what stands around findings; why something is not judged has a test of its own."""
    for key, template in CATALOGUES[lang][1].items():
        if key.startswith("why_") or OF_SEVERAL.fullmatch(key):
            continue
        for count in COUNTS:
            fields = [(name, spec) for _, name, spec, _ in Formatter().parse(template) if name]
            figures = {name: count if spec == "," else str(count) for name, spec in fields}
            check(template.format_map({**figures, **dict.fromkeys(figures.keys() & {"group", "topic"}, "Pay")}), lang)


@each("kind, lang", product(EventKind, Lang))
def test_n11_events_agree_with_their_counts(kind: EventKind, lang: Lang) -> None:
    for count in COUNTS:
        event = TimelineEvent(
            moment_ms=1, after_ms=1, until_ms=2, kind=kind, severity=Severity.INFO,
            group="G", topic="Pay", broker="broker-a", client="c", queue_count=count, message_count=count, times=2,
            in_per_s=count / 3, out_per_s=count / 3, before="a", after="b", reason="r",
        )  # fmt: skip
        for moment in (event, replace(event, until_ms=None), replace(event, after_ms=None)):
            check(event_sentence(moment, lang, many=count), lang)


@each("name, lang", product(scenario_names(), Lang))
def test_n11_titles_of_scenarios_are_plain(name: str, lang: Lang) -> None:
    title_of = load_scenario(name).title
    check(title_of if lang is Lang.EN else spoken(title_of, lang), lang)


def check(sentence: str, lang: Lang) -> None:
    assert "{" not in sentence and "}" not in sentence, sentence
    assert not re.search(r"\d\.\d{4,}", sentence), sentence
    if lang is Lang.EN:
        assert not ONE_OF_MANY.search(sentence), sentence


LISTED = re.compile(
    r"(?<!of )\{(brokers|clients|topics|names|groups|members|slaves)\}"
    r",? (?:which )?(?:is|has|was|does|do|are|have|were)\b"
)


@each("code", EN)
def test_n11_no_verb_follows_names_of_which_there_may_be_one_or_more(code: str) -> None:
    """`broker-a, broker-b does not` was said of two brokers."""
    text = EN[code]
    assert [template for template in (*text.what.values(), text.effect, text.advice) if LISTED.search(template)] == []


def test_n11_one_of_many_is_seen() -> None:
    for wrong in ("1 messages", "so 1 message are overdue", "1 instances are online", "1 instance carry two"):
        with pytest.raises(AssertionError):
            check(wrong, Lang.EN)
    for right in ("1 message is overdue", "for 1 s", "1 ms", "broker-1 is", "1,001 messages wait", "1 of 2 queues"):
        check(right, Lang.EN)


def test_both_languages_say_the_same_things() -> None:
    assert EN.keys() == ZH.keys() == RULES.keys()
    assert EN_PHRASES.keys() == ZH_PHRASES.keys()
    for code, text in EN.items():
        assert text.what.keys() == ZH[code].what.keys(), code
    for key, phrase in EN_PHRASES.items():
        # Where an error's own words say why, Chinese has the cause before them.
        assert places(phrase) == places(ZH_PHRASES[key]) - {"cause_word"}, key
        assert phrase != ZH_PHRASES[key], key


@each("lang", Lang)
def test_titles_and_explanations_have_no_places_left(lang: Lang) -> None:
    for code in RULES:
        check(title(code, lang), lang)
        check(explain(code, lang), lang)
        assert len(explain(code, lang)) > len(title(code, lang)) > 0, code


def heads_and_titles(source: Source) -> Iterator[tuple[str, str]]:
    """Yields the heads of columns in a module, and the titles of tables with what stands for an empty one."""
    if not source.name.startswith("mqctl/"):
        return
    for node in source.nodes:
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Column", "Table")):
            continue
        if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            yield "head", str(node.args[1].value)
        for item in node.keywords:
            if item.arg in ("none", "empty", "title") and isinstance(item.value, ast.Constant) and item.value.value:
                yield "title", str(item.value.value)


all_heads_and_titles = in_every_module(heads_and_titles)


def test_n11_every_head_has_its_chinese() -> None:
    heads = {text for kind, text in all_heads_and_titles() if kind == "head"}
    titles = {text for kind, text in all_heads_and_titles() if kind == "title"}
    keys = {head for head in heads if "_" in head}  # a CSV column is headed by its key
    assert heads - keys - HEADS.keys() == set()
    assert titles - TITLES.keys() - HEADS.keys() == set()
