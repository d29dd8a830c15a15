"""The catalogue says something about every rule, in every language, with every number in its place."""

from __future__ import annotations

import re
import shlex
import string
from functools import cache
from itertools import product

import typer

from mqctl.cli.catalog import BY_PATH
from mqctl.main import load_command
from mqctl.model.finding import Evidence, Finding, Severity, Subject, SubjectKind
from mqctl.model.finding_words import finding_value
from mqctl.model.lang import Lang
from mqctl.render.finding_texts import evidence_text, sentences
from mqctl.rules import RULES, diagnose
from mqctl.text import composed
from tests.each import each
from tests.render.catalogues import finding_texts, rule_texts
from tests.rules.snapshots import DOUBLE_FAULTS, FAULTS, cluster

ALL_FAULTS = [*FAULTS, *(fault for fault, _ in DOUBLE_FAULTS)]
LANGS = list(Lang)


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@cache
def reported() -> tuple[Finding, ...]:
    """Every finding of every fault, of the fault's rule and of its companions."""
    return tuple(
        finding for fault in ALL_FAULTS for finding in diagnose(cluster(fault.broker), settings=fault.settings).findings
    )


@each("finding, lang", lambda: product(reported(), LANGS))
def test_every_place_is_filled(finding: Finding, lang: Lang) -> None:
    text = finding_texts(finding, lang, "--store /s")
    for sentence in (text.what, text.effect, text.advice, text.next_command or "x"):
        assert sentence
        assert not re.search(r"[{}]|None|\b\d{13}\b", sentence), sentence
    assert len(evidence_text(finding)) == len(finding.evidence)


@each("lang", LANGS)
def test_every_sentence_of_the_catalogue_is_used(lang: Lang) -> None:
    used = {(item.code, item.variant or "") for item in reported()}
    written_down = {(code, variant) for code, text in rule_texts(lang).items() for variant in text.what}
    assert written_down == used


def test_a_verb_that_agrees_with_a_number_is_its_last_word() -> None:
    """`{n:slave is/are}`: with `slave is/slaves are` people would read both."""
    places = [
        place
        for text in rule_texts(Lang.EN).values()
        for template in (*text.what.values(), text.effect, text.advice)
        for place in re.findall(r"\{\w+:([^}]*/[^}]*)\}", template)
    ]
    assert len(places) > 10 and [place for place in places if " " in place.partition("/")[2]] == []


def test_chinese_is_chinese_and_punctuated_like_it() -> None:
    for code, text in rule_texts(Lang.ZH).items():
        assert text.next_command is None, code
        for sentence in (text.title, *text.what.values(), text.effect, text.advice, text.explain):
            assert re.search("[\u4e00-\u9fff]", sentence), (code, sentence)
            assert not re.search("[\u4e00-\u9fff}][,;:()!?]|[,;()!?][\u4e00-\u9fff。]", sentence), (code, sentence)


def test_every_next_command_is_one_of_ours() -> None:
    known = {" ".join(path) for path in BY_PATH}
    for code, text in rule_texts(Lang.EN).items():
        for command in filter(None, (text.next_command, text.live_command)):
            program, *words = command.split()
            assert program == "mqctl", code
            assert known & {" ".join(words[:1]), " ".join(words[:2])}, (code, command)


@each("source", ["--namesrv x:1", "--snapshot x.snap", "--namesrv x:1 --proxy y:8080", "--store /s"])
def test_next_commands_are_accepted_wherever_the_evidence_is_from(source: str) -> None:
    assert {item.code for item in reported()} >= RULES.keys()
    wrong = []
    lines = sorted({sentences(item, source).next_command or "" for item in reported()} - {""})
    for line in lines:
        _, *words = shlex.split(line)
        path = tuple(words[:2]) if tuple(words[:2]) in BY_PATH else tuple(words[:1])
        try:
            load_command(path).make_context("mqctl", words[len(path) :])
        except typer.TyperException as error:
            wrong.append(f"{line}: {error.format_message()}")
    assert not wrong, "\n".join(wrong)
    of_members = [line for line in lines if line.startswith("mqctl group members ")]
    assert [line for line in of_members if source not in line and not source.startswith("--store")] == []
    assert of_members


def test_a_live_cluster_has_next_commands_of_its_own() -> None:
    (fault,) = [item for item in FAULTS if item.code == "MQ406"][:1]
    (finding,) = [item for item in diagnose(cluster(fault.broker)).findings if item.code == "MQ406"][:1]
    group = finding.params["group"]
    assert sentences(finding, "--namesrv x:1").next_command == f"mqctl dlq list --namesrv x:1 -g {group}"
    assert (sentences(finding, "--store /s").next_command or "").startswith("mqctl store cat --store /s")


def test_the_next_command_does_not_depend_on_the_language() -> None:
    (finding,) = diagnose(cluster(FAULTS[0].broker)).findings
    english, chinese = (finding_texts(finding, lang, "--store /s") for lang in (Lang.EN, Lang.ZH))
    assert chinese.next_command == english.next_command is not None
    assert chinese.what != english.what


@each(
    "name, value, text",
    [
        ("lag_ms", 7_500_000, "2 h 5 min"),
        ("size_bytes", 1 << 20, "1 MiB"),
        ("lost_count", 1_234_567, "1,234,567"),
        ("queue_share", 0.42, "42%"),
        ("min_offset", 1_234_567, "1234567"),
        ("level", 3, "3"),
        ("lag_count", None, "unknown"),
        ("enabled_count", True, "True"),
    ],
)
def test_numbers_are_written_by_their_unit(name: str, value: int | float | bool | None, text: str) -> None:
    assert composed("{value}", value=finding_value(name, value)) == text


def test_instants_are_written_as_dates() -> None:
    written = composed("{time}", time=finding_value("last_time_ms", 1_795_218_000_000))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", written)


def test_names_from_a_store_cannot_smuggle_control_characters() -> None:
    finding = Finding(
        code="MQ602",
        severity=Severity.INFO,
        subject=Subject(kind=SubjectKind.TOPIC, topic="t"),
        params={"topic": "a\x1b[31mb\n{effect}"},
        evidence=(Evidence(name="read_queue_count", value=2), Evidence(name="write_queue_count", value=1)),
    )
    what = sentences(finding).what
    assert "\x1b" not in what
    assert "\n" not in what
    assert "{effect}" in what
