"""Dead letters and retries as tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.config import perm_text
from mqctl.model.counts import counted
from mqctl.model.dead_letter import (
    DeadLetter,
    DeadLetterTopic,
    GivenUp,
    RepairWindow,
    Retry,
    origin_message_id,
    repair_windows,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.model.resend import LetterKey, letter_key
from mqctl.model.retry_ladder import RetryLadder
from mqctl.model.retry_limit import LimitOf, MemberLimit
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages_view import ShownMessage, shown_message
from mqctl.text import Word, composed, keep_texts, sentence

GROUP_COLUMNS = (
    Column("group", "consumer group"),
    Column("consume_mode", "mode"),
    Column("broker_name", "broker"),
    Column("letter_count", "dead letters", CellKind.COUNT),
    Column("oldest_age_ms", "oldest", CellKind.DURATION_MS),
    Column("newest_age_ms", "newest", CellKind.DURATION_MS),
    Column("perm", "perm"),
    Column("oldest_store_time_ms", "oldest stored", CellKind.TIME_MS, wide=True),
    Column("newest_store_time_ms", "newest stored", CellKind.TIME_MS, wide=True),
)
LETTER_COLUMNS = (
    Column("broker_name", "broker"),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("age_ms", "age", CellKind.DURATION_MS),
    Column("failed_count", "failed", CellKind.COUNT),
    Column("given_up", "given up", CellKind.WORDS),
    Column("resent", "sent again", CellKind.FLAG, none="?"),
    Column("origin_topic", "origin topic", none="?"),
    Column("tags", "tags"),
    Column("keys", "keys"),
    Column("unique_key", "message id"),
    Column("resent_by", "by change", wide=True),
    Column("message_id", "dead letter id", wide=True),
    Column("origin_message_id", "origin id", wide=True),
    Column("first_failed_by_ms", "first failed by", CellKind.TIME_MS, wide=True, none="?"),
    Column("store_time_ms", "given up at", CellKind.TIME_MS, wide=True),
    Column("born_time_ms", "born", CellKind.TIME_MS, wide=True),
)
RETRY_COLUMNS = (
    Column("group", "consumer group"),
    Column("consume_mode", "mode"),
    Column("broker_name", "broker"),
    Column("state", "state", CellKind.WORDS),
    Column("failed_count", "failed", CellKind.COUNT),
    Column("due_in_ms", "due in", CellKind.DURATION_MS, none="now"),
    Column("tries_left", "tries left", CellKind.COUNT, none="?"),
    Column("dead_letter_in_ms", "dead letter in", CellKind.DURATION_MS, none="?"),
    Column("age_ms", "age", CellKind.DURATION_MS),
    Column("origin_topic", "origin topic", none="?"),
    Column("tags", "tags"),
    Column("keys", "keys"),
    Column("unique_key", "message id"),
    Column("origin_message_id", "origin id", wide=True),
    Column("due_ms", "due", CellKind.TIME_MS, wide=True),
    Column("dead_letter_ms", "dead letter at", CellKind.TIME_MS, wide=True, none="?"),
    Column("retry_limit", "retry limit", CellKind.COUNT, wide=True),
    Column("limit_of", "limit of", CellKind.WORDS, wide=True, none="?"),
)
_WHY = {
    GivenUp.EXHAUSTED: sentence("dlq-group-retries-used-up", "the group's retries are used up"),
    GivenUp.EARLY: sentence(
        "dlq-given-up-before-group",
        "given up before the group's limit: the consumer has one of its own, or asked for it",
    ),
    GivenUp.UNKNOWN: sentence("dlq-group-limit-not-known", "the group's limit is not known here"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterGroup:
    """The dead letters of one group on one broker; ages and times in milliseconds.

    Attributes:
        consume_mode: `POP` or `PULL` as brokers have it set (5.x), both where it differs by topic; None where not.
    """

    group: str
    broker_name: str
    topic: str
    letter_count: int
    oldest_age_ms: int | None
    newest_age_ms: int | None
    oldest_store_time_ms: int | None
    newest_store_time_ms: int | None
    perm: str
    readable: bool
    consume_mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLetter:
    """A dead letter.

    Attributes:
        age_ms: since it was given up.
        failed_by_ms, first_failed_by_ms: when each failure was at the latest, if the consumer chose no delays of its
            own; none when the group's settings are not known.
        given_up: `exhausted`, `early` or `unknown`; `why` says it in words.
        resent: whether it was sent again; None where a broker, or a damaged record, leaves that open. `resent_by` is
            the id of the change, or `somebody`.
        message: the whole message.
    """

    group: str
    broker_name: str
    queue_offset: int
    message_id: str
    unique_key: str | None
    age_ms: int
    failed_count: int
    retry_limit: int | None
    failed_by_ms: list[int]
    first_failed_by_ms: int | None
    given_up: str
    why: str
    resent: bool | None
    resent_by: str | None
    origin_topic: str | None
    origin_message_id: str | None
    tags: str | None
    keys: str | None
    store_time_ms: int
    born_time_ms: int
    message: ShownMessage
    why_key: str | None = None
    why_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterList:
    """Machine form of `dlq list`.

    Attributes:
        letters: those of the only group that was named; None without one.
        more: whether there are more than the limit let through.
    """

    groups: list[DeadLetterGroup]
    group: str | None = None
    letters: list[ShownLetter] | None = None
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRetry:
    """A message that waits to be delivered again.

    Attributes:
        due_in_ms: None when it is ready.
        consume_mode: `POP` for what the group popped and did not acknowledge in time, else `PULL`.
        retry_limit: how many retries there are; None without end, and where `limit_of` is None.
        limit_of: `members`, the largest limit that those online report, or `group`, its settings, where none did; None
            when neither is known, and for pops: brokers do not give those up.
        tries_left: before it is given up; None without a limit, and where it failed more often than that allows: then
            the limit is not known.
        next_tries_ms: when, if each fails at once; the first 64, and the next one alone where the rest is not known.
        dead_letter_ms, dead_letter_in_ms: the last of them, with which it becomes a dead letter.
    """

    group: str
    consume_mode: str
    broker_name: str
    state: str
    failed_count: int
    due_ms: int | None
    due_in_ms: int | None
    retry_limit: int | None
    limit_of: str | None
    tries_left: int | None
    next_tries_ms: list[int]
    dead_letter_ms: int | None
    dead_letter_in_ms: int | None
    age_ms: int
    origin_topic: str | None
    origin_message_id: str | None
    message_id: str
    unique_key: str | None
    tags: str | None
    keys: str | None
    store_time_ms: int
    born_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryList:
    """Machine form of `retry list`."""

    more: bool
    retries: list[ShownRetry]


def groups_document(rows: Sequence[DeadLetterGroup]) -> Document:
    """Builds the document of `dlq list`."""
    blocks = _group_blocks(rows)
    if rows:
        worst = max(rows, key=lambda row: row.letter_count).group
        listed = command_line("mqctl dlq list {}", worst)
        line = sentence("dlq-why-sent-again", "which, why, and which were sent again: {value}", value=listed)
        blocks.append(Paragraphs([line]))
    return Document(schema="dlq.list/1", value=DeadLetterList(groups=list(rows)), records=rows, blocks=blocks)


def _group_blocks(rows: Sequence[DeadLetterGroup]) -> list[Table | Paragraphs]:
    some_set = any(row.consume_mode for row in rows)
    columns = [column for column in GROUP_COLUMNS if some_set or column.key != "consume_mode"]
    blocks: list[Table | Paragraphs] = [
        Table(columns, rows, empty=sentence("empty-no-group-has-dead-letters", "no group has dead letters"))
    ]
    for row in rows:
        if not row.readable:
            line = sentence(
                "no-consumer-read-dlq",
                "{topic} on {broker_name} is {perm}: no consumer can read it; mqctl dlq list -g GROUP can",
                topic=row.topic,
                broker_name=row.broker_name,
                perm=row.perm,
            )
            change = command_line("mqctl topic update -t {} --perm RW- --broker {}", row.topic, row.broker_name)
            blocks.append(Paragraphs([line, f"  {change}"]))
    return blocks


def letters_document(
    group: str,
    letters: Iterable[DeadLetter],
    form: BodyForm,
    *,
    rows: Sequence[DeadLetterGroup],
    more: bool,
    now_ms: int,
    resent: Callable[[LetterKey], tuple[bool | None, str | None]],
    limit: MemberLimit | None,
) -> Document:
    """Builds the document of `dlq list` with one group.

    Args:
        rows: the group on each broker.
        limit: that of the members online, where one told it.
        resent: tells of a letter whether it was sent again, and by what.
    """
    listed = list(letters)
    shown = [_letter(letter, form, now_ms, resent(letter_key(letter))) for letter in listed]
    beyond = sentence("dlq-more-raise-limit", ", and more: raise --limit") if more else ""
    lines = [
        sentence(
            "dlq-group",
            "{rows} of group {group}{beyond}",
            rows=counted(len(shown), "dead letter"),
            group=group,
            beyond=beyond,
        )
    ]
    for kind in GivenUp:
        count = sum(row.given_up == kind for row in shown)
        lines += (
            [sentence("dlq-kind", "  {kind}: {count}, {why}", kind=Word(kind), count=count, why=_WHY[kind])]
            if count
            else []
        )
    if again := sum(row.resent is True for row in shown):
        lines.append(
            sentence(
                "dlq-sent-again-already-resend",
                "  sent again already: {again:,}; a resend leaves them out",
                again=again,
            )
        )
    lines += _ladder_lines(group, listed, limit)
    return Document(
        schema="dlq.list/1",
        value=DeadLetterList(groups=list(rows), group=group, letters=shown, more=more),
        records=shown,
        csv_columns=LETTER_COLUMNS,
        blocks=[
            *(_group_blocks(rows) if rows else []),
            Table(LETTER_COLUMNS, shown, empty=sentence("empty-no-dead-letters", "no dead letters")),
            Paragraphs(
                [
                    *lines,
                    sentence(
                        "dlq-tried-again-still",
                        "what is tried again still: {value}",
                        value=command_line("mqctl retry list -g {}", group),
                    ),
                ]
            ),
        ],
    )


def _ladder_lines(group: str, letters: Sequence[DeadLetter], limit: MemberLimit | None) -> list[str]:
    """Tells what a resend of letters means for their retries."""
    again = _again(letters, limit)
    if again is None:
        return []
    resend = command_line("mqctl dlq resend {}", group)
    return [
        again,
        sentence(
            "dlq-send-all-groups-topic",
            "send them to all groups of their topic: {resend}; one of them: add --key KEY or --id ID",
            resend=resend,
        ),
        sentence(
            "dlq-send-alone",
            "send them to {group} alone: {value}",
            group=group,
            value=command_line("mqctl dlq resend {} --to {}", group, retry_topic(group)),
        ),
    ]


def _again(letters: Sequence[DeadLetter], limit: MemberLimit | None) -> str | None:
    """Tells when letters are dead letters again, by the limit of members or the longest ladder of their brokers."""
    ladders = [letter.ladder for letter in letters if letter.ladder]
    if not ladders:
        return None
    ladder = max(ladders, key=lambda ladder: ladder.retry_max_times or 0)
    if limit is not None:
        ladder = ladder.of_members(limit)
    if ladder.retry_max_times is None or (limit is not None and limit.orderly):
        return sentence(
            "dlq-if-cause-not-fixed-orderly",
            "if the cause is not fixed, orderly members try a message sent again in place, and its queue waits "
            "behind it",
        )
    tries = ladder.retry_max_times + 1
    early = sorted(
        {
            letter.failed_count
            for letter in letters
            if (letter.given_up is GivenUp.EARLY if limit is None else not ladder.exceeded(letter.failed_count))
        }
    )
    again = sentence(
        "dlq-if-cause-not-fixed",
        "if the cause is not fixed, a message sent again is a dead letter after {span_ms} (failures: {tries:,})",
        span_ms=ladder.whole_ms(),
        tries=tries,
    )
    if early:
        failures = composed("{count}", count=early[0])
        if len(early) > 1:
            failures = sentence("dlq-failures-range", "{least:,} to {most:,}", least=early[0], most=early[-1])
        if limit is not None:
            return sentence(
                "dlq-if-cause-not-fixed-members",
                "if the cause is not fixed, a message sent again may be given up as early as these "
                "were (failures: {failures}); the limit of the members online comes after {span_ms} (failures: "
                "{tries:,})",
                failures=failures,
                span_ms=ladder.whole_ms(),
                tries=tries,
            )
        return sentence(
            "dlq-if-cause-not-fixed-message",
            "if the cause is not fixed, a message sent again may be given up as early as these "
            "were (failures: {failures}); the group's own limit comes after {span_ms} (failures: "
            "{tries:,})",
            failures=failures,
            span_ms=ladder.whole_ms(),
            tries=tries,
        )
    return again


def _letter(letter: DeadLetter, form: BodyForm, now_ms: int, resent: tuple[bool | None, str | None]) -> ShownLetter:
    message, failed_by_ms = letter.stored.message, letter.failed_by_ms
    return ShownLetter(
        group=letter.group,
        broker_name=letter.broker_name,
        queue_offset=message.queue_offset,
        message_id=letter.stored.message_id,
        unique_key=message.unique_key,
        age_ms=now_ms - message.store_time_ms,
        failed_count=letter.failed_count,
        retry_limit=letter.retry_limit,
        failed_by_ms=list(failed_by_ms),
        first_failed_by_ms=min(failed_by_ms, default=None),
        given_up=letter.given_up.value,
        why=_WHY[letter.given_up],
        resent=resent[0],
        resent_by=resent[1],
        origin_topic=letter.origin_topic,
        origin_message_id=letter.origin_message_id,
        tags=message.tags,
        keys=message.properties.get("KEYS"),
        store_time_ms=message.store_time_ms,
        born_time_ms=message.born_time_ms,
        message=shown_message(letter.stored, form),
    )


def retries_document(retries: Iterable[Retry], *, more: bool, now_ms: int) -> Document:
    """Builds the document of `retry list`."""
    listed = list(retries)
    rows = [_retry(retry, now_ms) for retry in listed]
    lines = []
    windows = {window.group: window for window in repair_windows(listed, now_ms)}
    for group in sorted({row.group for row in rows}):
        mine = [row for row in rows if row.group == group]
        waiting = sum(row.state == "waiting" for row in mine)
        most = max(row.failed_count for row in mine)
        lines.append(
            sentence(
                "dlq-waiting-ready-failed-up",
                "{group}: {waiting} waiting, {mine} ready; failed up to {most}",
                group=group,
                waiting=waiting,
                mine=len(mine) - waiting,
                most=counted(most, "time"),
            )
        )
        lines += [_window(windows[group])] if group in windows else []
        lines += _limit_lines([retry for retry in listed if retry.group == group])
    lines += (
        [sentence("dlq-more-raise-limit-choose", "there are more: raise --limit, or choose a group")] if more else []
    )
    some_pop = any(retry.popped for retry in listed)
    columns = [column for column in RETRY_COLUMNS if some_pop or column.key != "consume_mode"]
    blocks: list[Table | Paragraphs] = [
        Table(columns, rows, empty=sentence("empty-nothing-waits-to-be-retried", "nothing waits to be retried"))
    ]
    blocks += [Paragraphs(lines)] if lines else []
    return Document(schema="retry.list/1", value=RetryList(more=more, retries=rows), records=rows, blocks=blocks)


def _limit_lines(retries: Sequence[Retry]) -> list[str]:
    """Tells by whose limit the tries of a group's messages were counted, and which of them failed beyond it."""
    limited = [(retry.failed_count, retry.ladder) for retry in retries if retry.ladder]
    lines = []
    for ladder in dict.fromkeys(ladder for _, ladder in limited):
        over = sum(mine == ladder and ladder.exceeded(failed) for failed, mine in limited)
        if over:
            lines.append(_over_line(ladder, over))
        elif ladder.retry_max_times is None:
            lines.append(
                sentence(
                    "dlq-members-without-end",
                    "  members try again in place without end (orderly, maxReconsumeTimes=-1): no dead letter "
                    "comes of it",
                )
            )
        elif ladder.limit_of is LimitOf.MEMBERS:
            lines.append(
                sentence(
                    "dlq-limit-of-members",
                    "  by the largest maxReconsumeTimes that members online report: {limit:,}",
                    limit=ladder.retry_max_times,
                )
            )
        else:
            lines.append(
                sentence(
                    "dlq-limit-of-group",
                    "  by the group's retryMaxTimes, {limit:,}: no member online told its own maxReconsumeTimes, which "
                    "counts instead",
                    limit=ladder.retry_max_times,
                )
            )
    return lines


def _over_line(ladder: RetryLadder, over: int) -> str:
    if ladder.limit_of is LimitOf.MEMBERS:
        return sentence(
            "dlq-failed-beyond-members",
            "  failed more often than {limit:,}, the largest maxReconsumeTimes that members online report: "
            "{over:message}; who consumes them has another limit, and when they become dead letters is not known",
            limit=ladder.retry_max_times,
            over=over,
        )
    return sentence(
        "dlq-failed-beyond-group",
        "  failed more often than {limit:,}, the group's retryMaxTimes: {over:message}; who consumes them has another "
        "limit (maxReconsumeTimes), none online told it, and when they become dead letters is not known",
        limit=ladder.retry_max_times,
        over=over,
    )


def _window(window: RepairWindow) -> str:
    """Tells by when a fix has to be out so that none of a group's messages is lost to it."""
    known, failing = window.known_count, window.failing_count
    whole = (
        ""
        if known == failing
        else sentence("dlq-known", " (known of {known} of {failing})", known=known, failing=failing)
    )
    return sentence(
        "dlq-if-every-try-fails",
        "  if every try fails, the first becomes a dead letter at {closes_time_ms}, in "
        "{closes_in_ms}{whole}: have the fix out by then",
        closes_time_ms=window.closes_ms,
        closes_in_ms=window.closes_in_ms,
        whole=whole,
    )


def _retry(retry: Retry, now_ms: int) -> ShownRetry:
    message = retry.stored.message
    dead_ms = retry.dead_letter_ms(now_ms)
    return ShownRetry(
        group=retry.group,
        consume_mode="POP" if retry.popped else "PULL",
        broker_name=retry.broker_name,
        state=retry.state.value,
        failed_count=retry.failed_count,
        due_ms=retry.due_ms,
        due_in_ms=None if retry.due_ms is None else retry.due_ms - now_ms,
        retry_limit=retry.ladder.retry_max_times if retry.ladder else None,
        limit_of=retry.ladder.limit_of.value if retry.ladder else None,
        tries_left=retry.ladder.left(retry.failed_count) if retry.ladder else None,
        next_tries_ms=list(retry.tries_ms(now_ms)),
        dead_letter_ms=dead_ms,
        dead_letter_in_ms=None if dead_ms is None else dead_ms - now_ms,
        age_ms=now_ms - message.store_time_ms,
        origin_topic=retry.origin_topic,
        origin_message_id=origin_message_id(message),
        message_id=retry.stored.message_id,
        unique_key=message.unique_key,
        tags=message.tags,
        keys=message.properties.get("KEYS"),
        store_time_ms=message.store_time_ms,
        born_time_ms=message.born_time_ms,
    )


def group_row(item: DeadLetterTopic, now_ms: int, modes: Collection[str]) -> DeadLetterGroup:
    """Returns one line of `dlq list`; `modes` are the group's, where they are set."""
    oldest, newest = item.oldest_store_time_ms, item.newest_store_time_ms
    return DeadLetterGroup(
        group=item.group,
        broker_name=item.broker_name,
        topic=dlq_topic(item.group),
        letter_count=item.count,
        oldest_age_ms=None if oldest is None else now_ms - oldest,
        newest_age_ms=None if newest is None else now_ms - newest,
        oldest_store_time_ms=oldest,
        newest_store_time_ms=newest,
        perm=perm_text(item.perm),
        readable=item.readable,
        consume_mode=", ".join(sorted(modes)) or None,
    )
