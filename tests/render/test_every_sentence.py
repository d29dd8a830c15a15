"""Every sentence of the catalogue with counts 0, 1 and 2, in both languages: no `1 messages`, no braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from string import Formatter

import pytest

from mqctl.commands.timeline.view import event_sentence
from mqctl.lag.words import BOUNDS, REMEDIES
from mqctl.local.scenario_files import load_scenario, scenario_names
from mqctl.model.finding import Confidence, Evidence, Finding, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.lang import Lang
from mqctl.model.timeline import EventKind, TimelineEvent
from mqctl.render.finding_texts import explain, title
from mqctl.render.translation import spoken
from mqctl.rules import RULES
from mqctl.rules.engine import why_words
from mqctl.rules.engine.why_words import reason
from mqctl.text import filled
from tests.each import each
from tests.render.catalogues import CHINESE, ENGLISH, finding_texts, rule_texts

COUNTS = (0, 1, 2)
EN, ZH = rule_texts(Lang.EN), rule_texts(Lang.ZH)
CATALOGUES = {Lang.EN: ENGLISH, Lang.ZH: CHINESE}
NOUNS = {
    noun.rpartition(" ")[2]
    for text in EN.values()
    for template in (*text.what.values(), text.effect, text.advice)
    for _, name, noun, _ in Formatter().parse(template)
    if name and noun and "/" not in noun
} | {"message", "queue", "instance", "thread", "member", "master", "broker", "topic", "group", "record", "file", "byte"}
MANY = {f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s" for noun in NOUNS}
PLURAL_VERBS = "are|do|have|were|carry|wait|belong|hold|fail|lie|miss|come|stay|need|want"
ONE_OF_MANY = re.compile(
    rf"(?<![\d.,/#:-])1 (?:(?!may )[a-z-]+ )?(?:(?:{'|'.join(sorted(MANY))})|(?:{PLURAL_VERBS}))\b(?! \()"
)


def places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def value(name: str, count: int) -> Value:
    """A value as a rule would give it, by the unit that its name ends in."""
    kind, _, ending = name.rpartition("_")
    if ending in ("word", "words"):
        return next(iter({"bound": BOUNDS, "remedy": REMEDIES}[kind]))
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
    for lang in Lang:
        for code, text in EN.items():
            for variant in text.what:
                yield code, variant, lang


@each("code, variant, lang", written())
def test_n11_sentences_of_rules_agree_with_their_counts(code: str, variant: str, lang: Lang) -> None:
    text = rule_texts(lang)[code]
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
        said = finding_texts(finding, lang)
        for sentence in (said.what, said.effect, said.advice, said.next_command or ""):
            check(sentence, lang)


# Evidence that fits two causes: a word of each, and what tells them apart.
TWO_CAUSES = {
    "MQ205": ("two processes", "reconnected", "group members"),
    "MQ206": ("do not reach", "do not know", "broker reach", "topic route"),
    "MQ301": ("hash", "added later", "topic describe"),
    "MQ307": ("waiting", "busy", "stacks"),
    "MQ308": ("pull thread", "clock", "stacks"),
    "MQ309": ("same subscription", "do not see", "again"),
    "MQ402": ("not consumed", "the group was moved back", "mqctl history"),
    "MQ404": ("crash", "created again", "older copy"),
    "MQ411": ("reset", "crashed", "two instances", "mqctl history"),
    "MQ418": ("Proxy", "without heartbeats"),
    "MQ504": ("reaches the master", "paused", "group members --client"),
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
    for key, template in why_words._SENTENCES.items():
        for count in COUNTS:
            values = {name: value(name, count) for name in places(template.template)} | {
                "part_word": "messages",
                "cause_word": "damaged",
            }
            sentence = spoken(reason(Why(key, values), more_count=count), lang)
            check(sentence, lang)
            assert lang is Lang.EN or re.search("[\u4e00-\u9fff]", sentence), sentence
    assert why_words._SENTENCES.keys() == set(Reason)


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
OF_SEVERAL = re.compile(
    r"timeline-(groups|times|page-lines)|event-member-[a-z-]+|remedy-[a-z-]+|delay-first-listed|stacks-times"
    r"|bench-(too-short-judge|schedule-messages-second-kept|request-messages)|doctor-findings-groups-worst-first"
    r"|local-scenario-time-scale|follow-twice-more-times|snapshot-(messages-too-many-plan|most-sent-again-once)"
)
LAST_OF_SEVERAL = ("and", "or", "和", "或")
IS_COUNT = re.compile(r"count$|^times$|_ms$")


def figure(name: str, spec: str | None, count: int) -> str | int | tuple[str, ...]:
    """A number where a place has a form or the name of one; names where it has the word before the last of them."""
    if spec in LAST_OF_SEVERAL:
        return tuple(["text"] * count)
    return count if spec or IS_COUNT.search(name) else "text"


@each("lang", Lang)
def test_n11_every_sentence_agrees_with_its_counts(lang: Lang) -> None:
    for key, template in CATALOGUES[lang].items():
        if re.match(r"mq\d", key) or OF_SEVERAL.fullmatch(key):
            continue  # rules have a test of their own
        for count in COUNTS:
            fields = [(name, spec) for _, name, spec, _ in Formatter().parse(template) if name]
            figures = {name: figure(name, spec, count) for name, spec in fields}
            check(filled(template, figures), lang)


@each("kind, lang", product(EventKind, Lang))
def test_n11_events_agree_with_their_counts(kind: EventKind, lang: Lang) -> None:
    for count in COUNTS:
        event = TimelineEvent(
            moment_ms=1, after_ms=1, until_ms=2, kind=kind, severity=Severity.INFO,
            group="G", topic="Pay", broker="broker-a", client="c", queue_count=count, message_count=count, times=2,
            in_per_s=count / 3, out_per_s=count / 3, before="a", after="b", reason="r",
        )  # fmt: skip
        for moment in (event, replace(event, until_ms=None), replace(event, after_ms=None)):
            check(event_sentence(moment, many=count), lang)


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


def test_every_sentence_has_its_chinese() -> None:
    assert EN.keys() == RULES.keys()
    assert ENGLISH.keys() - CHINESE.keys() == set()


@each("lang", Lang)
def test_titles_and_explanations_have_no_places_left(lang: Lang) -> None:
    for code in RULES:
        check(spoken(title(code), lang), lang)
        for line in explain(code):
            check(spoken(line, lang), lang)
        assert sum(map(len, explain(code))) > len(title(code)) > 0, code
