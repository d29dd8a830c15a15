"""What stands out in a report, in words: sentences with the figures that they rest on."""

from __future__ import annotations

from collections.abc import Callable

from mqctl.model.reports import BacklogOverview, DuplicatesReport, OrderReport, SkewReport
from mqctl.render import report_words_store, units

HOT_QUEUE = 2.0
"""A queue with more than this many times the mean is hot (diagnosis rule P3)."""
HOT_KEY_SHARE = 0.5
"""A key that makes more than this share of a hot queue explains it (P3)."""
_FEWEST = 20
"""Below this many messages nothing is called skewed."""


def findings(name: str, value: object) -> list[str]:
    """Returns the sentences of a report; empty where nothing stands out."""
    return _WORDS[name](value) if name in _WORDS else []


def _backlog(report: object) -> list[str]:
    assert isinstance(report, BacklogOverview)
    words = []
    for row in report.topics:
        where = f"{row.group} on {row.topic}"
        if row.messages and row.oldest_ms is not None:
            busiest = max(
                (each for each in report.arrivals if (each.group, each.topic) == (row.group, row.topic)),
                key=lambda each: each.messages,
                default=None,
            )
            most = (
                f"; most arrived from {units.instant(busiest.time_ms)} on ({units.count(busiest.messages)} within"
                f" {units.duration(report.bucket_ms)})"
                if busiest is not None and row.messages >= _FEWEST
                else ""
            )
            words.append(
                f"{where}: {units.count(row.messages)} messages ({units.size(row.bytes)}) are behind, the oldest stored"
                f" at {units.instant(row.oldest_ms)}{most}."
            )
        if row.lost_count:
            words.append(f"{where}: {units.count(row.lost_count)} messages expired before they were consumed.")
        if row.dangling_count:
            words.append(f"{where}: {units.count(row.dangling_count)} queue entries lead to no message.")
    return words


def _skew(report: object) -> list[str]:
    assert isinstance(report, SkewReport)
    words = []
    for topic in report.topics:
        ratio = topic.max_over_mean
        if ratio is None or ratio <= HOT_QUEUE or topic.messages < _FEWEST:
            continue
        words.append(
            f"{topic.topic}: queue {topic.hot_queue_id} has {units.share(topic.hot_share)} of all messages,"
            f" {ratio:.1f} times the mean of its {topic.queues} queues."
        )
        hot = [
            key
            for key in report.keys
            if (key.topic, key.store, key.queue_id) == (topic.topic, topic.hot_store, topic.hot_queue_id)
        ]
        first = max(hot, key=lambda key: key.messages, default=None)
        if first is not None and first.share > HOT_KEY_SHARE:
            words.append(
                f"{topic.topic}: key {first.key} explains it: {units.count(first.messages)} messages,"
                f" {units.share(first.share)} of that queue. More queues or consumers do not help; a finer key does."
            )
    for spread in report.resharded:
        if spread.messages > spread.unkeyed_messages:
            words.append(
                f"{spread.topic}: with {spread.new_queues} queues by {spread.selector} of {spread.key_property},"
                f" {units.share(spread.moved_share)} of the keyed messages would stand in another queue than now"
                " (drain them before the change, or their order breaks);"
                f" max/mean {spread.max_over_mean_now or 0:.2f} would become {spread.max_over_mean_then or 0:.2f}."
            )
    return words


def _order(report: object) -> list[str]:
    assert isinstance(report, OrderReport)
    words = []
    for topic in report.topics:
        if topic.moves and topic.first_move_ms is not None and topic.last_move_ms is not None:
            words.append(
                f"{topic.topic}: {units.count(topic.moved_keys)} of {units.count(topic.keys)} keys stand in several"
                f" queues; they moved {units.count(topic.moves)} times between {units.instant(topic.first_move_ms)}"
                f" and {units.instant(topic.last_move_ms)}. Their messages may have been consumed in another order."
            )
            if topic.explained_moves is not None:
                words.append(
                    f"{topic.topic}: a change from {topic.queues_before} to {topic.queues_after} queues"
                    f"{' and back' if topic.moves_back else ''} explains {units.count(topic.explained_moves)} of the"
                    f" {units.count(topic.moves)} moves"
                    " (hash of the key modulo the number of queues)."
                )
        if topic.inversions:
            words.append(
                f"{topic.topic}: {units.count(topic.inversions)} messages were stored behind one of the same key and"
                " host that was sent after them: sends of one key overlap, or the producer's clock went back."
            )
    return words


def _duplicates(report: object) -> list[str]:
    assert isinstance(report, DuplicatesReport)
    words = []
    for topic in report.topics:
        if not topic.copies or topic.by != "unique key":
            continue
        windows = [each for each in report.windows if (each.by, each.topic) == (topic.by, topic.topic)]
        first, last = min(each.begin_ms for each in windows), max(each.end_ms for each in windows)
        words.append(
            f"{topic.topic}: {units.count(topic.copies)} messages were stored again under a {topic.by} that was there"
            f" ({units.count(topic.repeated_keys)} of {units.count(topic.keys)} keys), between {units.instant(first)}"
            f" and {units.instant(last)}, typically {units.duration(topic.typical_gap_ms or 0)} or more apart:"
            " producers resent what had arrived."
        )
    return words


_WORDS: dict[str, Callable[[object], list[str]]] = {
    "backlog": _backlog,
    "skew": _skew,
    "order": _order,
    "duplicates": _duplicates,
    **report_words_store.WORDS,
}
