"""Backlog advice as tables: when it ends, what bounds the group, what each remedy would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqctl import units
from mqctl.commands.group.advice_rows import AdviceReport, AdviceRow
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow
from mqctl.lag.words import BOUNDS, CURES, cause_said
from mqctl.model.finding import Confidence
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.findings_alike import with_mode
from mqctl.render.remedies import remedy_tables
from mqctl.rules.engine.causes import cause_of, numbers_of
from mqctl.text import printable, sentence

_ADVICE_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("lag_count", "lag", CellKind.COUNT, none="never committed"),
    Column("lag_ms", "lag time", CellKind.DURATION_MS),
    Column("in_tps", "in/s", none="?"),
    Column("consumed_tps", "consumed/s", none="?"),
    Column("out_tps", "committed/s", none="?"),
    Column("drain", "drains in"),
    Column("deleted", "deleted before read", none="?"),
    Column("parallelism", "calls at once", CellKind.COUNT, none="?"),
    Column("bound", "limited by"),
)
_CAUSES = 10
"""Backlogs of which the cause is told in words; the table has all."""
_QUEUE_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("owner", "held by", none="nobody"),
    Column("lag_count", "lag", CellKind.COUNT, none="never committed"),
    Column("in_tps", "in/s", none="?"),
    Column("out_tps", "committed/s", none="?"),
    Column("movement", "movement", CellKind.WORDS),
    Column("drain", "drains in"),
)
CSV_COLUMNS = (
    *(Column(key, key) for key in ("group", "topic", "member_count", "queue_count", "lag_count", "lag_ms")),
    *(
        Column(key, key)
        for key in ("in_tps", "consumed_tps", "out_tps", "drain", "drain_ms", "expires_in_ms", "loses", "bound")
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A row as people read it."""

    group: str
    topic: str
    lag_count: int | None
    lag_ms: int | None
    in_tps: str | None
    consumed_tps: str | None
    out_tps: str | None
    drain: str
    deleted: str | None
    parallelism: int | None
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownQueue:
    group: str
    topic: str
    broker: str
    queue_id: int
    owner: str | None
    lag_count: int | None
    in_tps: str | None
    out_tps: str | None
    movement: str
    drain: str


def advice_document(
    observed_at_ms: int,
    window_ms: int,
    advices: Sequence[BacklogAdvice],
    *,
    detail: bool,
    members_known: bool = False,
) -> Document:
    """Builds the document of `group lag --advise`.

    Args:
        detail: show people the queues too.
        members_known: whether every broker said who is online.
    """
    rows = [AdviceRow.of(advice) for advice in advices]
    causes = [line for advice in advices if (line := _cause_line(advice, members_known=members_known))]
    blocks: list[Table | Paragraphs] = [Paragraphs(causes[:_CAUSES])] if causes else []
    blocks += [
        Table(
            _ADVICE_COLUMNS,
            [_shown(advice) for advice in advices],
            empty=sentence("empty-no-group-has-offsets-there", "no group has committed offsets there"),
        )
    ]
    blocks += remedy_tables(advices)
    uncommitted = [line for advice in advices for line in _uncommitted(advice)]
    if uncommitted:
        blocks.append(Paragraphs(uncommitted))
    if window_ms and any(advice.confidence is Confidence.LOW for advice in advices if advice.remedies):
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "backlog-uncertain-two-looks-apart",
                        "Uncertain: the two samples are only {window_ms} apart, less than the commit interval of "
                        "consumers, or not every member answered.",
                        window_ms=window_ms,
                    )
                ]
            )
        )
    if detail:
        shown = [_shown_queue(flow) for advice in advices for flow in advice.queues]
        blocks.append(Table(_QUEUE_COLUMNS, shown, title=sentence("title-queues", "Queues")))
    return Document(
        schema="group.advice/1",
        value=AdviceReport(observed_at_ms=observed_at_ms, window_ms=window_ms, groups=rows),
        records=rows,
        csv_columns=CSV_COLUMNS,
        blocks=blocks,
    )


def _cause_line(advice: BacklogAdvice, *, members_known: bool) -> str | None:
    """Says in words why a group is behind and what to do; None where nothing is behind, or nobody knows."""
    cause = cause_of(advice, members_known=members_known) if advice.remedies else None
    if cause is None:
        return None
    said = cause_said(cause, numbers_of(advice))
    line = sentence(
        "cause-is",
        "{group} on {topic}: {cause} {cure}",
        group=advice.group,
        topic=advice.topic,
        cause=said,
        cure=CURES[cause],
    )
    return printable(line)


def _deleted(advice: BacklogAdvice) -> str | None:
    """Says whether retention deletes what waits before it is read, and in what time; None where nobody knows."""
    if advice.loses is None:
        return None
    if advice.expires_in_ms is None:
        return sentence("common-yes", "yes") if advice.loses else sentence("common-no", "no")
    span = units.Duration(advice.expires_in_ms)
    if advice.loses:
        return sentence("deleted-yes-in", "yes, from {span} on", span=span)
    return sentence("deleted-no-in", "no, kept {span} more", span=span)


def _uncommitted(advice: BacklogAdvice) -> Iterator[str]:
    """Says of queues without a committed offset where what waits is counted from, or that nobody knows."""
    flows = [flow for flow in advice.queues if flow.lag_count is None and flow.waiting_count != 0]
    held = [flow.waiting_count for flow in flows if flow.waiting_count is not None]
    known = {"group": advice.group, "topic": advice.topic}
    if held:
        yield sentence(
            "backlog-no-committed-offset-queues-counted",
            "{group} has no committed offset on {topic} in queues: {queues}. Counted from the first message that "
            "their members hold, messages waiting: {waiting:,}.",
            **known,
            queues=len(held),
            waiting=sum(held),
        )
    if len(flows) > len(held):
        yield sentence(
            "backlog-no-committed-offset-queues",
            "{group} has no committed offset on {topic} in queues: {queues}, and no member holds their messages: "
            "how many wait is not known.",
            **known,
            queues=len(flows) - len(held),
        )


def _drain(drain: Drain) -> str:
    if drain.outlook is Outlook.NEVER:
        return sentence("drains-never", "never")
    if drain.outlook is Outlook.UNKNOWN:
        return sentence("drains-no-rate", "no rate: look twice")
    return units.duration(drain.after_ms or 0)


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}"


def _shown(advice: BacklogAdvice) -> _Shown:
    return _Shown(
        group=with_mode(advice.group, advice.consume_mode),
        topic=advice.topic,
        lag_count=advice.lag_count if advice.lag_count is None else max(advice.lag_count, advice.waiting_count or 0),
        lag_ms=advice.lag_ms,
        in_tps=_rate(advice.in_tps),
        consumed_tps=_rate(advice.consumed_tps),
        out_tps=_rate(advice.out_tps),
        drain=_drain(advice.drain),
        deleted=_deleted(advice),
        parallelism=advice.parallelism,
        bound=BOUNDS[advice.bound.value],
    )


def _shown_queue(flow: QueueFlow) -> _ShownQueue:
    return _ShownQueue(
        group=flow.group,
        topic=flow.queue.topic,
        broker=flow.queue.broker_name,
        queue_id=flow.queue.queue_id,
        owner=flow.owner,
        lag_count=flow.lag_count,
        in_tps=_rate(flow.in_tps),
        out_tps=_rate(flow.out_tps),
        movement=flow.movement.value,
        drain=sentence("backlog-after-others", "after the others")
        if flow.movement is Movement.WAITING
        else _drain(flow.drain),
    )
