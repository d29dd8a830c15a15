"""Reading a playbook: what is wrong with a file is said with its line, its key and what may stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.errors import BadInputError, ConfigurationError, UsageError
from mqctl.model.lang import Lang
from mqctl.playbook import conditions, template
from mqctl.playbook.parameters import bound
from mqctl.playbook.reading import read_playbook

GOOD = """\
title: {en: One, zh: 一}
symptom: {en: It hurts, zh: 疼}
answers: [MQ401]
parameters:
  - {name: group, type: group, required: true, about: {en: which, zh: 哪个}}
  - {name: topic, type: topic, about: {en: which, zh: 哪个}}
  - {name: most, type: integer, default: 5, about: {en: most, zh: 最多}}
  - {name: window, type: span, default: 30s, about: {en: time, zh: 时间}}
steps:
  - id: lag
    about: {en: how far, zh: 多远}
    run: group lag -g {group} [-t {topic}]
    timeout: 90s
    capture: {lag: 'sum(groups[].lag_count)'}
    exits:
      0: {en: told, zh: 已取得}
    results:
      - {id: none, when: 'lag == `0`', means: {en: none, zh: 无}, stop: done}
  - id: way
    about: {en: which, zh: 哪种}
    decide:
      go: {en: go, zh: 走}
  - id: skip
    about: {en: skip, zh: 跳过}
    when: "choice.way == 'go' && lag > most && topic"
    run: offset skip -g {group} -t {topic}
    changes: true
    confirm: "{group}"
rollback: {en: [back], zh: [回退]}
"""


def read(directory: Path, text: str) -> object:
    file = directory / "playbook.yaml"
    file.write_text(text, encoding="utf-8")
    return read_playbook("one", file)


def test_a_playbook_is_read(tmp_path: Path) -> None:
    (tmp_path / "playbook.yaml").write_text(GOOD, encoding="utf-8")
    playbook = read_playbook("one", tmp_path / "playbook.yaml")
    lag, way, skip = playbook.steps
    assert (playbook.slug, playbook.changes, playbook.answers) == ("one", True, ("MQ401",))
    assert (lag.timeout_ms, lag.exits[0][Lang.ZH], lag.results[0].stop) == (90_000, "已取得", "done")
    assert (list(way.options), skip.confirm, skip.changes) == (["go"], "{group}", True)


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("    timeout: 90s", "    time: 90s", 13, "$.steps[0].time: no such key; there are id, about, run"),
        ("    timeout: 90s", "    timeout: soon", 13, "'soon' is not a time span"),
        ("type: span", "type: age", 8, "there are text, group, topic"),
        ("stop: done", "stop: later", 18, "there are done, attention"),
        ("      0: {en: told", "      zero: {en: told", 15, "$.steps[0].exits"),
        ("title: {en: One, zh: 一}", "title: {en: One}", 1, "$.title: there is no text in zh"),
        ("title: {en: One, zh: 一}", "title: {en: One, fr: un}", 1, "$.title"),
        ("answers: [MQ401]", "answers: []", 3, "it answers no finding"),
        ("answers: [MQ401]", "kind: rehearsal\nanswers: [MQ401]", 4, "a rehearsal answers no finding"),
        ("answers: [MQ401]", "answers: []\nkind: party", 4, "there are incident, rehearsal"),
        ("id: way", "id: lag", 19, "'lag' is taken"),
        ("[-t {topic}]", "[-t {topic}", 12, "a bracket is not closed"),
        ("[-t {topic}]", "-t {tpoic}", 12, "called tpoic; there are group, most, topic, window"),
        ("'sum(groups[].lag_count)'", "'sum(groups['", 14, "not JMESPath"),
        ("lag == `0`'", "leg == `0`'", 18, "called leg; there are group, lag, most"),
        ("lag > most", "lag >", 25, "not JMESPath"),
        ('    confirm: "{group}"\n', "", 23, "has the name to confirm"),
        ("skip -g {group}", "skip --execute -g {group}", 26, "--execute is added"),
        ("    run: offset skip -g {group} -t {topic}\n", "", 23, "either run or decide"),
        ("symptom: ", "title: ", 2, "title stands there twice"),
        ("answers: [MQ401]", "answers: [MQ401", 4, "line 4"),
        ("rollback: {en: [back], zh: [回退]}", "rollback: {en: [back], zh: []}", 29, "there is no text in zh"),
        ("required: true", "required: true, default: G", 5, "no default"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(tmp_path: Path, before: str, after: str, line: int, said: str) -> None:
    assert GOOD.count(before) >= 1
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, GOOD.replace(before, after, 1))
    message = f"{caught.value.problem}: {caught.value.reason}"
    assert said in message
    assert f"playbook.yaml, line {line}" in message, message


@pytest.mark.parametrize("text", ["", "- a list", "just words", "\ttab: 1"])
def test_what_is_no_playbook_at_all_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="could not use the playbook"):
        read(tmp_path, text)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "playbook.yaml"
    file.write_bytes(b"title: \xff\xfe")
    with pytest.raises(ConfigurationError, match="could not read"):
        read_playbook("one", file)


def test_parts_in_brackets_are_left_out_without_their_values() -> None:
    command = "group lag -g {group} [-t {topic}] --until 'lag<{most} and lag_time<30s'"
    assert template.filled(command, {"group": "a b", "topic": None, "most": 5}) == [
        *("group", "lag", "-g", "a b"),
        *("--until", "lag<5 and lag_time<30s"),
    ]
    assert template.filled(command, {"group": "G", "topic": "T", "most": 5})[4:6] == ["-t", "T"]
    with pytest.raises(BadInputError, match="group is not known"):
        template.filled(command, {"most": 5})
    assert template.filled("lag [-q {queue}] {x}", {}, unknown=True) == ["lag", "-q", "<queue>", "<x>"]
    assert template.filled("lag [-q {queue}]", {"queue": None}, unknown=True) == ["lag"]


def test_a_value_cannot_become_words_of_its_own() -> None:
    assert template.filled("topic describe -t {topic}", {"topic": "x --execute"}) == [
        "topic",
        "describe",
        "-t",
        "x --execute",
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("lag > `3`", True),
        ("lag > most", False),
        ("contains(codes, 'MQ203')", True),
        ("exit.lag == `0` && !missing", True),
        ("missing", False),
        ("codes", True),
        ("choice.way == 'go'", False),
    ],
)
def test_conditions(expression: str, expected: bool) -> None:
    facts = {"lag": 4, "most": 9, "codes": "MQ203,MQ401", "exit": {"lag": 0}, "choice": {}}
    assert conditions.condition_holds(expression, facts) is expected


@pytest.mark.parametrize("expression", ["lag", "length(lag)", "contains(missing, 'x')"])
def test_a_condition_that_cannot_be_decided_is_an_error_and_not_a_no(expression: str) -> None:
    with pytest.raises(BadInputError):
        conditions.condition_holds(expression, {"lag": 4})


def test_a_condition_of_parameters_asks_whether_they_were_given() -> None:
    facts = {"queues": 0, "topic": "T", "group": None, "lag": 0}
    assert conditions.condition_holds("topic && queues", facts, ["queues", "topic", "group"])
    assert not conditions.condition_holds("group && queues", facts, ["queues", "topic", "group"])
    with pytest.raises(BadInputError):
        conditions.condition_holds("topic && lag", facts, ["queues", "topic", "group"])


def test_names_of_a_condition_are_those_it_takes_from_the_facts() -> None:
    assert conditions.looked_up("length(groups[?lag > most].name) > limit || exit.lag == `0`") == {
        "groups",
        "limit",
        "exit",
    }
    assert conditions.looked_up("a.b.c[0] && d | e") == {"a", "d"}


def test_captures_are_single_values() -> None:
    document = {"findings": [{"code": "MQ203"}, {"code": "MQ401"}], "count": 3}
    assert conditions.read("findings[].code", document) == "MQ203,MQ401"
    assert conditions.read("nothing[].code", document) is None
    assert conditions.read("count", document) == 3
    with pytest.raises(BadInputError, match="no single value"):
        conditions.read("findings", document)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "needs group"),
        (["group"], "NAME=VALUE"),
        (["groop=G"], "there are group, topic, most, window"),
        (["group=a b"], "a name of letters"),
        (["group=G", "most=many"], "a whole number"),
        (["group=G", "window=soon"], "a span such as"),
    ],
)
def test_parameters_that_cannot_be(tmp_path: Path, given: list[str], said: str) -> None:
    (tmp_path / "playbook.yaml").write_text(GOOD, encoding="utf-8")
    playbook = read_playbook("one", tmp_path / "playbook.yaml")
    with pytest.raises(UsageError) as caught:
        bound(playbook, given)
    assert said in f"{caught.value} {caught.value.remedy}"


def test_parameters_have_their_types_and_defaults(tmp_path: Path) -> None:
    (tmp_path / "playbook.yaml").write_text(GOOD, encoding="utf-8")
    playbook = read_playbook("one", tmp_path / "playbook.yaml")
    values = bound(playbook, ["group=%RETRY%G", "most=7"])
    assert values == {"group": "%RETRY%G", "topic": None, "most": 7, "window": "30s"}
