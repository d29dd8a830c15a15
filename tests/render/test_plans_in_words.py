"""Plans, changes and gaps with counts 0, 1 and 2, in both languages: no `1 messages`, no English in Chinese."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import product
from typing import Any

from mqctl.changes.engine.records import OffsetRecord, QueuePart, SettingPart, SettingRecord, StepPart, StepRecord
from mqctl.changes.offsets import view as offsets
from mqctl.changes.plan.delay_repair import RepairReason
from mqctl.changes.settings import view as settings
from mqctl.changes.steps import view as step_plans
from mqctl.cli.gaps import gap_lines
from mqctl.commands.dlq import resend_view
from mqctl.commands.replay import follow_view
from mqctl.commands.replay import view as replay_view
from mqctl.model.counts import counted
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lang import Lang
from mqctl.model.plan import Callback, ClusterIdentity, Method, OffsetPlan, PlanKind, QueuePosition
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import ResendPlan
from mqctl.model.setting_plan import SettingKind, SettingPlan, SettingStep
from mqctl.model.step_plan import Step, StepPlan
from mqctl.render.document import Document, Paragraphs
from mqctl.render.spoken_document import spoken_document
from mqctl.render.text import write_plain
from mqctl.render.translation import spoken
from mqctl.text import Word, joined, sentence
from tests.each import each
from tests.render.test_every_sentence import COUNTS, MANY, check
from tests.render.test_texts import TEMPLATES
from tests.sources import Source, in_every_module

RECORD: Any = {"id": "7", "subject": "Pay", "who": "me", "made_at_ms": 0, "cluster": "C", "brokers": {}}
CLUSTER = ClusterIdentity(cluster="C", brokers=(("broker-a", "10.0.0.1:10911"),))
TO_TYPE = re.compile(r"`[^`]*`|(?:mqctl|--)[^；，。：）、\n]*|'[^']*'")
ENGLISH = re.compile(r"(?:\b[a-z]{2,}\b[ ,;:]+){2}\b[a-z]{2,}\b")


def to_do(confirm: str) -> str:
    return sentence(
        "nothing-changed-add-execute",
        "nothing was changed; add --execute --confirm {confirm} to do it",
        confirm=confirm,
    )


def offset_plan(count: int) -> Document:
    positions = [
        QueuePosition(queue=MessageQueue("Pay", "broker-a", number), min_offset=0, max_offset=9, old=None)
        for number in range(count)
    ]
    plan = OffsetPlan(
        kind=PlanKind.OFFSET_RESET,
        identity=CLUSTER,
        group="G",
        target=sentence("targets-earliest", "to earliest"),
        method=(Method.COMMIT, Method.CALLBACK, Method.SERVER)[count],
        made_at_ms=0,
        online=count > 0,
        changes=tuple(
            position.to(count, sentence("never-committed-min-offset", "never committed, min offset"))
            for position in positions
        ),
        callbacks=(Callback(topic="Pay", broker_name="broker-a", time_ms=0),) * count,
        left_out=("queue 3 of Pay on broker-b",) * count,
        creates_on=("broker-a",) * count,
    )
    return offsets.plan_document(plan, to_do("G"))


def offset_change(count: int) -> Document:
    part = QueuePart(topic="Pay", broker_name="broker-a", queue_id=0, old=0, new=5, found=0)
    part.state = "not-moved"
    part.reason = sentence(
        "offset-broker-accepted-change-still", "the broker accepted the change and still has {found}", found=0
    )
    record = OffsetRecord(kind="offset-reset", target="to latest", method="commit", parts=[part] * count, **RECORD)
    return offsets.change_document(record)


def step_plan(count: int) -> Document:
    many = sentence("too-many-overdue-messages", "too many overdue messages to look for their delivered copies")
    effect = joined(
        "; ",
        [
            RepairReason.WISH,
            sentence(
                "delay-not-delivered-far",
                "{rescued_count} not delivered so far will be",
                rescued_count=counted(count, "message"),
            ),
            sentence(
                "delay-passed-not-delivered",
                "{passed_count} not delivered again",
                passed_count=counted(count, "delivered message"),
            ),
        ],
    )
    steps = [
        *(Step(subject=f"level {n}", old="5", new="0", effect=effect) for n in range(count)),
        Step(subject="level 9", old="5", new="5", problem=many),
    ]
    plan = StepPlan(kind="delay-repair", target="/store", confirm="store", made_at_ms=0, steps=tuple(steps))
    return step_plans.step_plan_document(plan, "x/1", to_do("store"))


def step_change(count: int) -> Document:
    part = StepPart(subject="key 5", old="5", new=None)
    part.state = "not-moved"
    part.reason = sentence(
        "delay-reads-otherwise", "{main} or {backup} reads otherwise", main="delayOffset.json", backup="its"
    )
    record = StepRecord(kind="delay-repair", confirm="store", parts=[part] * count, **RECORD)
    return step_plans.step_change_document(record, "x/1")


def setting_plan(count: int) -> Document:
    messages = counted(count, "message")
    stays = sentence(
        "settings-offsets-stay-broker-group",
        "its offsets stay on the broker, and a group of the same name resumes from them",
    )
    consumed = sentence(
        "settings-consumed-all-groups-removed", "consumed by all groups, in the removed queues: {held}", held=messages
    )
    step = SettingStep(
        kind=SettingKind.WRITE_PERM, place="broker-a", address="a:1", subject="Pay", old={"perm": "6"}, new=None
    )
    plan = SettingPlan(
        kind="topic-update", noun="topic", subject="Pay", identity=CLUSTER, made_at_ms=0, steps=(step,) * count,
        warnings=(
            consumed,
            sentence(
                "settings-no-longer-read",
                "{readers} can no longer read {topic} on {name}",
                readers=counted(count, "group"), topic="Pay", name="broker-a",
            ),
            sentence(
                "settings-unread",
                "unread by it: {lag}; {stays}",
                lag=sentence("unknown-number-messages", "an unknown number of messages"), stays=stays,
            ),
        ),
    )  # fmt: skip
    return settings.plan_document(plan)


def setting_change(count: int) -> Document:
    part = SettingPart(kind="topic", place="broker-a", address="a:1", subject="Pay", old={"perm": "6"}, new=None)
    part.state = "not-moved"
    part.reason = sentence(
        "settings-not-tried-comes-first",
        "not tried: the {kind} at {place} comes first, and is {state}",
        kind=Word("topic"),
        place="broker-a",
        state=Word("unknown"),
    )
    return settings.change_document(SettingRecord(kind="topic-update", noun="topic", parts=[part] * count, **RECORD))


def resend_plan(count: int) -> Document:
    plan = ResendPlan(
        identity=CLUSTER, group="G", to_topic=None, rate=1.0, made_at_ms=0, items=(), hearers={"Pay": ("H",) * count}
    )
    return resend_view.plan_document(plan)


def replay_plan(count: int) -> Document:
    stretch = replay_view.PlannedRange(
        topic="Pay",
        broker_name="broker-a",
        broker_address="a:1",
        queue_id=0,
        begin=0,
        end=count,
        message_count=count,
        gone_count=0,
    )
    report = replay_view.ReplayPlanReport(
        cluster="C", source="Pay", target="Again", filter="all", rate_per_s=1 / 3,
        message_count=count, receivers=["G"] * count, queues=[stretch] * count,
    )  # fmt: skip
    do = sentence(
        "replay-nothing-published-add-execute",
        "nothing was published; add --execute --confirm {target} to do it",
        target="Again",
    )
    return replay_view.replay_plan_document(report, do)


def followed(count: int) -> Document:
    keys = follow_view.FollowedKeys(
        kind="sharding keys", message_count=count, key_count=count, placed_count=count, scattered_count=count
    )
    plan = follow_view.FollowPlan(
        old="Pay", new="Pay2", group="follow-Pay", selector="hash",
        begin=sentence("replay-first-messages", "from the first messages"),
        old_queue_count=count,
        new_queue_count=2, message_count=count, readers={"G": count}, receivers=[], keys=keys,
        warnings=[
            sentence(
                "replay-no-more-queues-nothing",
                "{new} has no more queues than {old}: there is nothing to gain",
                new="Pay2", old="Pay",
            )
        ],
        steps=[sentence("alone-wait", "wait for it")], queues=[],
    )  # fmt: skip
    return follow_view.follow_plan_document(plan)


def gaps(count: int) -> Document:
    left = sentence("snapshot-left-group-while-asked", "it left the group while it was asked")
    listed = [
        Gap(part=Part.MEMBERS, cause=Cause.SILENT, reason=left, broker="broker-a",
            subject=GapSubject(group="G", client=f"c{number}"))
        for number in range(count)
    ]  # fmt: skip
    document = Document(schema="x/1", value=None, blocks=[Paragraphs(gap_lines(listed))])
    return document.with_gaps(listed)


DOCUMENTS = (
    *(offset_plan, offset_change, step_plan, step_change, setting_plan, setting_change),
    *(resend_plan, replay_plan, followed, gaps),
)


def shown(document: Document) -> str:
    out = StringIO()
    write_plain(document, out, wide=True)
    return out.getvalue()


@each("build, count", product(DOCUMENTS, COUNTS))
def test_n11_a_plan_agrees_with_its_counts_in_its_language(build: Callable[[int], Document], count: int) -> None:
    english = shown(build(count))
    chinese = shown(spoken_document(build(count), Lang.ZH))
    for text, lang in ((english, Lang.EN), (chinese, Lang.ZH)):
        for line in text.splitlines():
            check(line, lang)
    assert re.search("[\u4e00-\u9fff]", chinese) or not english.strip()
    left = [line for line in chinese.splitlines() if ENGLISH.search(TO_TYPE.sub("", line))]
    assert left == []


NUMBER_BEFORE_MANY = re.compile(
    r"(?<!of )(?<!first )(?<!newest )(?<!than )(?<!group )\{\} (?:(?!of|with|in)[a-z-]+ )?"
    rf"(?:{'|'.join(sorted(MANY - {'offsets', 'records'}))})\b"
)
ROOMS = {"changes", "bench", "render", "commands", "cli", "diagnosis", "model", "snapshot", "allocation"}
NEVER_ONE = {
    "{} times as fast; busiest key {} has {} of an instance's; after a crash more is delivered again": "a decimal",
    "some instead of some ({} times); busiest key {} has {} of an instance's; after a crash more is delivered "
    "again": "a decimal",
    "{}: queue {} has {} of all messages, {} times the mean of its some.": "a decimal",
    "{}, and {} more groups alike": "told from four groups on",
    "{}, {} times until {}": "told from three on",
    "{}: {} left and came back {} times within {}": "told from three on",
    "{}: {} members joined": "one is named",
    "{}: {} members left": "one is named",
    "kill -3 {} writes the dump to its standard output: then {}; or {}": "a process id",
    "cannot take away {} of {} clients": "a group of one is refused before",
    "{} retries": "the title of a curve, of a group",
    "each queue has one pull under way; one brought {} messages in {}": "a mean, with a decimal",
    "time cannot run {} times as fast": "once as fast is as it is",
    "a clock cannot run {} times as fast": "once as fast is as it is",
    "{} ({} times)": "told from two on",
    "{} times": "once has its own word",
    "use up to {} letters, digits, - and _": "the longest name of a broker",
    "{} messages of {} have the key {}": "told from two on",
    "twice or more: {}: {} times": "told from two on",
    "{} messages are too many for one plan": "more than a plan takes",
}


def numbers_before_many(source: Source) -> Iterator[str]:
    """Yields what a module writes without a key, and counts without `counted`."""
    package, room = source.name.split("/")[:2]
    if package == "mqctl" and room in ROOMS:
        pieces = (node.values for node in source.nodes if isinstance(node, ast.JoinedStr))
        texts = ("".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in own) for own in pieces)
        yield from (text for text in texts if NUMBER_BEFORE_MANY.search(text))


all_numbers_before_many = in_every_module(numbers_before_many)


def test_n11_no_sentence_writes_a_number_before_many() -> None:
    counted = re.compile(r"\{\w+:[a-z/ ]+\}")  # brings its noun or its verb
    of_rules = re.compile(r"count-|mq\d")  # tests/render/test_every_sentence.py fills those of rules
    templates = [counted.sub("some", template) for key, template in TEMPLATES if not of_rules.match(key)]
    bare = {re.sub(r"\{[^}]*\}", "{}", template) for template in templates}
    wrong = {text for text in bare if NUMBER_BEFORE_MANY.search(text)} | set(all_numbers_before_many())
    assert wrong - NEVER_ONE.keys() == set(), "say it with `counted`"


def test_talk_of_a_plan_is_chinese() -> None:
    said = sentence(
        "plan-stopped-middle-next",
        "mqctl: stopped in the middle: {stopped}\n  next: {finish}",
        stopped=sentence("common-interrupted", "interrupted"),
        finish="mqctl undo 7",
    )
    assert spoken(said, Lang.ZH) == "mqctl: 中途停止：已中断\n  下一步：mqctl undo 7"
