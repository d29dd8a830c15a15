"""Plans for offsets, their outcome, as tables."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mqctl.changes.engine.records import OffsetRecord, QueuePart, way_back
from mqctl.model.column import CellKind, column, columns_of
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.plan import Method, OffsetPlan
from mqctl.model.said import Said, said
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.text import Word, composed, keep_texts, key_of, sentence, values_of

OUTCOME_COLUMNS = (
    Column("topic", "topic"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("old", "old offset", CellKind.COUNT, none="none"),
    Column("new", "new offset", CellKind.COUNT),
    Column("found", "read back", CellKind.COUNT, none="?"),
    Column("state", "state", CellKind.WORDS),
    Column("reason", "why", CellKind.WORDS, none=""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQueue:
    """One queue of a plan; offsets and counts in messages, times in epoch milliseconds.

    Attributes:
        first_read_count: messages that will be consumed of a queue in which the group has no offset so far.
    """

    topic: str = field(metadata=column("topic"))
    broker_name: str = field(metadata=column("broker"))
    queue_id: int = field(metadata=column("queue", CellKind.COUNT))
    min_offset: int = field(metadata=column("min", CellKind.COUNT, wide=True))
    max_offset: int = field(metadata=column("max", CellKind.COUNT, wide=True))
    old: int | None = field(metadata=column("offset", CellKind.COUNT, none="none"))
    new: int = field(metadata=column("new offset", CellKind.COUNT))
    delta: int = field(metadata=column("delta", CellKind.COUNT))
    replayed_count: int = field(metadata=column("replayed", CellKind.COUNT))
    first_read_count: int = field(metadata=column("to consume", CellKind.COUNT))
    skipped_count: int = field(metadata=column("skipped", CellKind.COUNT))
    new_store_time_ms: int | None = field(metadata=column("stored at", CellKind.TIME_MS, none="end"))
    note: str | None = field(metadata=column("note", CellKind.WORDS, none=""))
    broker_address: str = field(metadata=column("address"))
    note_key: str | None = None
    note_values: dict[str, Any] | None = None


_QUEUE = ("topic", "broker_name", "queue_id", "old", "new")
_BOUNDS = ("new_store_time_ms", "min_offset", "max_offset", "note")
PLAN_COLUMNS = columns_of(PlannedQueue, *_QUEUE, "delta", "replayed_count", "skipped_count", *_BOUNDS)
_BEGIN_COLUMNS = columns_of(PlannedQueue, *_QUEUE, "first_read_count", *_BOUNDS)
"""Of a group that has no offset yet: it consumes nothing again, and skips nothing."""
CSV_COLUMNS = (*PLAN_COLUMNS, *columns_of(PlannedQueue, "broker_address"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPlanReport:
    """Machine form of a plan that was not executed.

    Attributes:
        undo: the command that undoes it, `undo_argv` its words, and what that needs.
    """

    kind: str
    cluster: str
    group: str
    target: str
    target_time_ms: int | None
    method: str
    online: bool
    made_at_ms: int
    replayed_count: int
    first_read_count: int
    skipped_count: int
    left_out: list[str]
    creates_on: list[str]
    undo: list[str]
    undo_argv: list[str]
    queues: list[PlannedQueue]
    keyed_left_out: list[Said] = field(default_factory=list)
    keyed_undo: list[Said] = field(default_factory=list)
    target_key: str | None = None
    target_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetChangeReport:
    """Machine form of a change that was made."""

    id: str
    kind: str
    cluster: str
    group: str
    target: str
    method: str
    who: str
    made_at_ms: int
    state: str
    undoes: str | None
    queues: list[QueuePart]
    target_key: str | None = None
    target_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "target")


def plan_document(plan: OffsetPlan, next_step: str) -> Document:
    """Builds the document of a plan; `next_step` is the command that executes it."""
    addresses = dict(plan.identity.brokers)
    rows = [
        PlannedQueue(
            topic=change.queue.topic,
            broker_name=change.queue.broker_name,
            queue_id=change.queue.queue_id,
            min_offset=change.min_offset,
            max_offset=change.max_offset,
            old=change.old,
            new=change.new,
            delta=change.delta,
            replayed_count=change.replayed_count,
            first_read_count=change.first_read_count,
            skipped_count=change.skipped_count,
            new_store_time_ms=change.new_store_time_ms,
            note=change.note,
            note_key=key_of(change.note),
            note_values=values_of(change.note),
            broker_address=addresses[change.queue.broker_name],
        )
        for change in plan.changes
    ]
    undo = command_line("mqctl undo ID --execute --confirm {}", plan.group)
    needs = _undo_needs(plan)
    report = OffsetPlanReport(
        kind=plan.kind.value,
        cluster=plan.identity.cluster,
        group=plan.group,
        target=plan.target,
        target_time_ms=plan.target_time_ms,
        method=plan.method.value,
        online=plan.online,
        made_at_ms=plan.made_at_ms,
        replayed_count=plan.replayed_count,
        first_read_count=plan.first_read_count,
        skipped_count=plan.skipped_count,
        left_out=list(plan.left_out),
        keyed_left_out=said(plan.left_out),
        creates_on=list(plan.creates_on),
        undo=[undo, *needs],
        keyed_undo=said([composed("{command}", command=undo), *needs]),
        undo_argv=list(undo.words),
        queues=rows,
    )
    moving = len(plan.moving)
    lines = [
        _headline(plan, len(rows)),
        *(
            [
                sentence(
                    "offset-group-created",
                    "the group will be created on {creates_on}",
                    creates_on=plan.creates_on,
                )
            ]
            if plan.creates_on
            else []
        ),
        *_forward(plan),
        *_ways(plan),
        *(sentence("offset-left-out", "left out: {item}", item=item) for item in plan.left_out),
        *(
            [way_back("ID"), *(sentence("offset-undo", "undo: {item}", item=item) for item in report.undo[1:])]
            if moving
            else []
        ),
        next_step if moving else sentence("common-nothing", "nothing to do"),
    ]
    columns = [*(_BEGIN_COLUMNS if plan.begins else PLAN_COLUMNS)]
    blocks: list[Table | Paragraphs] = [Table(columns, rows), Paragraphs(lines)]
    return Document(schema="offset.plan/1", value=report, records=rows, blocks=blocks, csv_columns=CSV_COLUMNS)


def _headline(plan: OffsetPlan, queue_count: int) -> str:
    """Tells what moves, and what will be consumed: for the first time what the change that is undone skipped."""
    moving = len(plan.moving)
    of = counted(queue_count, "queue")
    if plan.begins:
        return sentence(
            "offset-begins-to-consume",
            "{group} {target} on {cluster}: it has no offset in {of} so far; {first_read_count} to consume from there",
            group=plan.group,
            target=plan.target,
            cluster=plan.identity.cluster,
            of=of,
            first_read_count=counted(plan.first_read_count, "message"),
        )
    if not plan.unskipped_count:
        return sentence(
            "offset-consumed-again-skipped",
            "{group} {target} on {cluster}: {moving} of {of} {moving:/moves/move}, {replayed_count} consumed "
            "again, {skipped_count:,} skipped",
            group=plan.group,
            target=plan.target,
            cluster=plan.identity.cluster,
            moving=moving,
            of=of,
            replayed_count=counted(plan.replayed_count, "message"),
            skipped_count=plan.skipped_count,
        )
    again = plan.replayed_count - plan.unskipped_count
    return sentence(
        "skipped-before-will-consumed-consumed-again",
        "{group} {target} on {cluster}: {moving} of {of} {moving:/moves/move}, {unskipped_count} skipped "
        "before will be consumed, {again:,} consumed again, {skipped_count:,} skipped",
        group=plan.group,
        target=plan.target,
        cluster=plan.identity.cluster,
        moving=moving,
        of=of,
        unskipped_count=counted(plan.unskipped_count, "message"),
        again=again,
        skipped_count=plan.skipped_count,
    )


def _undo_needs(plan: OffsetPlan) -> list[str]:
    """Says what an undo needs, since that is not always what the change needs."""
    lines = []
    if plan.method is Method.SERVER:
        lines.append(
            sentence(
                "members-stay-online-offsets",
                "members may stay online; committed offsets go back to those of this plan, so what members consume "
                "until then is consumed again",
            )
        )
    else:
        online = (
            sentence("offset-members-stay-online", "members may stay online")
            if plan.method is Method.CALLBACK
            else sentence("offset-members-online-again", "members may be online again")
        )
        lines.append(
            sentence(
                "offset-brokers-reset-whole-topic",
                "{online}: brokers then reset a whole topic to a time, so some messages are consumed "
                "once more than needed; without members online, offsets are restored exactly",
                online=online,
            )
        )
    if without := sum(change.old is None for change in plan.moving):
        lines.append(
            sentence(
                "without-offset-keep-new",
                "{without} without an offset keep the new one: brokers cannot delete an offset",
                without=counted(without, "queue"),
            )
        )
    return lines


def _forward(plan: OffsetPlan) -> list[str]:
    """Warns where who means to go back would skip: the group stands before that point."""
    ahead = [change for change in plan.moving if change.skipped_count]
    if not plan.goes_back or not ahead:
        return []
    said = sentence(
        "offset-go-forward-not-back",
        "{ahead} would go FORWARD, not back: the group has not come to this point yet, and "
        "would skip {skipped_count} unread; --by-duration with a longer span, or "
        "--to-earliest, goes back",
        ahead=counted(len(ahead), "queue"),
        skipped_count=counted(plan.skipped_count, "message"),
    )
    return [sentence("common-warning", "warning: {line}", line=said)]


def _ways(plan: OffsetPlan) -> list[str]:
    """Says how a group with members is changed, since that takes its time."""
    if plan.method is Method.CALLBACK:
        rest = sentence(
            "offset-members-pause-about-per",
            "members pause about 10 s per broker and topic ({callbacks} here)",
            callbacks=len(plan.callbacks),
        )
        return [
            sentence(
                "offset-members-online-broker-pushes",
                "members are online: the broker pushes the new offsets; {rest}, commit them and "
                "resume within 20 s; mqctl watches until the offsets hold",
                rest=rest,
            )
        ]
    if plan.method is Method.SERVER:
        way = sentence(
            "brokers-change-offsets-members",
            "the brokers change the offsets, and members pick them up with their next pull",
        )
        again = sentence(
            "offset-until-commit-about-later", "until they commit, about 10 s later, the old offsets may still be shown"
        )
        return [sentence("offset-members-online", "members are online: {way}; {again}", way=way, again=again)]
    return []


def change_document(record: OffsetRecord) -> Document:
    """Builds the document of an executed plan."""
    for part in record.parts:
        part.keep_texts()
    report = OffsetChangeReport(
        id=record.id,
        kind=record.kind,
        cluster=record.cluster,
        group=record.subject,
        target=record.target,
        method=record.method,
        who=record.who,
        made_at_ms=record.made_at_ms,
        state=record.state,
        undoes=record.undoes,
        queues=record.parts,
    )
    lines = [sentence("change-report", "change {report}: {state}", report=report.id, state=Word(report.state))]
    if not record.is_nothing_done:
        lines.append(way_back(record.id))
    blocks: list[Table | Paragraphs] = [Table(OUTCOME_COLUMNS, report.queues), Paragraphs(lines)]
    return Document(schema="offset.change/1", value=report, records=report.queues, blocks=blocks)
