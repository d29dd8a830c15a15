"""Plans to send dead letters again, and how that went, as tables."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mqctl.changes.engine.records import CONFIRMED, LETTER_WORDS, ResendRecord, face_state
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import retry_topic
from mqctl.model.resend import Fate, ResendPlan
from mqctl.model.said import Said, said
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, key_of, sentence, values_of

PLAN_COLUMNS = (
    Column("broker_name", "broker"),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("age_ms", "age", CellKind.DURATION_MS),
    Column("failed_count", "failed", CellKind.COUNT),
    Column("keys", "keys"),
    Column("unique_key", "message id"),
    Column("topic", "to topic", none="?"),
    Column("fate", "plan", CellKind.WORDS),
    Column("note", "why", CellKind.WORDS, none=""),
    Column("letter_id", "dead letter id", wide=True),
)
SENT_COLUMNS = (
    Column("letter_id", "dead letter id"),
    Column("topic", "to topic"),
    Column("state", "state", CellKind.WORDS),
    Column("copy_id", "sent as"),
    Column("reason", "why", CellKind.WORDS, none=""),
    Column("unique_key", "message id", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLetter:
    """One letter of a plan: `send`, `resent` before, `doubtful` (perhaps resent), or `stuck`."""

    letter_id: str
    unique_key: str
    broker_name: str
    queue_offset: int
    age_ms: int
    failed_count: int
    keys: str | None
    topic: str | None
    fate: str
    note: str | None
    note_key: str | None = None
    note_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearers:
    """Groups beside the one in question that get what is sent to a topic."""

    topic: str
    groups: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendPlanReport:
    """Machine form of a plan that was not executed.

    Attributes:
        rate: messages a second.
        hearers: who else gets the messages, by topic.
        unheard: topics that no group consumes.
        group_online: whether a member of the group is; None where a broker did not tell.
        unreadable: damaged records of resends that may have sent the doubtful letters, each with the reason.
    """

    cluster: str
    group: str
    to_topic: str | None
    rate: float
    made_at_ms: int
    resumes: str | None
    send_count: int
    resent_count: int
    doubtful_count: int
    stuck_count: int
    hearers: list[Hearers]
    unheard: list[str]
    group_online: bool | None
    letters: list[PlannedLetter]
    unreadable: list[str]
    keyed_unreadable: list[Said] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResentLetter:
    """One letter of a resend: `sent`, `failed`, `unknown` (in doubt), `sending` (cut off) or `waiting`."""

    letter_id: str
    unique_key: str
    topic: str
    state: str
    copy_id: str | None
    reason: str | None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendReport:
    """Machine form of a resend."""

    id: str
    cluster: str
    group: str
    to_topic: str | None
    who: str
    made_at_ms: int
    state: str
    sent_count: int
    letters: list[ResentLetter]


def plan_document(plan: ResendPlan) -> Document:
    """Builds the document of a plan."""
    rows = [
        PlannedLetter(
            letter_id=item.key.letter_id,
            unique_key=item.key.unique_key,
            broker_name=item.letter.broker_name,
            queue_offset=item.letter.stored.message.queue_offset,
            age_ms=plan.made_at_ms - item.letter.stored.message.store_time_ms,
            failed_count=item.letter.failed_count,
            keys=item.letter.stored.message.properties.get("KEYS"),
            topic=item.topic,
            fate=item.fate.value,
            note=item.note,
            note_key=key_of(item.note),
            note_values=values_of(item.note),
        )
        for item in plan.items
    ]
    counts = {fate: sum(item.fate is fate for item in plan.items) for fate in Fate}
    report = ResendPlanReport(
        cluster=plan.identity.cluster,
        group=plan.group,
        to_topic=plan.to_topic,
        rate=plan.rate,
        made_at_ms=plan.made_at_ms,
        resumes=plan.resumes,
        send_count=counts[Fate.SEND],
        resent_count=counts[Fate.RESENT],
        doubtful_count=counts[Fate.DOUBTFUL],
        stuck_count=counts[Fate.STUCK],
        hearers=[Hearers(topic=topic, groups=list(groups)) for topic, groups in sorted(plan.hearers.items())],
        unheard=list(plan.unheard),
        group_online=plan.is_online,
        letters=rows,
        unreadable=list(plan.unreadable),
        keyed_unreadable=said(plan.unreadable),
    )
    blocks: list[Table | Paragraphs] = [
        Table(PLAN_COLUMNS, rows, empty=sentence("empty-no-dead-letter-was-chosen", "no dead letter was chosen")),
        Paragraphs(_lines(plan, counts)),
    ]
    return Document(schema="dlq.plan/1", value=report, records=rows, blocks=blocks)


def _lines(plan: ResendPlan, counts: dict[Fate, int]) -> list[str]:
    sending = counts[Fate.SEND]
    lines = [
        sentence(
            "resend-send-already-resent-not",
            "{group} on {cluster}: {sending:,} to send, {counts:,} already resent, {counts_2:,} not resendable",
            group=plan.group,
            cluster=plan.identity.cluster,
            sending=sending,
            counts=counts[Fate.RESENT],
            counts_2=counts[Fate.STUCK],
        )
    ]
    if doubtful := counts[Fate.DOUBTFUL]:
        lines.append(
            sentence(
                "sent-resend-whose-record",
                "{doubtful:,} may have been sent by a resend whose record is damaged, and {doubtful:/is/are} skipped",
                doubtful=doubtful,
            )
        )
    if not sending:
        return [*lines, sentence("common-nothing", "nothing to do")]
    if sending > plan.rate:
        lines.append(
            sentence(
                "resend-second-takes",
                "at {rate_per_s} a second that takes {sending_ms}",
                rate_per_s=plan.rate,
                sending_ms=round(1000 * sending / plan.rate),
            )
        )
    for topic in sorted({item.topic for item in plan.sending if item.topic}):
        others = plan.hearers.get(topic, ())
        if others and topic != retry_topic(plan.group):
            lines.append(
                sentence(
                    "resend-these-groups-consume-too",
                    "these groups consume {topic} too: {others}; --to {retry_topic} reaches {group} alone",
                    topic=topic,
                    others=others,
                    retry_topic=shell_word(retry_topic(plan.group)),
                    group=plan.group,
                )
            )
    lines += [
        sentence(
            "resend-no-group-consumes-nobody",
            "no group consumes {topic}: resent messages would have no consumer",
            topic=topic,
        )
        for topic in plan.unheard
    ]
    if plan.is_online is False:
        lines.append(sentence("resend-nobody-online-now", "no member of {group} is online now", group=plan.group))
    return [
        *lines,
        sentence(
            "resend-nothing-sent-add-execute",
            "nothing was sent; add --execute --confirm {group} to do it",
            group=shell_word(plan.group),
        ),
    ]


def resend_document(record: ResendRecord) -> Document:
    """Builds the document of a resend."""
    rows = [
        ResentLetter(
            letter_id=letter.letter_id,
            unique_key=letter.unique_key,
            topic=letter.topic,
            state=LETTER_WORDS.get(letter.state, letter.state),
            copy_id=letter.found,
            reason=letter.reason,
            reason_key=key_of(letter.reason),
            reason_values=values_of(letter.reason),
        )
        for letter in record.parts
    ]
    sent = sum(part.state == CONFIRMED for part in record.parts)
    report = ResendReport(
        id=record.id,
        cluster=record.cluster,
        group=record.subject,
        to_topic=record.to_topic,
        who=record.who,
        made_at_ms=record.made_at_ms,
        state=face_state(record),
        sent_count=sent,
        letters=rows,
    )
    lines = [
        sentence(
            "resend-sent",
            "resend {record}: {state}, {sent:,} of {rows:,} sent",
            record=record.id,
            state=Word(report.state),
            sent=sent,
            rows=len(rows),
        )
    ]
    if sent < len(rows):
        again = command_line("mqctl dlq resend -g {} --resume {}", record.subject, record.id)
        lines.append(
            sentence(
                "resend-continue-letters-doubt-looked",
                "to continue: {again}; letters in doubt are looked up first",
                again=again,
            )
        )
    return Document(
        schema="dlq.resend/1", value=report, records=rows, blocks=[Table(SENT_COLUMNS, rows), Paragraphs(lines)]
    )
