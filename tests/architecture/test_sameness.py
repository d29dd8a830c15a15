"""The sameness script sees what changes: in a copy of this tree with planted changes, and in answers made by hand."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.sameness import __main__ as script
from benchmarks.sameness.compare import Difference, Entry, Rules, differences, judge, report
from benchmarks.sameness.running import Answer, Table, command_of, commands_of, read_table
from tests.conftest import REPOSITORY

CASES = """
without_output: []
without_case: {}
renamed: {}
warm_up: |
  doctor --snapshot {inputs}/worlds/MQ101.snap -o wide
  group lag --store {inputs}/store-killed -o json
groups:
  few:
    variants: [json en, csv en, wide zh]
    lines: |
      group lag --store {inputs}/store-killed -g GC_kill
      store cat --store {inputs}/store-killed -t nothing -q 0
      doctor --snapshot {inputs}/worlds/MQ101.snap
  live:
    cluster: --brokers broker-a --as-version 5.3.3
    variants: [json en]
    lines: |
      topic create -t Pay --queues 2 --execute
      ! send broker-a Pay 0 2 TAGS=A
      message peek -t Pay
      topic list
"""
PLANTED = {
    r"\blag_count\b": "planted_count",
    r"\bNOT_FOUND = 66\b": "NOT_FOUND = 67",
    "消费组": "消费者组",
    "there is no topic": "no topic is called",
}
"""In all modules of the copy, wherever they are: a field of rows, an exit code, a Chinese word, an English message."""


def answer(out: str = "", *, err: str = "", code: int = 0, variant: str = "json en", line: str = "group lag") -> Answer:
    return Answer(group="g", command="group lag", line=line, variant=variant, code=code, out=out, err=err)


def places_of(old: object, new: object) -> list[tuple[str, str, str, str]]:
    differing = differences(answer(json.dumps(old)), answer(json.dumps(new)))
    return [(it.kind, it.place, it.old, it.new) for it in differing]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    file = tmp_path_factory.mktemp("cases") / "cases.yaml"
    file.write_text(CASES)
    return read_table(file)


@pytest.fixture(scope="module")
def comparison(table: Table, tmp_path_factory: pytest.TempPathFactory) -> script.Comparison:
    return script.Comparison(table, table.groups, tmp_path_factory.mktemp("sameness"))


@pytest.fixture(scope="module")
def own(comparison: script.Comparison) -> list[Answer]:
    return comparison.answers(REPOSITORY, "base")


@pytest.mark.long
def test_a_tree_is_the_same_as_itself(comparison: script.Comparison, own: list[Answer]) -> None:
    verdict = judge(Rules(base=""), own, comparison.answers(REPOSITORY, "this"))
    assert (list(report(verdict.open)), verdict.unlike, verdict.compared) == ([], [], 12)
    assert {item.code for item in own} == {0, 1, 66}
    assert all("Traceback" not in item.err for item in own)


@pytest.mark.long
def test_what_warms_a_tree_up_changes_no_answer(own: list[Answer], table: Table, tmp_path: Path) -> None:
    """`own` comes from a process that has run the help of every command and these lines."""
    few = [group for group in table.groups if group.cluster is None]
    comparison = script.Comparison(table, few, tmp_path / "cold", warm=False)
    names = {group.name for group in few}
    verdict = judge(Rules(base=""), [it for it in own if it.group in names], comparison.answers(REPOSITORY, "base"))
    assert (list(report(verdict.open)), verdict.unlike, verdict.compared) == ([], [], 9)
    assert not [it for it in own if it.variant.endswith("en") and re.search("[\u4e00-\u9fff]", it.out + it.err)]
    assert all(re.search("[\u4e00-\u9fff]", it.out + it.err) for it in own if it.variant == "wide zh")


def test_each_planted_change_is_named(comparison: script.Comparison, own: list[Answer], tmp_path: Path) -> None:
    for name in ("mqctl", "embedded_broker"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    (tmp_path / "playbooks").symlink_to(REPOSITORY / "playbooks")
    for path in (*(tmp_path / "mqctl").rglob("*.py"), *(tmp_path / "mqctl").rglob("*.po")):
        text = path.read_text(encoding="utf-8")
        for old, new in PLANTED.items():
            text = re.sub(old, new, text)
        path.write_text(text, encoding="utf-8")
    differing = judge(Rules(base=""), own, comparison.answers(tmp_path, "this")).open
    places = {(it.answer.command, it.answer.variant, it.kind, it.pattern) for it in differing}
    assert ("group lag", "json en", "gone", "stdout.groups[*].lag_count") in places
    assert ("group lag", "json en", "new", "stdout.groups[*].planted_count") in places
    assert ("group lag", "csv en", "gone", "stdout.rows[*].lag_count") in places
    assert ("group lag", "wide zh", "line", "stdout[*]") in places
    assert ("store cat", "json en", "exit", "exit") in places
    assert ("store cat", "json en", "value", "stderr.problem") in places
    assert ("store cat", "csv en", "value", "stderr") in places or (
        "store cat",
        "csv en",
        "line",
        "stderr[*]",
    ) in places
    assert {it.answer.command for it in differing} <= {"group lag", "store cat", "doctor"}, list(report(differing))


@pytest.mark.quick
def test_each_kind_of_difference_has_its_place() -> None:
    rows = [{"id": number, "n": number * 2} for number in range(4)]
    assert places_of({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}) == [("value", "stdout.a.b[1]", "2", "3")]
    assert places_of({"a": 1}, {"a": "1"}) == [("type", "stdout.a", "1", '"1"')]
    assert places_of({"a": 1}, {"a": True}) == [("type", "stdout.a", "1", "true")]
    assert places_of({"a": 0}, {"a": None}) == [("type", "stdout.a", "0", "null")]
    assert places_of({"a": 1, "b": 2}, {"b": 2}) == [("gone", "stdout.a", "1", "")]
    assert places_of({"b": 2}, {"b": 2, "a": []}) == [("new", "stdout.a", "", "[]")]
    assert places_of({"a": 1, "b": 2}, {"b": 2, "a": 1}) == [("order", "stdout{}", "a, b", "b, a")]
    assert places_of(rows, [rows[0], *rows[2:]]) == [("gone", "stdout[1]", '{"id": 1, "n": 2}', "")]
    assert places_of(rows[:3], [rows[3], *rows[:3]]) == [("new", "stdout[0]", "", '{"id": 3, "n": 6}')]
    assert [it[:2] for it in places_of(rows, [rows[1], rows[0], *rows[2:]])] == [("order", "stdout[]")]
    changed = [rows[0], {"id": 1, "n": 9}, *rows[3:]]
    assert places_of(rows, changed) == [
        ("value", "stdout[1].n", "2", "9"),
        ("gone", "stdout[2]", '{"id": 2, "n": 4}', ""),
    ]


def test_texts_exit_codes_and_layout_differ_as_well() -> None:
    def places(old: Answer, new: Answer) -> list[tuple[str, str, str, str]]:
        return [(it.kind, it.place, it.old, it.new) for it in differences(old, new)]

    assert places(answer(code=1), answer(code=2)) == [("exit", "exit", "1", "2")]
    assert places(answer(err="a\nb\n"), answer(err="a\nc\n")) == [("line", "stderr[1]", "b", "c")]
    assert places(answer('{"a": 1}'), answer('{"a":1}')) == [("line", "stdout[0]", '{"a": 1}', '{"a":1}')]
    assert [it[0] for it in places(answer("a\n"), answer("a"))] == ["line"]
    old, new = (answer(f"topic,count\nPay,{count}\n", variant="csv en") for count in (1, 2))
    assert places(old, new) == [("value", "stdout.rows[0].count", '"1"', '"2"')]
    renamed = answer("topic,n\nPay,1\n", variant="csv en")
    assert [it[:2] for it in places(old, renamed)][:2] == [
        ("value", "stdout.columns[1]"),
        ("gone", "stdout.rows[0].count"),
    ]


def one_open(rules: Rules, old: Answer, new: Answer) -> Sequence[Difference]:
    return judge(rules, [old], [new]).open


def test_an_entry_allows_what_it_names_and_nothing_else() -> None:
    old, new = answer('{"rows": [{"a": 1, "b": 1}]}'), answer('{"rows": [{"a": 2, "b": 2}]}')
    entry = Entry(reason="meant", command="group *", path="stdout.rows[*].a", kind="value")
    verdict = judge(Rules(base="", allowed=(entry,)), [old], [new])
    assert ([it.place for it in verdict.open], verdict.allowed) == (["stdout.rows[0].b"], {entry: 1})
    assert judge(Rules(base="", allowed=(entry,)), [old], [old]).allowed == {entry: 0}
    missed = Entry(reason="meant", path="stdout.rows[*].a", new="3")
    assert len(one_open(Rules(base="", allowed=(missed,)), old, new)) == 2


def test_one_entry_allows_a_new_field_of_every_error_and_no_other() -> None:
    old = {"schema": "error/1", "problem": "there is no topic Pya"}
    new = {**old, "key": "topic.none", "values": {"topic": "Pya"}}
    entry = Entry(reason="meant", path=("stderr.key", "stderr.values"), kind="new")
    rules = Rules(base="", allowed=(entry,))
    warning = "mqctl: warning: others may read it\n"
    for before in ("", warning):
        pair = [answer(err=before + json.dumps(it, indent=2), code=66) for it in (old, new)]
        verdict = judge(rules, pair[:1], pair[1:])
        assert (verdict.open, verdict.allowed) == ([], {entry: 2})
    more = answer(err=json.dumps({**new, "problem": "no", "other": 1}), code=66)
    assert [it.place for it in one_open(rules, pair[0], more)] == ["stderr.<before>", "stderr.problem", "stderr.other"]


def test_every_command_runs_in_each_format_and_language() -> None:
    table = read_table()
    commands = sorted(commands_of(REPOSITORY), key=len, reverse=True)
    ran: dict[str, set[str]] = {}
    for group in table.groups:
        for number, line in enumerate(group.lines, 1):
            if group.covers and line[0] != "!":
                command = command_of(line, commands)
                ran.setdefault(command, set()).update(" ".join(table.variants(group, number, command)).split())
    lacking = {
        command: {"json", "csv", "wide", "zh", "en"} - words
        for command, words in ran.items()
        if "as-typed" not in words and not {"json", "csv", "wide", "zh", "en"} <= words
    }
    assert lacking == {}
    assert all({"zh", "en"} <= words for words in ran.values())


def test_a_volatile_field_must_stay_and_keep_its_type() -> None:
    rules = Rules(base="", volatile=(Entry(reason="measured", path="stdout.took_ms"),))
    old = answer('{"took_ms": 1}')
    assert one_open(rules, old, answer('{"took_ms": 2}')) == []
    assert [it.kind for it in one_open(rules, old, answer('{"took_ms": null}'))] == ["type"]
    assert [it.kind for it in one_open(rules, old, answer("{}"))] == ["gone"]


def test_a_line_that_one_tree_did_not_answer_is_named() -> None:
    assert judge(Rules(base=""), [answer()], [answer(line="group list")]).unlike == [
        "g | group lag | json en",
        "g | group list | json en",
    ]


def test_a_command_without_a_case_is_named(table: Table) -> None:
    run = [Answer(group="few", command="doctor", line="doctor", variant="json en", code=0, out="", err="")]
    assert script.without_case(table, {"this": ["doctor", "new thing"]}, run) == ["no case for: new thing"]


def test_the_same_difference_of_many_commands_is_said_once() -> None:
    pairs = [(answer(line=f"line {number}"), answer(err="x", line=f"line {number}")) for number in range(3)]
    differing = [it for old, new in pairs for it in differences(old, new)]
    text = list(report(differing))
    assert (len(text), text[-1].strip()) == (5, "3 times, in group lag")


def test_a_file_of_rules_without_a_reason_or_a_base_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "sameness.toml"
    for text in (
        'base = "x"\n[[allowed]]\npath = "*"\n',
        '[[allowed]]\nreason = "x"\n',
        'base = "x"\n[[allowed]]\nwhy = ""\n',
        'base = "x"\n[[allowed]]\nreason = ""\n',
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"sameness\.toml"):
            Rules.read(file)


def test_a_commit_that_the_clone_does_not_have_ends_with_what_to_do() -> None:
    with pytest.raises(SystemExit, match="git fetch --unshallow"):
        script.resolve("0" * 40)


def test_the_files_of_the_repository_can_be_read() -> None:
    assert Rules.read(script.RULES).base
    assert len(read_table().groups) > 20
