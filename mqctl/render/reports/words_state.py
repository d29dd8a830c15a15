"""What stands out in the reports on tags, room, retries, delay levels and transactions, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqctl.model.reports import CapacityReport, DelayReport, RetriesReport, TagsReport, TransactionsReport
from mqctl.render import units
from mqctl.render.messages import Say

SOON_HOURS = 72.0
_MANY_ROLLBACKS = 0.2
_FEWEST = 20
"""Below so many ended transactions a share of rollbacks says nothing."""


def _tags(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, TagsReport)
    for lost in report.lost:
        yield say(
            "tags.lost",
            group=lost.group,
            topic=lost.topic,
            lost=units.count(lost.lost_messages),
            messages=units.count(lost.messages),
            tag=lost.tag,
            share=units.share(lost.lost_share),
            queues=lost.queues,
        )


def _capacity(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, CapacityReport)
    for store in report.stores:
        if store.bytes_per_day is None:
            continue
        yield say(
            "capacity.rate",
            store=store.store,
            size=units.size(round(store.bytes_per_day)),
            mean=f"{store.messages_per_second or 0:,.0f}",
            peak=f"{store.peak_messages_per_second or 0:,.0f}",
        )
        for limit, hours in (("75", store.hours_to_75), ("90", store.hours_to_90)):
            if hours is not None and hours <= SOON_HOURS:
                when = say("capacity.in", hours=f"{hours:,.0f}") if hours else say("capacity.already")
                effect = say(f"capacity.{limit}")
                yield say("capacity.full", store=store.store, share=f"{limit} %", when=when, effect=effect)


def _retries(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, RetriesReport)
    for group in report.groups:
        if group.retries:
            yield say(
                "retries.failed",
                group=group.group,
                messages=units.count(group.first_retries),
                retries=units.count(group.retries),
                most=group.most_attempts,
                waiting="?" if group.waiting is None else units.count(group.waiting),
            )
        if group.delayed and group.first_due_ms is not None and group.last_due_ms is not None:
            yield say(
                "retries.delayed",
                group=group.group,
                messages=units.count(group.delayed),
                first=units.instant(group.first_due_ms),
                last=units.instant(group.last_due_ms),
            )
        if group.dead:
            yield say("retries.dead", group=group.group, dead=units.count(group.dead))


_OFFSETS_ARE_OLD_MS = 12_000
"""What is late by less may be delivered: delayOffset.json is written every ten seconds (flushDelayOffsetInterval)."""


def _delay(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, DelayReport)
    for level in report.levels:
        delay = "" if level.delay_ms is None else f" ({units.duration(level.delay_ms)})"
        name = say("delay.level", level=level.level, delay=delay)
        if report.at_ms - (level.first_overdue_ms or 0) > _OFFSETS_ARE_OLD_MS:
            yield from _overdue(name, level.overdue, level.first_overdue_ms, report.at_ms, say)
        if level.offset_state in ("beyond", "below"):
            bounds = {"low": level.min_offset, "high": level.max_offset}
            yield say(f"delay.{level.offset_state}", name=name, offset=level.next_offset, **bounds)
        if level.passed_over:
            passed = units.count(level.passed_over)
            yield say("delay.passed_over", name=name, messages=passed, offset=level.next_offset)
        if level.missing:
            yield say("delay.missing", name=name, entries=units.count(level.missing))
    for timers in report.timers:
        name = say("delay.timers", topic=timers.topic)
        yield from _overdue(name, timers.overdue, timers.first_overdue_ms, report.at_ms, say)
        if timers.missing:
            yield say("delay.gone", messages=units.count(timers.missing))


def _overdue(name: str, messages: int, first_ms: int | None, at_ms: int, say: Say) -> Iterator[str]:
    if messages and first_ms is not None:
        late = units.duration(at_ms - first_ms)
        yield say("delay.overdue", name=name, messages=units.count(messages), first=units.instant(first_ms), late=late)


def _transactions(report: object, say: Say) -> Iterator[str]:
    assert isinstance(report, TransactionsReport)
    for group in report.groups:
        names = {"group": group.producer_group, "topic": group.topic}
        if group.pending and group.oldest_pending_ms is not None:
            yield say(
                "transactions.pending",
                pending=units.count(group.pending),
                transactions=units.count(group.transactions),
                oldest=units.instant(group.oldest_pending_ms),
                **names,
            )
        if group.ended >= _FEWEST and group.rolled_back > group.ended * _MANY_ROLLBACKS:
            yield say(
                "transactions.back",
                rolled_back=units.count(group.rolled_back),
                ended=units.count(group.ended),
                share=units.share(group.rolled_back / group.ended),
                **names,
            )


WORDS: dict[str, Callable[[object, Say], Iterator[str]]] = {
    "tags": _tags,
    "capacity": _capacity,
    "retries": _retries,
    "delay": _delay,
    "transactions": _transactions,
}
