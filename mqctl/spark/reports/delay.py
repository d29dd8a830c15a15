"""The delay report: what waits on delay levels, when it is due, and what is late."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.model.report_rows import Unread
from mqctl.model.report_rows_state import DelayDue, DelayLevel, TimerTopic
from mqctl.model.reports import DelayReport
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.delay_levels import DUE, LEVELS
from mqctl.spark.aggregates.timers import TIMER_DUE, TIMERS
from mqctl.spark.engines import Engine, maybe_text, number, sum_of, text
from mqctl.spark.query import Cut, Query
from mqctl.spark.reports.unread import needed, require_queues, unread_parts, with_message_counts
from mqctl.spark.selection import Selection


def delay(
    engine: Engine,
    wanted: Selection,
    *,
    at_ms: int | None,
    bucket_ms: int,
    levels: str = "",
    unread: Sequence[Unread] | None = None,
) -> DelayReport:
    """Reads the schedule queues; without `at_ms` as of the stores' own last instant (newest store time).

    Raises:
        BadInputError: no store has queues that can be read (not where `unread` parts are known).
    """
    if unread is None:
        require_queues(wanted)
        unread = with_message_counts(engine, needed("delay", unread_parts(wanted.stores)))
    at_ms, rows = delay_rows(engine, wanted, at_ms=at_ms, bucket_ms=bucket_ms, levels=levels)
    return delay_report(rows, unread, at_ms=at_ms, bucket_ms=bucket_ms)


def delay_rows(
    engine: Engine, wanted: Selection, *, at_ms: int | None, bucket_ms: int, levels: str, cuts: tuple[Cut, ...] = ()
) -> tuple[int, list[Row]]:
    """Returns the moment that is judged, and the rows of the table `delay` as of then."""
    if at_ms is None:
        known = [number(row.get("newest_ms")) for row in engine.rows("extents", wanted, Query(()))]
        at_ms = max((time for time in known if time is not None), default=0)
    return at_ms, engine.rows("delay", wanted, Query(cuts, bucket_ms=bucket_ms, at_ms=at_ms, levels=levels))


def delay_report(rows: Iterable[Row], unread: Sequence[Unread], *, at_ms: int, bucket_ms: int) -> DelayReport:
    """Builds the report from the rows of the table `delay`."""
    listed = list(rows)
    return DelayReport(
        at_ms=at_ms,
        bucket_ms=bucket_ms,
        unread=list(unread),
        levels=sorted((_level(row) for row in listed if row["cut"] == LEVELS), key=lambda row: (row.store, row.level)),
        timers=sorted(
            (_timer(row) for row in listed if row["cut"] == TIMERS),
            key=lambda row: (row.store, -row.waiting, row.topic),
        ),
        due=sorted(
            (
                DelayDue(
                    store=text(row, "store"),
                    level=number(row.get("level")),
                    topic=maybe_text(row, "topic"),
                    time_ms=sum_of(row, "time_ms"),
                    waiting=sum_of(row, "waiting"),
                )
                for row in listed
                if row["cut"] in (DUE, TIMER_DUE)
            ),
            key=lambda row: (row.store, row.level or 0, row.topic or "", row.time_ms),
        ),
    )


def _timer(row: Row) -> TimerTopic:
    return TimerTopic(
        store=text(row, "store"),
        topic=text(row, "topic"),
        waiting=sum_of(row, "waiting"),
        missing=sum_of(row, "missing"),
        overdue=sum_of(row, "overdue"),
        not_due=sum_of(row, "not_due"),
        head_due_ms=number(row.get("head_due_ms")),
        first_overdue_ms=number(row.get("first_overdue_ms")),
        last_due_ms=number(row.get("last_due_ms")),
    )


def _level(row: Row) -> DelayLevel:
    low, high, following = sum_of(row, "min_offset"), sum_of(row, "max_offset"), number(row.get("next_offset"))
    state = "ok"
    if following is None:
        state = "unknown"
    elif following > high:
        state = "beyond"
    elif following < low:
        state = "below"
    elif sum_of(row, "passed_over"):
        state = "ahead"
    return DelayLevel(
        store=text(row, "store"),
        level=sum_of(row, "level"),
        delay_ms=number(row.get("delay_ms")),
        min_offset=low,
        max_offset=high,
        next_offset=following,
        offset_state=state,
        waiting=sum_of(row, "waiting"),
        missing=sum_of(row, "missing"),
        passed_over=sum_of(row, "passed_over"),
        overdue=sum_of(row, "overdue"),
        not_due=sum_of(row, "not_due"),
        head_due_ms=number(row.get("head_due_ms")),
        first_overdue_ms=number(row.get("first_overdue_ms")),
        last_due_ms=number(row.get("last_due_ms")),
    )
