"""What stands out in the reports on tags, room, retries, delay levels and transactions, in words."""

from __future__ import annotations

from collections.abc import Callable

from mqctl.model.reports import CapacityReport, DelayReport, RetriesReport, TagsReport, TransactionsReport
from mqctl.render import units

SOON_HOURS = 72.0


def _tags(report: object) -> list[str]:
    assert isinstance(report, TagsReport)
    return [
        f"{lost.group} on {lost.topic}: {units.count(lost.lost_messages)} of {units.count(lost.messages)} messages with"
        f" tag {lost.tag} ({units.share(lost.lost_share)}) reach nobody, for members want different tags"
        f" ({lost.queues}). Give all members one subscription."
        for lost in report.lost
    ]


def _capacity(report: object) -> list[str]:
    assert isinstance(report, CapacityReport)
    words = []
    for store in report.stores:
        if store.bytes_per_day is None:
            continue
        words.append(
            f"{store.store}: {units.size(round(store.bytes_per_day))} a day,"
            f" {store.messages_per_second or 0:,.0f} messages a second on average"
            f" and {store.peak_messages_per_second or 0:,.0f} at its peak."
        )
        for share, hours in (("75 %", store.hours_to_75), ("90 %", store.hours_to_90)):
            if hours is not None and hours <= SOON_HOURS:
                effect = "brokers delete before retention is over" if share == "75 %" else "brokers refuse messages"
                when = f"in {hours:,.0f} hours" if hours else "already"
                words.append(f"{store.store}: the disk is {share} full {when} at this rate: {effect}.")
    return words


def _retries(report: object) -> list[str]:
    assert isinstance(report, RetriesReport)
    words = []
    for group in report.groups:
        if group.retries:
            words.append(
                f"{group.group}: {units.count(group.first_retries)} messages failed and were sent back"
                f" {units.count(group.retries)} times, up to attempt {group.most_attempts};"
                f" {'?' if group.waiting is None else units.count(group.waiting)} wait in the retry topic."
            )
        if group.dead:
            words.append(f"{group.group}: {units.count(group.dead)} messages are dead letters: nobody consumes them.")
    return words


def _delay(report: object) -> list[str]:
    assert isinstance(report, DelayReport)
    words = []
    for level in report.levels:
        delay = "" if level.delay_ms is None else f" ({units.duration(level.delay_ms)})"
        name = f"level {level.level}{delay}"
        if level.overdue and level.first_overdue_ms is not None:
            words.append(
                f"{name}: {units.count(level.overdue)} messages are overdue, the oldest since"
                f" {units.instant(level.first_overdue_ms)} ({units.duration(report.at_ms - level.first_overdue_ms)})."
            )
        if level.offset_state in ("beyond", "below"):
            words.append(
                f"{name}: delayOffset.json says {level.next_offset}, {level.offset_state} the queue"
                f" ({level.min_offset} to {level.max_offset})."
            )
        if level.missing:
            words.append(f"{name}: {units.count(level.missing)} entries lead to no message.")
    for timers in report.timers:
        if timers.overdue and timers.first_overdue_ms is not None:
            words.append(
                f"timers for {timers.topic}: {units.count(timers.overdue)} messages are overdue, the oldest since"
                f" {units.instant(timers.first_overdue_ms)} ({units.duration(report.at_ms - timers.first_overdue_ms)})."
            )
        if timers.missing:
            words.append(f"timers: the records of {units.count(timers.missing)} messages are gone.")
    return words


def _transactions(report: object) -> list[str]:
    assert isinstance(report, TransactionsReport)
    return [
        f"{group.producer_group} for {group.topic}: {units.count(group.pending)} of {units.count(group.transactions)}"
        f" transactions wait for an end, the oldest since {units.instant(group.oldest_pending_ms)}:"
        " producers of this group must answer the broker's checks."
        for group in report.groups
        if group.pending and group.oldest_pending_ms is not None
    ]


WORDS: dict[str, Callable[[object], list[str]]] = {
    "tags": _tags,
    "capacity": _capacity,
    "retries": _retries,
    "delay": _delay,
    "transactions": _transactions,
}
