"""All reports at once: one scan of the commit logs for what is counted, and what else each report needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mqctl.model.backlog import BacklogBy
from mqctl.model.progress import Progress
from mqctl.model.report_rows import Unread
from mqctl.model.report_rows_state import BacklogArrival
from mqctl.model.reports import BacklogOverview
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.spark.aggregates.backlog_segments import ARRIVAL, ARRIVALS
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.delay_levels import RETURNS_CUT
from mqctl.spark.aggregates.keyed import DUPLICATES, ORDER
from mqctl.spark.engines import Engine, number, sum_of, text, whole_keys
from mqctl.spark.query import Cut, Query
from mqctl.spark.reports.backlog import rows_by
from mqctl.spark.reports.capacity import CAPACITY_CUTS, capacity_report
from mqctl.spark.reports.delay import delay_report, delay_rows
from mqctl.spark.reports.duplicates import duplicates_report
from mqctl.spark.reports.order import ORDER_CUTS, order_report
from mqctl.spark.reports.retries import retries_report, retry_cuts
from mqctl.spark.reports.skew import skew_cuts, skew_report
from mqctl.spark.reports.tags import TAG_CUTS, tags_report
from mqctl.spark.reports.transactions import transactions
from mqctl.spark.reports.unread import log_unread, needed, unread_parts, with_log, with_messages
from mqctl.spark.selection import Selection

NAMES = ("backlog", "skew", "order", "duplicates", "tags", "delay", "transactions", "retries", "capacity")
"""The reports in the order of the page."""
_BUCKETS = 120
_WIDTHS_MS = (1_000, 10_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a run is made.

    Attributes:
        top: keys shown of each queue or topic.
        bucket_ms: width of time buckets; None chooses one that gives at most 120.
        at_ms: the moment as of which something is late; None is the stores' own last instant.
        snapshot, brokers: whose subscriptions to compare tags with, and the broker of each store.
    """

    top: int = 5
    bucket_ms: int | None = None
    at_ms: int | None = None
    key_property: str = ""
    levels: str = ""
    error_property: str = ""
    snapshot: ClusterSnapshot | None = None
    brokers: Mapping[str, str] | None = None


def run_report(
    engine: Engine, wanted: Selection, settings: RunSettings, progress: Progress | None = None
) -> dict[str, object]:
    """Makes every report; the values by name."""

    def step(what: str, done: int) -> None:
        if progress is not None:
            progress(what, done, 5)

    step("looking at the stores", 0)
    extents = engine.rows("extents", wanted, Query(()))
    width = settings.bucket_ms or chosen_width_ms(extents, wanted)
    cuts = (*skew_cuts(None), *TAG_CUTS, *CAPACITY_CUTS, *ORDER_CUTS, *retry_cuts(settings.error_property))
    query = Query(cuts, bucket_ms=width, key_property=settings.key_property, value_property=settings.error_property)
    step("counting messages", 1)
    everything = wanted if wanted.topics else replace(wanted, system=True)
    counted = engine.rows("counts", everything, query)
    own = [row for row in counted if row.get("topic") is None or wanted.wants_topic(text(row, "topic"))]
    step("bringing keys together", 2)
    both = replace(query, unique_keys=True, top=settings.top)
    keyed = whole_keys(engine.rows("keyed", wanted, both), "keyed", both)
    order = [row for row in keyed if row.get("report") != DUPLICATES]
    duplicated = [row for row in keyed if row.get("report") != ORDER]
    unread = with_messages(unread_parts(wanted.stores), counted)
    step("following what is behind", 3)
    backlog = _backlog(engine, wanted, width, unread)
    step("reading queues of delays and transactions", 4)
    at_ms, delayed = delay_rows(
        engine, wanted, at_ms=settings.at_ms, bucket_ms=width, levels=settings.levels, cuts=(RETURNS_CUT,)
    )
    lags = engine.rows("lags", replace(wanted, topics=()), Query(()))
    reports: dict[str, object] = {
        "backlog": backlog,
        "skew": skew_report(own, top=settings.top),
        "order": order_report(order, own, top=settings.top, bucket_ms=width),
        "duplicates": duplicates_report(duplicated, top=settings.top, bucket_ms=width),
        "tags": tags_report(own, wanted, snapshot=settings.snapshot, brokers=settings.brokers or {}),
        "delay": delay_report(delayed, needed("delay", unread), at_ms=at_ms, bucket_ms=width),
        "transactions": transactions(engine, wanted, top=settings.top, unread=needed("transactions", unread)),
        "retries": retries_report(own, lags, delayed, wanted, bucket_ms=width, unread=needed("retries", unread)),
        "capacity": capacity_report(counted, extents, bucket_ms=width),
    }
    of_log = log_unread(wanted.stores)
    return {name: with_log(report, of_log) for name, report in reports.items()}


def chosen_width_ms(extents: Sequence[Row], wanted: Selection) -> int:
    """Returns a round width that cuts the stores' time into at most 120 buckets."""
    first = min((time for row in extents if (time := number(row.get("oldest_ms"))) is not None), default=0)
    last = max((time for row in extents if (time := number(row.get("newest_ms"))) is not None), default=first)
    span = min(last, wanted.store_time_ms.high) - max(first, wanted.store_time_ms.low)
    return next((width for width in _WIDTHS_MS if span <= width * _BUCKETS), _WIDTHS_MS[-1])


def _backlog(engine: Engine, wanted: Selection, width: int, unread: Sequence[Unread]) -> BacklogOverview:
    # The asked groups choose topics for other reports; here they are what is reported.
    query = Query((Cut(ARRIVALS, ()),), bucket_ms=width)
    rows = engine.rows("backlog", wanted, query, ("kind", "group", "topic", "tag", "time_ms"))
    arrivals = [
        BacklogArrival(
            group=text(row, "group"),
            topic=text(row, "topic"),
            time_ms=sum_of(row, "time_ms"),
            messages=sum_of(row, "messages"),
            bytes=sum_of(row, "bytes"),
        )
        for row in rows
        if row["kind"] == ARRIVAL
    ]
    lags = [row for row in rows if row["kind"] != ARRIVAL]
    return BacklogOverview(
        bucket_ms=width,
        topics=rows_by(lags, BacklogBy.TOPIC),
        tags=rows_by(lags, BacklogBy.TAG),
        unread=needed("backlog", unread),
        arrivals=sorted(arrivals, key=lambda row: (row.group, row.topic, row.time_ms)),
    )
