"""What stands out in the reports on tags, room, retries, delay levels and transactions, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqctl import units
from mqctl.model.reports import CapacityReport, DelayReport, RetriesReport, TagsReport, TransactionsReport
from mqctl.text import Sentence, composed, sentence

SOON_HOURS = 72.0
_MANY_ROLLBACKS = 0.2
_FEWEST = 20
"""Below so many ended transactions a share of rollbacks says nothing."""

_WHEN_FULL = {
    "75": sentence("report-capacity-deletes-early", "brokers delete before retention is over"),
    "90": sentence("report-capacity-refuses", "brokers refuse messages"),
}
_OFFSETS = {
    "beyond": Sentence(
        "report-delay-beyond", "{name}: delayOffset.json says {offset}, beyond the queue ({low} to {high})."
    ),
    "below": Sentence(
        "report-delay-below", "{name}: delayOffset.json says {offset}, below the queue ({low} to {high})."
    ),
}


def _tags(report: object) -> Iterator[str]:
    assert isinstance(report, TagsReport)
    for lost in report.lost:
        yield sentence(
            "report-tags-lost",
            "{group} on {topic}: {lost} of {messages:message} with tag {tag} ({share}) {lost:/reaches/reach} "
            "nobody, because members subscribe to different tags ({queues}). Give all members one subscription.",
            group=lost.group,
            topic=lost.topic,
            lost=units.Count(lost.lost_messages),
            messages=units.Count(lost.messages),
            tag=lost.tag,
            share=lost.lost_share,
            queues=lost.queues,
        )


def _capacity(report: object) -> Iterator[str]:
    assert isinstance(report, CapacityReport)
    for store in report.stores:
        if store.bytes_per_day is None:
            continue
        yield sentence(
            "report-capacity-rate",
            "{store}: {size_bytes} a day, {mean:message} a second on average and {peak_per_s} at its peak.",
            store=store.store,
            size_bytes=round(store.bytes_per_day),
            mean=units.Count(round(store.messages_per_second or 0)),
            peak_per_s=round(store.peak_messages_per_second or 0),
        )
        for limit, hours in (("75", store.hours_to_75), ("90", store.hours_to_90)):
            if hours is not None and hours <= SOON_HOURS:
                when = (
                    sentence(
                        "report-capacity-in", "will be, in {hours:hour} at this rate,", hours=units.Count(round(hours))
                    )
                    if hours
                    else sentence("report-capacity-already", "is already")
                )
                effect = _WHEN_FULL[limit]
                yield sentence(
                    "report-capacity-full",
                    "{store}: the disk {when} {share} full: {effect}.",
                    store=store.store,
                    share=f"{limit} %",
                    when=when,
                    effect=effect,
                )


def _retries(report: object) -> Iterator[str]:
    assert isinstance(report, RetriesReport)
    for group in report.groups:
        if group.retries:
            yield sentence(
                "report-retries-failed",
                "{group}: {messages:message} failed and {messages:/was/were} sent back {retries:time}, up to "
                "attempt {most}; {waiting} in the retry topic now.",
                group=group.group,
                messages=units.Count(group.first_retries),
                retries=units.Count(group.retries),
                most=group.most_attempts,
                waiting="?" if group.waiting is None else units.Count(group.waiting),
            )
        if group.delayed and group.first_due_ms is not None and group.last_due_ms is not None:
            yield sentence(
                "report-retries-delayed",
                "{group}: {messages:failed message waits/wait} on delay levels, due back in the retry topic from "
                "{first_time_ms} to {last_time_ms}.",
                group=group.group,
                messages=units.Count(group.delayed),
                first_time_ms=group.first_due_ms,
                last_time_ms=group.last_due_ms,
            )
        if group.dead:
            yield sentence(
                "report-retries-dead",
                "{group}: {dead:dead letter} without a consumer.",
                group=group.group,
                dead=units.Count(group.dead),
            )


_OFFSETS_ARE_OLD_MS = 12_000
"""What is late by less may be delivered: delayOffset.json is written every ten seconds (flushDelayOffsetInterval)."""


def _delay(report: object) -> Iterator[str]:
    assert isinstance(report, DelayReport)
    for level in report.levels:
        delay = "" if level.delay_ms is None else composed(" ({delay_ms})", delay_ms=level.delay_ms)
        name = sentence("report-delay-level", "level {level}{delay}", level=level.level, delay=delay)
        if report.at_ms - (level.first_overdue_ms or 0) > _OFFSETS_ARE_OLD_MS:
            yield from _overdue(name, level.overdue, level.first_overdue_ms, report.at_ms)
        if level.offset_state in _OFFSETS:
            bounds = {"low": level.min_offset, "high": level.max_offset}
            yield _OFFSETS[level.offset_state](name=name, offset=level.next_offset, **bounds)
        if level.passed_over:
            passed = units.Count(level.passed_over)
            yield sentence(
                "report-delay-passed-over",
                "{name}: {messages:message} before the recorded offset {offset} {messages:/was/were} never delivered.",
                name=name,
                messages=passed,
                offset=level.next_offset,
            )
        if level.missing:
            yield sentence(
                "report-delay-missing",
                "{name}: {entries:entry points/point} to no message.",
                name=name,
                entries=units.Count(level.missing),
            )
    for timers in report.timers:
        name = sentence("report-delay-timers", "timers for {topic}", topic=timers.topic)
        yield from _overdue(name, timers.overdue, timers.first_overdue_ms, report.at_ms)
        if timers.missing:
            yield sentence(
                "report-delay-gone",
                "timers: no record is left of {messages:message}.",
                messages=units.Count(timers.missing),
            )


def _overdue(name: str, messages: int, first_ms: int | None, at_ms: int) -> Iterator[str]:
    if messages and first_ms is not None:
        yield sentence(
            "report-delay-overdue",
            "{name}: {messages:message is/are} overdue, the oldest since {first_time_ms} ({late_ms}).",
            name=name,
            messages=units.Count(messages),
            first_time_ms=first_ms,
            late_ms=at_ms - first_ms,
        )


def _transactions(report: object) -> Iterator[str]:
    assert isinstance(report, TransactionsReport)
    for group in report.groups:
        names = {"group": group.producer_group, "topic": group.topic}
        if group.pending and group.oldest_pending_ms is not None:
            yield sentence(
                "report-transactions-pending",
                "{group} for {topic}: {pending} of {transactions:transaction} {pending:/is/are} pending, the oldest "
                "since {oldest_time_ms}: producers of this group must answer the broker's checks.",
                pending=units.Count(group.pending),
                transactions=units.Count(group.transactions),
                oldest_time_ms=group.oldest_pending_ms,
                **names,
            )
        if group.ended >= _FEWEST and group.rolled_back > group.ended * _MANY_ROLLBACKS:
            yield sentence(
                "report-transactions-back",
                "{group} for {topic}: {rolled_back} of {ended:ended transaction} ({share}) {rolled_back:/was/were} "
                "rolled back.",
                rolled_back=units.Count(group.rolled_back),
                ended=units.Count(group.ended),
                share=group.rolled_back / group.ended,
                **names,
            )


WORDS: dict[str, Callable[[object], Iterator[str]]] = {
    "tags": _tags,
    "capacity": _capacity,
    "retries": _retries,
    "delay": _delay,
    "transactions": _transactions,
}
