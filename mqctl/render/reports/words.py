"""What stands out in a report, in words: sentences with the figures that they rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqctl import units
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows import SkewTopic, Unread
from mqctl.model.reports import BacklogOverview, DuplicatesReport, OrderReport, SkewReport
from mqctl.render.reports import words_state
from mqctl.text import key_of, sentence

HOT_QUEUE = 2.0
"""A queue with more than this many times the mean is hot (diagnosis rule P3)."""
HOT_KEY_SHARE = 0.5
"""A key that makes more than this share of a hot queue explains it."""
_FEWEST = 20
"""Below this many messages nothing is called skewed."""


NOTHING_STANDS_OUT = sentence("report-nothing-stands-out", "nothing stands out")
SEVERITIES = ("error", "warning", "info")
_GRAVITY = {
    **dict.fromkeys(
        (
            "report-backlog-lost",
            "report-backlog-dangling",
            "report-tags-lost",
            "report-retries-dead",
            "report-capacity-full",
        ),
        "error",
    ),
    **dict.fromkeys(
        (
            "report-delay-missing",
            "report-delay-gone",
            "report-delay-beyond",
            "report-delay-passed-over",
            "report-unread-lost",
        ),
        "error",
    ),
    **dict.fromkeys(
        (
            "report-capacity-rate",
            "report-skew-reshard",
            "report-skew-key",
            "report-order-change",
            "report-retries-delayed",
            "report-own",
        ),
        "info",
    ),
}


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of a report: which one (its key in the catalogue), and `error`, `warning` or `info`."""

    key: str
    severity: str
    text: str


def findings(name: str, value: object) -> list[str]:
    """Returns the sentences of a report; empty where nothing stands out."""
    return [*_WORDS[name](value), *_besides(value)] if name in _WORDS else []


def stated(name: str, value: object) -> list[Stated]:
    """Returns the same sentences with what each is about and how grave it is, the gravest first."""
    listed = [
        Stated(key=key, severity=_GRAVITY.get(key, "warning"), text=text)
        for text in findings(name, value)
        if (key := key_of(text)) is not None
    ]
    return sorted(listed, key=lambda item: SEVERITIES.index(item.severity))


def _besides(value: object) -> Iterator[str]:
    """Says what the figures are without."""
    if own := getattr(value, "own_messages", 0):
        yield sentence(
            "report-own",
            "Left out: {messages:message} that mqctl itself sent (resent dead letters, replays, probes).",
            messages=units.Count(own),
        )
    yield from _unread(getattr(value, "unread", []))


def _unread(parts: list[Unread]) -> Iterator[str]:
    for each in parts:
        if not each.bytes and each.messages is not None:
            yield sentence(
                "report-unread-lost",
                "{store}: {messages:entry} of {part} {messages:/points/point} to no readable record, and "
                "{messages:/is/are} missing here.",
                store=each.store,
                part=each.part,
                messages=units.Count(each.messages),
            )
            continue
        messages = (
            ""
            if each.messages is None
            else sentence(
                "report-unread-messages",
                " (its commit log has {messages:message})",
                messages=units.Count(each.messages),
            )
        )
        yield sentence(
            "report-unread",
            "{store}: {part} is not read, {reason}; its messages are missing here{messages}.",
            store=each.store,
            part=each.part,
            reason=each.reason,
            messages=messages,
        )


def _backlog(report: object) -> Iterator[str]:
    assert isinstance(report, BacklogOverview)
    for row in report.topics:
        where = sentence("report-group", "{group} on {topic}", group=row.group, topic=row.topic)
        if row.messages and row.oldest_ms is not None:
            most = ""
            arrived = [each for each in report.arrivals if (each.group, each.topic) == (row.group, row.topic)]
            if arrived and row.messages >= _FEWEST:
                busiest = max(arrived, key=lambda each: each.messages)
                most = sentence(
                    "report-backlog-most",
                    "; most arrived from {begin_time_ms} on ({messages} within {width_ms})",
                    begin_time_ms=busiest.time_ms,
                    messages=units.Count(busiest.messages),
                    width_ms=report.bucket_ms,
                )
            yield sentence(
                "report-backlog-behind",
                "{where}: {messages:message} ({size_bytes}) behind, the oldest stored at {oldest_time_ms}{most}.",
                where=where,
                oldest_time_ms=row.oldest_ms,
                most=most,
                messages=row.messages,
                size_bytes=row.bytes,
            )
        if row.lost_count:
            yield sentence(
                "report-backlog-lost",
                "{where}: {messages:message} expired before being consumed.",
                where=where,
                messages=units.Count(row.lost_count),
            )
        if row.dangling_count:
            yield sentence(
                "report-backlog-dangling",
                "{where}: {entries:queue entry points/point} to no message.",
                where=where,
                entries=units.Count(row.dangling_count),
            )


def _skew(report: object) -> Iterator[str]:
    assert isinstance(report, SkewReport)
    several = len({queue.broker for queue in report.queues}) > 1
    for topic in report.topics:
        if topic.max_over_mean is None or topic.max_over_mean <= HOT_QUEUE or topic.messages < _FEWEST:
            continue
        yield sentence(
            "report-skew-hot",
            "{topic}: queue {queue} has {share} of all messages, {ratio:.1f} times the mean of its {queues:queue}.",
            topic=topic.topic,
            queue=f"{topic.hot_queue_id} ({topic.hot_broker})" if several and topic.hot_broker else topic.hot_queue_id,
            share=topic.hot_share,
            ratio=topic.max_over_mean,
            queues=units.Count(topic.queues),
        )
        yield from _hot_key(report, topic)
    for spread in report.resharded:
        if spread.messages > spread.unkeyed_messages:
            yield sentence(
                "report-skew-reshard",
                "{topic}: with {queues:queue} by {selector} of {key}, {share} of the keyed messages would go to "
                "another queue than now (drain them before the change, or their order breaks); max/mean "
                "{now:.2f} would "
                "become {then:.2f}.",
                topic=spread.topic,
                queues=units.Count(spread.new_queues),
                selector=spread.selector,
                key=spread.key_property,
                share=spread.moved_share,
                now=spread.max_over_mean_now or 0,
                then=spread.max_over_mean_then or 0,
            )


def _hot_key(report: SkewReport, topic: SkewTopic) -> Iterator[str]:
    where = (topic.topic, topic.hot_store, topic.hot_queue_id)
    hot = [key for key in report.keys if (key.topic, key.store, key.queue_id) == where]
    first = max(hot, key=lambda key: key.messages, default=None)
    if first is not None and first.share > HOT_KEY_SHARE:
        yield sentence(
            "report-skew-key",
            "{topic}: the cause is key {key}: {messages:message}, {share} of that queue. More queues or consumers "
            "do not help; a finer key does.",
            topic=topic.topic,
            key=first.key,
            messages=units.Count(first.messages),
            share=first.share,
        )


def _order(report: object) -> Iterator[str]:
    assert isinstance(report, OrderReport)
    for topic in report.topics:
        if topic.moves and topic.first_move_ms is not None and topic.last_move_ms is not None:
            yield sentence(
                "report-order-moved",
                "{topic}: {moved} of {keys:key} {moved:/is/are} in several queues, with {moves:move} between "
                "{first_time_ms} and {last_time_ms}. Their messages may have been consumed out of order.",
                topic=topic.topic,
                moved=units.Count(topic.moved_keys),
                keys=units.Count(topic.keys),
                moves=units.Count(topic.moves),
                first_time_ms=topic.first_move_ms,
                last_time_ms=topic.last_move_ms,
            )
            if topic.explained_moves is not None:
                yield sentence(
                    "report-order-change",
                    "{topic}: a change from {before} to {after:queue}{back} explains {explained} of {moves:move} "
                    "(hash of the key modulo the number of queues).",
                    topic=topic.topic,
                    before=topic.queues_before,
                    after=units.Count(topic.queues_after or 0),
                    back=sentence("report-order-back", " and back") if topic.moves_back else "",
                    explained=units.Count(topic.explained_moves),
                    moves=units.Count(topic.moves),
                )
        if topic.inversions:
            yield sentence(
                "report-order-inverted",
                "{topic}: {messages:message was/were} stored behind a later one of the same key and host: sends of "
                "one key overlap, or the producer's clock went back.",
                topic=topic.topic,
                messages=units.Count(topic.inversions),
            )


def _duplicates(report: object) -> Iterator[str]:
    assert isinstance(report, DuplicatesReport)
    for topic in report.topics:
        if not topic.copies or topic.by != "unique key":
            continue
        windows = [each for each in report.windows if (each.by, each.topic) == (topic.by, topic.topic)]
        yield sentence(
            "report-duplicates-again",
            "{topic}: {copies:message was/were} stored again under the same unique key ({repeated} of {keys:key}), "
            "between {first_time_ms} and {last_time_ms}, typically {gap_ms} or more apart: "
            "producers resent messages that had arrived.",
            topic=topic.topic,
            copies=units.Count(topic.copies),
            repeated=units.Count(topic.repeated_keys),
            keys=units.Count(topic.keys),
            first_time_ms=min(each.begin_ms for each in windows),
            last_time_ms=max(each.end_ms for each in windows),
            gap_ms=topic.typical_gap_ms or 0,
        )


_WORDS: dict[str, Callable[[object], Iterator[str]]] = {
    "backlog": _backlog,
    "skew": _skew,
    "order": _order,
    "duplicates": _duplicates,
    **words_state.WORDS,
}
