"""What stands out in a report, in words: sentences with the figures that they rest on.

The sentences are in `messages/en_reports` and `messages/zh_reports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows import SkewTopic, Unread
from mqctl.model.reports import BacklogOverview, DuplicatesReport, OrderReport, SkewReport
from mqctl.render import units
from mqctl.render.messages import Say, sayer
from mqctl.render.reports import words_state

HOT_QUEUE = 2.0
"""A queue with more than this many times the mean is hot (diagnosis rule P3)."""
HOT_KEY_SHARE = 0.5
"""A key that makes more than this share of a hot queue explains it."""
_FEWEST = 20
"""Below this many messages nothing is called skewed."""


SEVERITIES = ("error", "warning", "info")
_GRAVITY = {
    **dict.fromkeys(("backlog.lost", "backlog.dangling", "tags.lost", "retries.dead", "capacity.full"), "error"),
    **dict.fromkeys(("delay.missing", "delay.gone", "delay.beyond", "delay.passed_over", "unread.lost"), "error"),
    **dict.fromkeys(("capacity.rate", "skew.reshard", "skew.key", "order.change", "retries.delayed", "own"), "info"),
}


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of a report: which one (its key in the catalogue), and `error`, `warning` or `info`."""

    key: str
    severity: str
    text: str


def findings(name: str, value: object, lang: Lang | None = None) -> list[str]:
    """Returns the sentences of a report; empty where nothing stands out."""
    if name not in _WORDS:
        return []
    say = sayer(lang)
    return [*_WORDS[name](value, say), *_besides(value, say)]


def stated(name: str, value: object, lang: Lang | None = None) -> list[Stated]:
    """Returns the same sentences with what each is about and how grave it is, the gravest first."""
    said = sayer(lang)
    last = ""

    def say(key: str, /, **figures: object) -> str:
        nonlocal last
        last = key  # a sentence is said after its parts
        return said(key, **figures)

    sentences = chain(_WORDS[name](value, say), _besides(value, say))
    listed = [Stated(key=last, severity=_GRAVITY.get(last, "warning"), text=text) for text in sentences]
    return sorted(listed, key=lambda item: SEVERITIES.index(item.severity))


def _besides(value: object, say: Say) -> Iterator[str]:
    """Says what the figures are without."""
    if own := getattr(value, "own_messages", 0):
        yield say("own", messages=units.count(own))
    yield from _unread(getattr(value, "unread", []), say)


def _unread(parts: list[Unread], say: Say) -> Iterator[str]:
    for each in parts:
        if not each.bytes and each.messages is not None:
            yield say("unread.lost", store=each.store, part=each.part, messages=units.count(each.messages))
            continue
        messages = "" if each.messages is None else say("unread.messages", messages=units.count(each.messages))
        yield say("unread", store=each.store, part=each.part, reason=each.reason, messages=messages)


def _backlog(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, BacklogOverview)
    for row in report.topics:
        where = say("group", group=row.group, topic=row.topic)
        if row.messages and row.oldest_ms is not None:
            most = ""
            arrived = [each for each in report.arrivals if (each.group, each.topic) == (row.group, row.topic)]
            if arrived and row.messages >= _FEWEST:
                busiest = max(arrived, key=lambda each: each.messages)
                most = say(
                    "backlog.most",
                    begin=units.instant(busiest.time_ms),
                    messages=units.count(busiest.messages),
                    width=units.duration(report.bucket_ms),
                )
            figures = {"messages": units.count(row.messages), "size": units.size(row.bytes)}
            yield say("backlog.behind", where=where, oldest=units.instant(row.oldest_ms), most=most, **figures)
        if row.lost_count:
            yield say("backlog.lost", where=where, messages=units.count(row.lost_count))
        if row.dangling_count:
            yield say("backlog.dangling", where=where, entries=units.count(row.dangling_count))


def _skew(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, SkewReport)
    several = len({queue.broker for queue in report.queues}) > 1
    for topic in report.topics:
        if topic.max_over_mean is None or topic.max_over_mean <= HOT_QUEUE or topic.messages < _FEWEST:
            continue
        yield say(
            "skew.hot",
            topic=topic.topic,
            queue=f"{topic.hot_queue_id} ({topic.hot_broker})" if several and topic.hot_broker else topic.hot_queue_id,
            share=units.share(topic.hot_share),
            ratio=f"{topic.max_over_mean:.1f}",
            queues=topic.queues,
        )
        yield from _hot_key(report, topic, say)
    for spread in report.resharded:
        if spread.messages > spread.unkeyed_messages:
            yield say(
                "skew.reshard",
                topic=spread.topic,
                queues=spread.new_queues,
                selector=spread.selector,
                key=spread.key_property,
                share=units.share(spread.moved_share),
                now=f"{spread.max_over_mean_now or 0:.2f}",
                then=f"{spread.max_over_mean_then or 0:.2f}",
            )


def _hot_key(report: SkewReport, topic: SkewTopic, say: Say) -> Iterator[str]:
    where = (topic.topic, topic.hot_store, topic.hot_queue_id)
    hot = [key for key in report.keys if (key.topic, key.store, key.queue_id) == where]
    first = max(hot, key=lambda key: key.messages, default=None)
    if first is not None and first.share > HOT_KEY_SHARE:
        yield say(
            "skew.key",
            topic=topic.topic,
            key=first.key,
            messages=units.count(first.messages),
            share=units.share(first.share),
        )


def _order(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, OrderReport)
    for topic in report.topics:
        if topic.moves and topic.first_move_ms is not None and topic.last_move_ms is not None:
            yield say(
                "order.moved",
                topic=topic.topic,
                moved=units.count(topic.moved_keys),
                keys=units.count(topic.keys),
                moves=units.count(topic.moves),
                first=units.instant(topic.first_move_ms),
                last=units.instant(topic.last_move_ms),
            )
            if topic.explained_moves is not None:
                yield say(
                    "order.change",
                    topic=topic.topic,
                    before=topic.queues_before,
                    after=topic.queues_after,
                    back=say("order.back") if topic.moves_back else "",
                    explained=units.count(topic.explained_moves),
                    moves=units.count(topic.moves),
                )
        if topic.inversions:
            yield say("order.inverted", topic=topic.topic, messages=units.count(topic.inversions))


def _duplicates(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, DuplicatesReport)
    for topic in report.topics:
        if not topic.copies or topic.by != "unique key":
            continue
        windows = [each for each in report.windows if (each.by, each.topic) == (topic.by, topic.topic)]
        yield say(
            "duplicates.again",
            topic=topic.topic,
            copies=units.count(topic.copies),
            repeated=units.count(topic.repeated_keys),
            keys=units.count(topic.keys),
            first=units.instant(min(each.begin_ms for each in windows)),
            last=units.instant(max(each.end_ms for each in windows)),
            gap=units.duration(topic.typical_gap_ms or 0),
        )


_WORDS: dict[str, Callable[[object, Say], Iterator[str]]] = {
    "backlog": _backlog,
    "skew": _skew,
    "order": _order,
    "duplicates": _duplicates,
    **words_state.WORDS,
}
