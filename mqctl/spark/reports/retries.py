"""The retries report: what failed and came back or is on its way back, how often, what died, and what it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, group_of
from mqctl.model.report_rows import Unread
from mqctl.model.report_rows_state import RetryAttempt, RetryDelayed, RetryError, RetryFlow, RetryGroup
from mqctl.model.reports import RetriesReport
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.delay_levels import RETURNS, RETURNS_CUT
from mqctl.spark.engines import Engine, number, sum_of, text
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.reports.figures import stores_read
from mqctl.spark.reports.unread import QUEUES, needed, unread_parts, with_message_counts
from mqctl.spark.selection import Selection


@dataclass(slots=True)
class _Group:
    """Sums of one group while rows are gone through."""

    retried: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    dead: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    delayed: dict[int, list[RetryDelayed]] = field(default_factory=lambda: defaultdict(list))
    times: list[int] = field(default_factory=list)

    def waiting_for(self, attempt: int) -> int:
        """Returns how many messages wait on delay levels for an attempt."""
        return sum(row.messages for row in self.delayed.get(attempt, ()))


def retry_cuts(error_property: str) -> tuple[Cut, ...]:
    """Returns what must be counted."""
    cuts = (
        Cut("retries.attempts", (Dim.TOPIC, Dim.TIMES)),
        Cut("retries.flow", (Dim.TOPIC, Dim.TIME)),
    )
    return (*cuts, Cut("retries.errors", (Dim.TOPIC, Dim.VALUE))) if error_property else cuts


def retries(engine: Engine, wanted: Selection, *, bucket_ms: int, error_property: str = "") -> RetriesReport:
    """Scans the stores, and looks what waits on delay levels and how far groups are behind on their retry topics."""
    query = Query(retry_cuts(error_property), bucket_ms=bucket_ms, value_property=error_property)
    everything = replace(wanted, topics=())  # retry topics have names of their own: groups choose here
    return retries_report(
        engine.rows("counts", everything, query),
        engine.rows("lags", everything, Query(())),
        engine.rows("delay", everything, Query((RETURNS_CUT,), bucket_ms=bucket_ms)),
        wanted,
        bucket_ms=bucket_ms,
        unread=with_message_counts(engine, needed("retries", unread_parts(wanted.stores))),
    )


def retries_report(
    counts: Sequence[Row],
    lags: Iterable[Row],
    delayed: Iterable[Row],
    wanted: Selection,
    *,
    bucket_ms: int,
    unread: Sequence[Unread],
) -> RetriesReport:
    """Builds the report from combined counts, lags, and what waits on delay levels."""
    groups = _groups(counts, delayed, wanted)
    waiting: dict[str, int] = defaultdict(int)
    for row in lags:
        lag = number(row.get("lag"))
        if text(row, "topic") == RETRY_PREFIX + text(row, "group") and lag is not None:
            waiting[text(row, "group")] += max(0, lag - sum_of(row, "lost"))
    # Where no store has queues that can be read, nobody knows what waits.
    known = {each.store for each in unread if each.part == QUEUES} != set(wanted.stores)
    return RetriesReport(
        bucket_ms=bucket_ms,
        read=stores_read(counts),
        groups=sorted(
            (_group(name, own, waiting.get(name), known=known) for name, own in groups.items()),
            key=lambda row: (-row.retries - (row.delayed or 0) - row.dead, row.group),
        ),
        attempts=[row for name, own in sorted(groups.items()) for row in _attempts(name, own)],
        delayed=[
            row
            for _, own in sorted(groups.items())
            for _, rows in sorted(own.delayed.items())
            for row in sorted(rows, key=lambda row: row.level)
        ],
        flow=_flow(counts, groups),
        errors=_errors(counts, groups),
        unread=list(unread),
    )


def _groups(counts: Iterable[Row], delayed: Iterable[Row], wanted: Selection) -> dict[str, _Group]:
    groups: dict[str, _Group] = defaultdict(_Group)
    for row in counts:
        topic, group = _of_group(row)
        if row["cut"] != "retries.attempts" or group is None or not _asked(group, wanted):
            continue
        own = groups[group]
        attempts = own.dead if topic.startswith(DLQ_PREFIX) else own.retried
        attempts[sum_of(row, "reconsume_times")] += sum_of(row, "messages")
        own.times += [sum_of(row, "oldest_ms"), sum_of(row, "newest_ms")]
    levels: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
    for row in delayed:
        topic, group = _of_group(row)
        if row["cut"] == RETURNS and group is not None and _asked(group, wanted):
            levels[(group, sum_of(row, "reconsume_times"), sum_of(row, "level"))].append(row)
    for (group, attempt, level), rows in levels.items():
        groups[group].delayed[attempt].append(_delayed(group, attempt, level, rows))
    return groups


def _of_group(row: Row) -> tuple[str, str | None]:
    topic = str(row.get("topic") or "")
    return topic, group_of(topic)


def _asked(group: str, wanted: Selection) -> bool:
    return not wanted.groups or group in wanted.groups


def _delayed(group: str, attempt: int, level: int, stores: Sequence[Row]) -> RetryDelayed:
    return RetryDelayed(
        group=group,
        attempt=attempt,
        level=level,
        messages=sum(sum_of(row, "waiting") for row in stores),
        first_due_ms=min(sum_of(row, "head_due_ms") for row in stores),
        last_due_ms=max(sum_of(row, "last_due_ms") for row in stores),
    )


def _flow(counts: Iterable[Row], groups: Container[str]) -> list[RetryFlow]:
    flow: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in counts:
        topic, group = _of_group(row)
        if row["cut"] == "retries.flow" and group is not None and group in groups:
            flow[(group, sum_of(row, "time_ms"))][topic.startswith(DLQ_PREFIX)] += sum_of(row, "messages")
    return [
        RetryFlow(group=group, time_ms=at, retries=sums[0], dead=sums[1]) for (group, at), sums in sorted(flow.items())
    ]


def _errors(counts: Iterable[Row], groups: Container[str]) -> list[RetryError]:
    errors: dict[tuple[str, str], int] = defaultdict(int)
    for row in counts:
        _, group = _of_group(row)
        if row["cut"] == "retries.errors" and row.get("value") is not None and group is not None and group in groups:
            errors[(group, text(row, "value"))] += sum_of(row, "messages")
    return [
        RetryError(group=group, value=value, messages=messages)
        for (group, value), messages in sorted(errors.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    ]


def _group(name: str, own: _Group, waiting: int | None, *, known: bool) -> RetryGroup:
    first = min([*own.retried, *own.delayed], default=0)
    delayed = [row for rows in own.delayed.values() for row in rows]
    return RetryGroup(
        group=name,
        retries=sum(own.retried.values()),
        first_retries=own.retried.get(first, 0) + own.waiting_for(first),
        dead=sum(own.dead.values()),
        most_attempts=max([*own.retried, *own.dead, *own.delayed], default=0),
        waiting=waiting,
        delayed=sum(row.messages for row in delayed) if known else None,
        first_due_ms=min((row.first_due_ms for row in delayed), default=None),
        last_due_ms=max((row.last_due_ms for row in delayed), default=None),
        first_ms=min(own.times, default=None),
        last_ms=max(own.times, default=None),
    )


def _attempts(name: str, own: _Group) -> list[RetryAttempt]:
    return [
        RetryAttempt(
            group=name,
            attempt=attempt,
            retried=own.retried.get(attempt, 0),
            delayed=own.waiting_for(attempt),
            dead=own.dead.get(attempt, 0),
            ended=own.retried.get(attempt, 0)
            - own.retried.get(attempt + 1, 0)
            - own.waiting_for(attempt + 1)
            - own.dead.get(attempt + 1, 0),
        )
        for attempt in sorted({*own.retried, *own.delayed, *own.dead})
    ]
