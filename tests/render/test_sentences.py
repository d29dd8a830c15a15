"""Failures, plans and talk in Chinese: every sentence has it, and none is left over."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

from mqctl import errors
from mqctl.allocation.locks import LockState
from mqctl.errors import MqctlError
from mqctl.local.scenario_files import load_scenario, scenario_names
from mqctl.model.dead_letter import GivenUp, RetryState
from mqctl.model.lag import LagState
from mqctl.model.lag_trend import Trend
from mqctl.model.lang import Lang
from mqctl.model.message_track import TrackState
from mqctl.model.replicas import ReplicaState
from mqctl.operations.local.scenario import scenario_row
from mqctl.render import dead_letters, lag, lag_watch, locks
from mqctl.render.document import CellKind, Paragraphs
from mqctl.render.in_chinese import in_chinese
from mqctl.render.messages.zh.words import WORDS
from mqctl.render.scenarios import RunningScenario, running_document
from mqctl.render.sentences import FILES, PLACE, chinese_sentences, spoken_text, talk
from mqctl.stacks.motion import Motion
from tests.conftest import Outcome
from tests.each import each
from tests.sources import Source, in_every_module

FAILURES = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MqctlError)}
FAILURES |= {"TlsError"}
OF_TYPER = re.compile(r"No such|Missing |Option |Got unexpected|Invalid value|.*is not (a valid|one of|in the range)")
ELSEWHERE = {
    "interrupted",
    "stopped in the middle: interrupted",
    "could not use {}",
    "could not read or write",
    "mqctl has a bug: {}",
    "run it again with MQCTL_DEBUG=1 and report what it prints",
    "did you mean {}? {}",
    "{} is a command of mqadmin{}",
    "{}`mqctl commands --mqadmin all` lists them all",
    "use {}",
    "incomplete, not read: {}",
    "incomplete, not read: {} and {} more",
    "  {}: {}, {}",
    "Consumer group {}",
    "no member of {} is online",
    "reason {}",
    "reason {}, {} bytes",
    "it is no YAML{}",
    "it is nested too deeply: more than {} levels",
}
"""Written where failures are told, by what names near ones, as titles that name a group, of what a part lacks, and of
YAML that others wrote."""
COMMAND = re.compile(
    r"(mqctl( [a-z-]+){1,3}|pip install|chmod|--)( ?('[^']*'|[A-Z-]+|-{1,2}[a-z-]+|\{\}|[a-z-]+|\d+)[;,]?)*+"
)
"""A next step that is nothing but something to type is the same in every language."""
PLAN_ROOMS = (
    *("plan", "execute", "cli/gaps.py", "model/topic_use.py", "operations/store/acknowledge.py"),
    "operations/messages/recall.py",
    *(f"operations/{noun}" for noun in ("access", "delay", "dlq", "offsets", "own_topics", "plans", "replay")),
    *(f"operations/{noun}" for noun in ("settings", "transactions", "replication")),
    *(f"render/{name}.py" for name in ("access", "delay_plans", "follow", "offsets", "replays", "resend")),
    *(f"render/{name}.py" for name in ("settings", "step_plans", "bench")),
    *(f"render/{name}.py" for name in ("brokers", "clusters", "cluster_description")),
    *(f"render/{name}.py" for name in ("top", "topics", "lag_watch", "locks", "dead_letters", "subscriptions")),
    *(
        f"render/{name}.py"
        for name in (
            "replication",
            "comparison_document",
            "delay",
            "transactions",
            "message_trace",
            "instance",
            "groups",
        )
    ),
    *("allocation/locks.py", "render/settings_file.py", "render/stack_watch.py", "operations/stacks/watch.py"),
    *(f"drill/{name}.py" for name in ("checker", "conductor", "messages_judged", "queues_judged")),
    *(
        "operations/drill",
        "operations/bench/command.py",
        "operations/bench/limits.py",
        "operations/bench/producing.py",
        "operations/bench/consuming.py",
    ),
    *(f"render/{name}.py" for name in ("verification", "description", "stacks", "messages_view", "reconciliation")),
    *(f"render/{name}.py" for name in ("filters", "scenarios", "processes", "producers", "queue_entries", "probe")),
    *("render/rules.py", "render/change_words.py"),
)
"""Where plans, changes and what they came to get their words."""
NO_SENTENCES = {"Column", "Table", "TypeVar", "Option", "Argument", "getattr", "compile", "Example"}
OF_BROKERS = {"Check signature failed", "No PlainAccessResource for", "No acl config for"}
"""What brokers say, and is looked for in their answers."""
WRITES = re.compile(r"(Error|tell|note|counted|Gap|miss)\(")
"""What a module without sentences lacks: its calls are not looked at."""
ONLY_NAMES = {"{} to {}", "{} on {}/{}", "{} {}thread{}", "{} of {}", "{} at {}", "{}: {}", "{} {} of {}", "{} and {}"}
"""Names and nothing else: what stands between them says little in any language."""
OF_HELP = re.compile(r"(Given up|Only this|With this) .*\.")
LEAD = re.compile(r"mqctl: |  next: ")


def templates(node: ast.AST) -> Iterator[str]:
    """Yields the sentences that are written in a piece of source; `{}` stands for what is filled in."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in NO_SENTENCES or name.endswith("Error"):
            return
        case ast.Call(func=ast.Name(id="counted"), args=[_, ast.Constant(value=str(one)), *more]):
            yield f"{{}} {one}"
            yield f"{{}} {ast.literal_eval(more[0])!s}" if more else f"{{}} {one}s"
            return
        case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="EXAMPLES")]):
            return
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield template(node)
            for value in getattr(node, "values", ()):
                if isinstance(value, ast.FormattedValue):
                    yield from templates(value.value)
            return
    for child in ast.iter_child_nodes(node):
        yield from templates(child)


@cache
def planned() -> frozenset[str]:
    """Every sentence of plans, of changes and of talk."""
    return frozenset(
        line
        for text in all_written()
        for line in (LEAD.sub("", line) for line in text.split("\n"))
        if " " in line.strip() and re.search(r"[a-z]{2}", line.replace("{}", ""))
        if not COMMAND.fullmatch(line) and not OF_HELP.fullmatch(line) and line not in ONLY_NAMES | OF_BROKERS
    )


def written(source: Source) -> Iterator[str]:
    """Yields the texts of a module of which its plans, changes, gaps and talk are made."""
    if any(Path(source.name).is_relative_to(f"mqctl/{room}") for room in PLAN_ROOMS):
        yield from templates(source.tree)
    for name, node in calls(source):
        if name in ("tell", "note"):
            yield from (text for part in node.args for text in templates(part))
        elif name == "counted":
            yield from templates(node)
        elif name in ("Gap", "miss"):
            texts = (item.value for item in node.keywords if item.arg in ("reason", "remedy"))
            yield from (text for part in (*node.args[1:], *texts) for text in templates(part))


def calls(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls of functions by name in a module of mqctl."""
    if not source.name.startswith("mqctl/") or not WRITES.search(source.text):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield (node.func.id if isinstance(node.func, ast.Name) else node.func.attr), node


def failing(source: Source) -> Iterator[str]:
    """Yields each sentence of a failure in a module: problem, reason, remedy; `{}` stands for what is filled in."""
    for name, node in calls(source):
        if name in FAILURES:
            texts = [*node.args[:1], *(item.value for item in node.keywords if item.arg in ("reason", "remedy"))]
            either = (template(one) for text in texts for one in alternatives(text))
            yield from (
                text for text in either if re.search(r"[a-zA-Z]", text.replace("{}", "")) and text not in ONLY_NAMES
            )


all_written = in_every_module(written)
all_failing = in_every_module(failing)


def alternatives(node: ast.expr) -> tuple[ast.expr, ...]:
    """Returns both of `a if ... else b`, what is neither itself."""
    return (*alternatives(node.body), *alternatives(node.orelse)) if isinstance(node, ast.IfExp) else (node,)


def template(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(item.value) if isinstance(item, ast.Constant) else "{}" for item in values)
    return ""


def test_every_failure_has_its_chinese() -> None:
    missing = {text for text in all_failing() if text not in _known() and not COMMAND.fullmatch(text)}
    assert missing == set(), "add them to mqctl/render/messages/zh/errors.txt"


def test_every_sentence_of_plans_and_talk_has_its_chinese() -> None:
    assert planned() - _known().keys() == set(), "add them to mqctl/render/messages/zh/plans.txt"


@cache
def declared() -> frozenset[str]:
    """Every sentence of the scenarios that come with mqctl: what is wrong, and what was planted."""
    scenarios = [load_scenario(name) for name in scenario_names()]
    return frozenset(text for scenario in scenarios for text in (scenario.title, *scenario.planted))


def test_every_sentence_of_a_scenario_has_its_chinese(mqctl: Callable[..., Outcome]) -> None:
    assert chinese_sentences("scenarios").keys() == declared(), "mqctl/render/messages/zh/scenarios.txt"
    listed = mqctl("local", "scenario", "list", env={"MQCTL_LANG": "zh"}).stdout
    assert [title for title in declared() if title in listed] == []
    assert all(spoken_text(load_scenario(name).title, Lang.ZH) in listed for name in scenario_names())


def test_what_a_scenario_has_planted_is_chinese() -> None:
    row = scenario_row(load_scenario("tag-loss"))
    running = RunningScenario(
        scenario=row, cluster="c", namesrv="n", stores={}, as_declared=True, trouble="", doctor=[], next_commands=[]
    )
    blocks = in_chinese(running_document(running)).blocks
    shown = "\n".join(line for block in blocks if isinstance(block, Paragraphs) for line in block.lines)
    assert "  消费组 settlement 的实例 one 订阅 paid" in shown and "tag-loss: 同一消费组" in shown, shown
    assert not any(text in shown for text in declared()), shown


def test_no_sentence_is_left_over() -> None:
    known = {*all_failing(), *planned(), *ELSEWHERE, *declared()}
    assert {text for text in _known() if text not in known and not OF_TYPER.match(text)} == set()
    assert chinese_sentences("errors").keys() & chinese_sentences("plans").keys() == set()


def test_a_sentence_and_its_chinese_are_filled_with_the_same() -> None:
    assert {
        english for english, chinese in _known().items() if english.count("{}") != len(PLACE.findall(chinese))
    } == set()


def _known() -> dict[str, str]:
    return {english: chinese for file in FILES for english, chinese in chinese_sentences(file).items()}


@each(
    "text, chinese",
    [
        ("there is no topic orders in /a b", "没有 Topic orders（在 /a b 中）"),
        ("did you mean a or b? mqctl group list --all", "是不是 a or b？mqctl group list --all"),
        ("what a server says {0}", "what a server says {0}"),
        ("could not open the store /x y", "无法打开存储目录 /x y"),
        ("members, messages (broker-a orders) not read: no answer", "未读取 成员, 消息（broker-a orders）：no answer"),
        ("change 7: not-moved", "变更 7：未移动"),
        ("topic-delete of unknown: nothing to do", "topic-delete（unknown）：无需变更"),
        ("broker-a was stopped, and came back", "broker-a 已停止，之后恢复"),
        (
            "limited by broker: 64 requests in flight, each answered in 9 ms on average, are 7,111 a second at most",
            "瓶颈 broker：64 个请求未应答，平均应答时间 9 毫秒，即每秒最多 7,111 个",
        ),
        ("limited by broker: 0.5 s are too short to judge", "瓶颈 broker：0.5 秒太短，无法判断"),
        (
            "acknowledged and never consumed; the group's committed offset passed it",
            "已确认，但从未被消费；消费组提交的位点已越过它",
        ),
        ("", ""),
    ],
)
def test_what_is_filled_in_stays(text: str, chinese: str) -> None:
    assert spoken_text(text, Lang.ZH) == chinese
    assert spoken_text(text, Lang.EN) == text
    assert spoken_text(text, None) == text


def test_lines_of_talk_keep_what_they_begin_with() -> None:
    assert talk("mqctl: note: x\n  next: wait for it", Lang.ZH) == "mqctl: 注意：x\n  next: 等待其完成"


def test_a_failure_is_told_in_the_language_of_the_command_line(mqctl: Callable[..., Outcome]) -> None:
    words = ("store", "describe", "--store", "/nonexistent")
    assert "mqctl: 无法打开存储目录 /nonexistent: 目录不存在" in mqctl(*words, env={"MQCTL_LANG": "zh"}).stderr
    assert "没有这个选项：--foo" in mqctl("group", "lag", "--foo", env={"MQCTL_LANG": "zh"}).stderr
    assert "MQCTL_LANG=xx is not a language" in mqctl("doctor", env={"MQCTL_LANG": "xx"}).stderr
    outcome = mqctl(*words, "-o", "json", env={"MQCTL_LANG": "zh"})
    assert json.loads(outcome.stderr)["problem"] == "could not open the store /nonexistent"


STATES = (Trend, LagState, LockState, ReplicaState, GivenUp, RetryState, TrackState, Motion)


@each("states", STATES)
def test_n11_every_word_of_a_state_has_its_chinese(states: type[StrEnum]) -> None:
    assert [state for state in states if state not in WORDS] == []


def test_n11_states_stand_in_columns_of_words() -> None:
    """A column of TEXT is never translated: `steady`, `held` and `in-sync` were English among Chinese."""
    columns = (
        *(column for table in (lag_watch.COLUMNS, lag.QUEUE_COLUMNS, locks.LOCK_COLUMNS) for column in table),
        *(column for table in (dead_letters.LETTER_COLUMNS, dead_letters.RETRY_COLUMNS) for column in table),
    )
    stateful = [column for column in columns if column.key in ("state", "trend", "given_up", "kind")]
    assert [column.kind for column in stateful] == [CellKind.WORDS] * 5
