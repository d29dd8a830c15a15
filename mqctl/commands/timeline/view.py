"""`timeline`: what happened, in sentences; what is alike shares one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mqctl import units
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.timeline import EventKind, TimelineEvent, TimelineReported
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.event_words import EVENTS, not_recorded
from mqctl.render.severity_words import VERDICTS
from mqctl.text import Sentence, composed, places, printable, sentence

_WORST = 8
_ALIKE = 3
# What a group does again and again is one line, and three times is that.
_AGAIN = 3
_GRAVE = 1
_COLUMNS = (
    Column("moment_ms", "time", CellKind.TIME_MS),
    Column("severity", "severity", CellKind.SEVERITY),
    Column("kind", "event", wide=True),
    Column("what", "what"),
    Column("cause", "cause"),
)
_CSV = (
    Column("moment_ms", "time"),
    Column("until_ms", "until"),
    Column("kind", "event"),
    Column("severity", "severity"),
    Column("broker", "broker"),
    Column("group", "group"),
    Column("topic", "topic"),
    Column("client", "client"),
    Column("message_count", "messages"),
    Column("queue_count", "queues"),
    Column("before", "before"),
    Column("after", "after"),
    Column("who", "who"),
    Column("change_id", "change"),
)


EMPTY = sentence("timeline-empty", "nothing happened at the looks of that time")
_MORE = Sentence("timeline-more", "and {count:,} more")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """One line for people; it may stand for several events.

    Attributes:
        weight: messages concerned, to find the worst.
        groups: those it is about; none where it is about no group.
    """

    moment_ms: int
    severity: str
    rank: int
    weight: int
    kind: str
    what: str
    cause: str | None
    cause_text: str | None
    groups: list[str]


def timeline_document(value: TimelineReported, limit: int | None) -> Document:
    """Builds the document of a timeline with at most `limit` rows."""
    rows = timeline_rows(value.events)
    shown = gravest(rows, limit)
    blocks: list[Table | Paragraphs] = [
        Paragraphs(head_lines(value)),
        Paragraphs(standing_out(rows)),
        Table(_COLUMNS, shown, empty=EMPTY),
    ]
    if len(shown) < len(rows):
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "timeline-cut",
                        "{shown:,} of {total:,} shown, the gravest, in order of time; --limit all",
                        shown=len(shown),
                        total=len(rows),
                    )
                ]
            )
        )
    events = value.events if limit is None else value.events[:limit]
    return Document(
        schema="timeline/1",
        value=value if limit is None else replace(value, events=events),
        records=events,
        csv_columns=_CSV,
        blocks=blocks,
    )


def head_lines(value: TimelineReported) -> list[str]:
    """Returns which time it is about, and what limits it."""
    lines = [
        sentence(
            "timeline-span",
            "{place}: {since_time_ms} to {until_time_ms} ({span_ms}), {looks:,} looks",
            place=printable(value.recording),
            since_time_ms=value.since_ms,
            until_time_ms=value.until_ms,
            span_ms=value.until_ms - value.since_ms,
            looks=value.look_count,
        )
    ]
    if value.used_look_count < value.look_count:
        lines.append(
            sentence(
                "timeline-sampled",
                "offsets compared at {used:,} of {looks:,} looks: name a shorter time to see every one",
                used=value.used_look_count,
                looks=value.look_count,
            )
        )
    if value.unjudged_count:
        lines.append(
            sentence(
                "timeline-unjudged",
                "no cause was looked for in {count:,} more events: name a group with -g, or more moments with --causes",
                count=value.unjudged_count,
            )
        )
    return lines


def standing_out(rows: Sequence[TimelineRow]) -> list[str]:
    """Returns the worst, folded by cause: of what has one cause, the worst speaks for all."""
    by_cause: dict[tuple[str, str | None], list[TimelineRow]] = defaultdict(list)
    for row in rows:
        if row.rank >= _GRAVE:
            by_cause["cause" if row.cause else row.kind, row.cause].append(row)
    folded = [(max(own, key=_worse), len(own) - 1) for own in by_cause.values()]
    folded.sort(key=lambda item: _worse(item[0]), reverse=True)
    if not folded:
        return [
            sentence(
                "timeline-calm",
                "Between the recorded samples nothing unusual happened; mqctl doctor judges the state itself.",
            )
        ]
    lines = [sentence("timeline-worst", "What stands out, worst first:")]
    for row, more in folded[:_WORST]:
        what = composed("{what} ({more})", what=row.what, more=_MORE(count=more)) if more else row.what
        severity = VERDICTS[row.severity]
        lines.append(composed("  {severity} {time_ms} {what}", severity=severity, time_ms=row.moment_ms, what=what))
        if row.cause_text:
            lines.append(composed("    {cause}", cause=row.cause_text))
    if len(folded) > _WORST:
        lines.append(composed("  {more}", more=_MORE(count=len(folded) - _WORST)))
    return lines


def _worse(row: TimelineRow) -> tuple[int, int]:
    return row.rank, row.weight


def gravest(rows: Sequence[TimelineRow], limit: int | None) -> list[TimelineRow]:
    """Returns the gravest rows in order of time."""
    if limit is None or len(rows) <= limit:
        return list(rows)
    places = sorted(range(len(rows)), key=lambda place: _worse(rows[place]), reverse=True)[:limit]
    return [rows[place] for place in sorted(places)]


def timeline_rows(events: Sequence[TimelineEvent]) -> list[TimelineRow]:
    """Returns the lines: what many groups had at one look, or one had again and again, is one of them."""
    gaps = {event.moment_ms for event in events if event.kind is EventKind.NOT_RECORDED}
    rows = []
    for together in _again(_alike(events)):
        worst = max(together, key=lambda event: (event.severity.rank, event.message_count or 0))
        first = min(together, key=lambda event: event.moment_ms)
        moments = {event.moment_ms for event in together}
        groups = {(event.group, event.topic) for event in together}
        members = {event.client for event in together}
        what = event_sentence(worst, many=len(members) if len(groups) == 1 and len(moments) == 1 else 1)
        if len(groups) > 1:
            what = sentence(
                "timeline-groups", "{what}, and {count:,} more groups alike", what=what, count=len(groups) - 1
            )
        elif len(moments) > 1:
            what = sentence(
                "timeline-times",
                "{what}, {times:,} times until {until_time_ms}",
                what=what,
                times=len(together),
                until_time_ms=max(moments),
            )
        if worst.after_ms is not None and worst.after_ms in gaps:
            what = sentence(
                "timeline-gap-before",
                "{what} (not recorded before it since {since_time_ms})",
                what=what,
                since_time_ms=worst.after_ms,
            )
        cause = worst.cause
        reason = (
            None
            if cause is None
            else sentence("timeline-cause", "cause: {what} ({code})", what=cause.what, code=cause.code)
        )
        rows.append(
            TimelineRow(
                moment_ms=first.moment_ms,
                severity=worst.severity.value,
                rank=worst.severity.rank,
                weight=sum(event.message_count or 0 for event in together),
                kind=worst.kind.value,
                what=what,
                cause=None if cause is None else cause.code,
                cause_text=reason,
                groups=sorted({event.group for event in together if event.group is not None}),
            )
        )
    return sorted(rows, key=lambda row: row.moment_ms)


def _alike(events: Iterable[TimelineEvent]) -> list[list[TimelineEvent]]:
    """Puts together what members of one group did at one look, and what many groups had at one look."""
    of_group: dict[tuple[object, ...], list[TimelineEvent]] = defaultdict(list)
    for number, event in enumerate(events):
        joined = event.kind in (EventKind.MEMBER_JOINED, EventKind.MEMBER_LEFT)
        of_group[event.moment_ms, event.kind, event.group if joined else number].append(event)
    at_look: dict[tuple[object, ...], list[list[TimelineEvent]]] = defaultdict(list)
    for own in of_group.values():
        cause = None if own[0].cause is None else own[0].cause.code
        at_look[own[0].moment_ms, own[0].kind, cause, own[0].group is None].append(own)
    together = []
    for many in at_look.values():
        groups = {(own[0].group, own[0].topic) for own in many}
        fold = len(groups) > _ALIKE and many[0][0].group is not None
        together += [[event for own in many for event in own]] if fold else many
    return together


def _again(folded: Sequence[list[TimelineEvent]]) -> list[list[TimelineEvent]]:
    by_subject: dict[tuple[object, ...], list[list[TimelineEvent]]] = defaultdict(list)
    for number, own in enumerate(folded):
        event = own[0]
        lone = len(own) == 1 and event.kind is not EventKind.NOT_RECORDED
        subject = event.kind, event.broker, event.group, event.topic, event.client, event.change_id
        by_subject[subject if lone else (number,)].append(own)
    together: list[list[TimelineEvent]] = []
    for many in by_subject.values():
        together += [[event for own in many for event in own]] if len(many) >= _AGAIN else many
    return together


def event_sentence(event: TimelineEvent, many: int = 1) -> str:
    """Says what happened; `many` members at once are counted."""
    said = EVENTS[event.kind + _variant(event, many)]
    queues, messages = event.queue_count or 0, event.message_count or 0
    words = {
        "group": event.group or "",
        "topic": event.topic or "",
        "place": f"{event.group} / {event.topic}",
        "client": event.client or "",
        "broker": event.broker or "",
        "subject": " ".join(name for name in (event.topic, event.group, event.broker) if name),
        "queues": units.Count(queues),
        "count": units.Count(messages),
        "messages": units.Count(messages),
        "in_per_s": event.in_per_s,
        "out_per_s": event.out_per_s,
        "before": event.before or "-",
        "after": event.after or "-",
        "times": str(many if many > 1 else event.times),
        "span_ms": event.jump_ms or (event.until_ms or event.moment_ms) - event.moment_ms,
        "why": "" if event.gap is None else not_recorded(event.gap, event.reason),
        "who": event.who or "?",
        "id": event.change_id or "?",
        "reason": event.reason or "",
    }
    text = said(**{name: words[name] for name in places(said.template)})
    if event.who is not None and event.kind is not EventKind.CHANGE_MADE:
        text = sentence("event-by", "{what}; by {who} ({id})", what=text, who=event.who, id=event.change_id)
    return printable(text)


def _variant(event: TimelineEvent, many: int) -> str:
    match event.kind:
        case EventKind.MEMBER_JOINED | EventKind.MEMBER_LEFT:
            return "_many" if many > 1 else ""
        case EventKind.OFFSET_STOPPED:
            return "_old" if event.after_ms is None else "_still" if event.until_ms is None else ""
        case EventKind.BACKLOG_BEGAN:
            return "_old" if event.after_ms is None else ""
        case EventKind.NOT_RECORDED:
            return "_still" if event.until_ms is None else ""
        case EventKind.SETTING_CHANGED:
            return "_made" if event.before is None else "_gone" if event.after is None else ""
        case _:
            return ""
