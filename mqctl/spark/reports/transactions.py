"""The transactions report: what waits for an end, how long ends took, by producer group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mqctl.model.report_rows_store import PendingHalf, ResolutionTime, TransactionGroup
from mqctl.model.reports import TransactionsReport
from mqctl.spark.asking import Ask
from mqctl.spark.engines import Engine, Row, count, maybe_text, number, text
from mqctl.spark.parts_transactions import GROUPS, PENDING, TIMES
from mqctl.spark.wanted import Wanted


def transactions(engine: Engine, wanted: Wanted, *, top: int) -> TransactionsReport:
    """Reads the transaction topics; `top` of the oldest that wait are shown for each store."""
    return transactions_report(engine.rows("transactions", wanted, Ask(())), top=top)


def transactions_report(rows: Iterable[Row], *, top: int) -> TransactionsReport:
    """Builds the report from the rows of the table `transactions`."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    times: dict[tuple[str, int], int] = defaultdict(int)
    pending: dict[str, list[PendingHalf]] = defaultdict(list)
    for row in rows:
        if row["cut"] == GROUPS:
            groups[(text(row, "producer_group"), text(row, "topic"))].append(row)
        elif row["cut"] == TIMES:
            times[(text(row, "producer_group"), count(row, "class_ms"))] += count(row, "ended")
        elif row["cut"] == PENDING:
            pending[text(row, "store")].append(
                PendingHalf(
                    store=text(row, "store"),
                    producer_group=text(row, "producer_group"),
                    topic=text(row, "topic"),
                    unique_key=maybe_text(row, "unique_key"),
                    half_offset=count(row, "half_offset"),
                    first_stored_ms=count(row, "oldest_pending_ms"),
                )
            )
    return TransactionsReport(
        groups=sorted(
            (_group(name, topic, own) for (name, topic), own in groups.items()),
            key=lambda row: (-row.pending, -row.transactions, row.producer_group, row.topic),
        ),
        times=[
            ResolutionTime(producer_group=name, from_ms=low, ended=ended)
            for (name, low), ended in sorted(times.items())
        ],
        pending=[
            row
            for _, own in sorted(pending.items())
            for row in sorted(own, key=lambda half: (half.first_stored_ms, half.half_offset))[:top]
        ],
    )


def _group(name: str, topic: str, rows: list[Row]) -> TransactionGroup:
    ended = sum(count(row, "ended") for row in rows)
    oldest = [time for row in rows if (time := number(row.get("oldest_pending_ms"))) is not None]
    return TransactionGroup(
        producer_group=name,
        topic=topic,
        transactions=sum(count(row, "transactions") for row in rows),
        ended=ended,
        pending=sum(count(row, "pending") for row in rows),
        mean_resolution_ms=sum(count(row, "resolution_ms") for row in rows) / ended if ended else None,
        longest_ms=max(count(row, "longest_ms") for row in rows) if ended else None,
        oldest_pending_ms=min(oldest, default=None),
    )
