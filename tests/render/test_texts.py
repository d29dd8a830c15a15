"""Texts in English and Chinese: keys, places, and what others said, which stands word for word in both."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from enum import StrEnum
from string import Formatter
from types import SimpleNamespace

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from docs import texts
from mqctl.allocation.locks import LockState
from mqctl.changes.plan.delay_repair import RepairReason
from mqctl.cli.gaps import gap_lines
from mqctl.cli.usage_texts import of_parser
from mqctl.client.consumer.guards import DropReason
from mqctl.commands.group import lag_view
from mqctl.commands.local.scenario.running import scenario_row
from mqctl.errors import RefusedError, UnreachableError
from mqctl.local.scenario_files import load_scenario, scenario_names
from mqctl.model.bench_comparison import BenchVerdict
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.dead_letter import GivenUp, RetryState
from mqctl.model.finding import Severity
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.lag import LagState
from mqctl.model.lag_trend import Trend
from mqctl.model.lang import Lang
from mqctl.model.message_track import TrackState
from mqctl.model.remark import quoted
from mqctl.model.replicas import ReplicaState
from mqctl.model.retry_limit import LimitOf
from mqctl.model.storage_state import CheckpointStatus
from mqctl.model.stored_message import PendingDelivery
from mqctl.render import dead_letters, locks
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages_view import ShownMessage, message_blocks
from mqctl.render.scenarios import RunningScenario, running_document
from mqctl.render.severity_words import VERDICTS
from mqctl.render.spoken_document import spoken_block, spoken_document, spoken_table
from mqctl.render.text import row_style
from mqctl.render.translation import CATALOGUE, read_catalogue, spoken, words
from mqctl.stacks.motion import Motion
from mqctl.stacks.rules import StackClass
from mqctl.text import Text, Word, composed, encoded, joined, key_of, printable, restored, sentence, values_of, word_key
from tests.conftest import Outcome
from tests.each import each

KNOWN = texts.sources()
CHINESE = read_catalogue(CATALOGUE.read_text(encoding="utf-8"))
TEMPLATES = sorted((key, min(templates)) for key, templates in KNOWN.items())


def test_a_key_has_one_sentence() -> None:
    assert {key: templates for key, templates in KNOWN.items() if len(templates) > 1} == {}


def test_keys_are_names() -> None:
    assert texts.misnamed(KNOWN) == []
    known = {
        "group-2": {"a"},
        "topic": {"b"},
        "no-topic": {"c"},
        "topic-gone": {"c"},
        "two-lines": {"d", "e"},
        "mq1-a": {"f"},
    }
    assert texts.misnamed(known) == [
        "no name: group-2",
        "no name: topic",
        "several templates: two-lines",
        "one template: no-topic, topic-gone",
    ]


def test_a_sentence_and_its_chinese_name_the_same() -> None:
    unlike = {
        key: (template, CHINESE[key])
        for key, template in TEMPLATES
        if key in CHINESE
        and texts.places(template) != texts.places(CHINESE[key]) - ({"cause"} - texts.places(template))
    }
    assert unlike == {}


def test_a_sentence_without_chinese_is_listed_and_shown_in_english() -> None:
    known = {"new": {"{count:,} new"}, "old": {"old, corrected"}, "same": {"same"}}
    catalogue = texts.catalogue_text({"gone": {"gone"}, "old": {"old"}, "same": {"same"}}, {"old": "旧", "same": "同"})
    catalogue = catalogue.replace('msgid "gone"\nmsgstr ""', 'msgid "gone"\nmsgstr "去"')
    assert texts.to_translate(known, catalogue) == [
        "missing: new: {count:,} new",
        "not used: gone",
        "changed: old: old, corrected",
    ]
    assert spoken(sentence("in-no-catalogue", "{count:,} new", count=1000), Lang.ZH) == "1,000 new"


def test_a_catalogue_is_read_as_it_is_written() -> None:
    translations = {"quotes": 'a "b" \\ c', "lines": "一\n二", "wrapped": "甲乙"}
    text = texts.catalogue_text({key: {key} for key in translations}, translations)
    text = text.replace('msgstr "甲乙"', 'msgstr ""\n"甲"\n"乙"')
    assert read_catalogue(text) == translations


REMARKS = st.one_of(
    st.text(),
    st.sampled_from(
        ["the consumer group is in use: 12 of 20", "it is of 3", "{0} {group} %s {", "unknown", "in-sync; held", "a: b"]
    ),
)


def _filled(template: str, remarks: list[str]) -> dict[str, object]:
    """Returns a value for each place: a remark where a name or a sentence may stand, a number where only one can."""
    values: dict[str, object] = {}
    for _, name, spec, _ in Formatter().parse(template):
        if name:
            remark = remarks[len(values) % len(remarks)]
            if spec in ("and", "or"):
                values[name] = [remark, remarks[0]]
            else:
                values[name] = 7 if spec or isinstance(values.get(name), int) else remark
    return values


def _parts(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


@settings(max_examples=20, deadline=None)
@given(st.lists(REMARKS, min_size=1, max_size=4))
def test_what_others_said_stands_word_for_word_in_every_sentence_of_both_languages(remarks: list[str]) -> None:
    for key, template in TEMPLATES:
        values = _filled(template, remarks)
        said = sentence(key, template, **values)
        quoted_places = {name for _, name, _, how in Formatter().parse(template) if how}
        for shown in (said, spoken(said, Lang.ZH)):
            for name, part in ((name, part) for name, value in values.items() for part in _parts(value)):
                assert (repr(part) if name in quoted_places else str(part)) in shown, (key, name, shown)


@settings(max_examples=100, deadline=None)
@given(REMARKS, REMARKS)
def test_what_others_said_alone_or_in_lists_is_never_translated(remark: str, other: str) -> None:
    assert spoken(remark, Lang.ZH) == remark
    assert spoken(composed("{one}: {other}", one=remark, other=other), Lang.ZH) == f"{remark}: {other}"
    assert spoken(sentence("common-use", "use one of: {names}", names=[remark, other]), Lang.ZH).endswith(
        f"{remark}、{other}"
    )


@settings(max_examples=100, deadline=None)
@given(REMARKS)
def test_a_remark_of_a_broker_is_the_same_in_the_notes_of_an_answer_and_in_errors(remark: str) -> None:
    error = RefusedError(
        sentence("could-not-open", "could not open {path}", path=remark), reason=quoted(remark), remedy=remark
    )
    assert spoken(str(error), Lang.ZH) == f"无法打开 {remark}: {quoted(remark)}"
    assert spoken(error.remedy, Lang.ZH) == remark
    gap = Gap.of(Part.QUEUES, error, GapSubject(place="a b"), broker="in use of")
    document = Document(schema="x/1", value=None, blocks=[Paragraphs(gap_lines([gap]))])
    lines = [
        line
        for block in spoken_document(document, Lang.ZH).blocks
        if isinstance(block, Paragraphs)
        for line in block.lines
    ]
    assert lines == [f"未读取 {words(Part.QUEUES)}（in use of a b）：无法打开 {remark}: {quoted(remark)}"]


@settings(max_examples=100, deadline=None)
@given(REMARKS, REMARKS, REMARKS)
def test_a_stored_message_is_shown_as_it_is_in_both_languages(topic: str, name: str, body: str) -> None:
    row = ShownMessage(
        topic=topic,
        queue_id=1,
        queue_offset=2,
        physical_offset=3,
        size_bytes=4,
        message_id="0A",
        unique_key=None,
        tags=None,
        keys=None,
        flag=0,
        sys_flag=0,
        born_time_ms=5,
        born_host="h",
        store_time_ms=6,
        store_host="h",
        reconsume_times=1,
        prepared_transaction_offset=0,
        body_crc=0,
        properties={name: body},
        body_bytes=len(body),
        body_encoding="text",
        body=body,
        body_problem=name or None,
        waiting=PendingDelivery(topic=topic, level=3, due_time_ms=7),
        broker_name=name or None,
    )
    for lang in Lang:
        (block,) = (spoken_block(block, lang) for block in message_blocks([row], now_ms=6))
        assert isinstance(block, Paragraphs)
        shown = "\n".join(block.lines)
        assert f"{printable(topic)}" in shown and f"  {printable(name)} = {printable(body)}" in shown
        assert [
            f"    {printable(line)}" for line in body.splitlines() if f"    {printable(line)}" not in block.lines
        ] == []


@settings(max_examples=100, deadline=None)
@given(REMARKS, st.integers())
def test_a_text_survives_pickling_and_json(remark: str, count: int) -> None:
    inner = sentence("could-not-open", "could not open {path}", path=remark)
    said = sentence("errors-problem", "{problem}: {reason}", problem=inner, reason=joined("; ", [remark, f"{count}"]))
    assert isinstance(said, Text)
    copy = pickle.loads(pickle.dumps(said))
    assert isinstance(copy, Text)
    assert (copy, copy.key, copy.values) == (said, said.key, said.values)
    form = json.loads(msgspec.json.encode({"key": key_of(said), "values": values_of(said)}, enc_hook=encoded))
    again = restored(str(said), form["key"], form["values"])
    assert spoken(again, Lang.ZH) == spoken(said, Lang.ZH)
    gap = Gap.of(Part.QUEUES, UnreachableError(inner, reason=remark))
    kept = msgspec.json.decode(msgspec.json.encode(gap, enc_hook=encoded), type=Gap)
    assert kept == gap
    assert spoken(kept.reason, Lang.ZH) == spoken(gap.reason, Lang.ZH)


@each(
    "said, english, chinese",
    [
        (counted(1, "message"), "1 message", "1 条消息"),
        (counted(1200, "message"), "1,200 messages", "1,200 条消息"),
        (composed("{a}; {b}", a=counted(2, "queue"), b="held"), "2 queues; held", "2 个队列；held"),
        (
            sentence("change-report", "change {report}: {state}", report="7", state=Word("not-moved")),
            "change 7: not-moved",
            "变更 7：未移动",
        ),
        (
            sentence("change-report", "change {report}: {state}", report="7", state="not-moved"),
            "change 7: not-moved",
            "变更 7：not-moved",
        ),
        (composed("{state}", state=LockState.HELD), "held", "已持有"),
        ("could not " + sentence("common-interrupted", "interrupted"), "could not interrupted", "could not 已中断"),
        (of_parser("No such option: --lag of x"), "No such option: --lag of x", "没有这个选项：--lag of x"),
    ],
)
def test_texts_numbers_and_words_of_ours_are_translated_in_their_places(said: str, english: str, chinese: str) -> None:
    assert said == english
    assert spoken(said, Lang.ZH) == chinese
    assert spoken(said, Lang.EN) == english


def test_a_failure_is_told_in_the_language_of_the_command_line(mqctl: Callable[..., Outcome]) -> None:
    words = ("store", "describe", "--store", "/nonexistent")
    assert "mqctl: 无法打开存储目录 /nonexistent: 目录不存在" in mqctl(*words, env={"MQCTL_LANG": "zh"}).stderr
    assert "没有这个选项：--foo" in mqctl("group", "lag", "--foo", env={"MQCTL_LANG": "zh"}).stderr
    assert "MQCTL_LANG=xx is not a language" in mqctl("doctor", env={"MQCTL_LANG": "xx"}).stderr


def test_a_failure_as_json_carries_keys_and_values_whatever_the_language(mqctl: Callable[..., Outcome]) -> None:
    words = ("store", "describe", "--store", "/nonexistent", "-o", "json")
    failure = json.loads(mqctl(*words, env={"MQCTL_LANG": "zh"}).stderr)
    assert failure["problem"] == "could not open the store /nonexistent"
    assert (failure["key"], failure["values"]) == ("could-not-open-store", {"path": "/nonexistent"})
    assert (failure["reason_key"], failure["reason_values"]) == ("store-no-such-directory", {})
    assert failure == json.loads(mqctl(*words).stderr)


def test_scenarios_are_told_in_chinese(mqctl: Callable[..., Outcome]) -> None:
    scenarios = [load_scenario(name) for name in scenario_names()]
    listed = mqctl("local", "scenario", "list", env={"MQCTL_LANG": "zh"}).stdout
    assert [scenario.title for scenario in scenarios if scenario.title in listed] == []
    assert all(spoken(scenario.title, Lang.ZH) in listed for scenario in scenarios)


def test_what_a_scenario_has_planted_is_chinese() -> None:
    row = scenario_row(load_scenario("tag-loss"))
    running = RunningScenario(
        scenario=row,
        cluster="c",
        namesrv="n",
        stores={},
        as_declared=True,
        trouble="",
        doctor=[],
        next_commands=[],
        next_commands_argv=[],
    )
    blocks = spoken_document(running_document(running), Lang.ZH).blocks
    shown = "\n".join(line for block in blocks if isinstance(block, Paragraphs) for line in block.lines)
    assert "  消费组 settlement 的实例 one 订阅 paid" in shown, shown
    assert "tag-loss: 同一消费组" in shown, shown


STATES = (
    *(Trend, LagState, LockState, ReplicaState, GivenUp, LimitOf, RetryState, TrackState, Motion, RepairReason),
    *(StackClass, CheckpointStatus, BenchVerdict, DropReason),
)


@each("states", STATES)
def test_n11_every_word_of_a_state_has_its_chinese(states: type[StrEnum]) -> None:
    assert [state for state in states if word_key("word", state) not in CHINESE] == []


def test_severities_are_words_of_the_language_and_keep_their_colours() -> None:
    column = Column("severity", "severity", CellKind.SEVERITY)
    rows = [SimpleNamespace(severity=severity) for severity in Severity]
    table = spoken_table(Table([column], rows), Lang.ZH)
    severities = [getattr(row, column.key) for row in table.rows]
    assert severities == ["提示", "警告", "错误", "致命"]
    assert [row_style(table, row) for row in table.rows] == [row_style(Table([column], rows), row) for row in rows]
    assert all(spoken(VERDICTS[severity], Lang.ZH) == words(severity) for severity in Severity)


def test_n11_states_stand_in_columns_of_words() -> None:
    """A column of TEXT is never translated: `steady`, `held` and `in-sync` were English among Chinese."""
    columns = (
        *(column for table in (lag_view.TREND_COLUMNS, lag_view.QUEUE_COLUMNS, locks.LOCK_COLUMNS) for column in table),
        *(column for table in (dead_letters.LETTER_COLUMNS, dead_letters.RETRY_COLUMNS) for column in table),
    )
    stateful = [column for column in columns if column.key in ("state", "trend", "given_up", "kind")]
    assert [column.kind for column in stateful] == [CellKind.WORDS] * 5


def test_command_lines_one_after_another_stay_what_a_shell_reads() -> None:
    lines = joined("; ", [command_line("mqctl local up"), command_line("mqctl group lag -g {}", "a; b")])
    assert spoken(lines, Lang.ZH) == "mqctl local up; mqctl group lag -g 'a; b'"
    assert spoken(joined("; ", [sentence("verdict-ok", "OK"), "x"]), Lang.ZH) == "正常；x"
