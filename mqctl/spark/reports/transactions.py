"""The transactions report: what waits for an end, how long ends took, by producer group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from mqctl.model.report_rows import Unread
from mqctl.model.report_rows_state import PendingHalf, ResolutionTime, TransactionGroup
from mqctl.model.reports import TransactionsReport
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.half_messages import GROUPS, MISSING, PENDING, TIMES
from mqctl.spark.engines import Engine, maybe_text, number, sum_of, text
from mqctl.spark.query import Query
from mqctl.spark.reports.unread import needed, require_queues, unread_parts, with_message_counts
from mqctl.spark.selection import Selection
from mqctl.text import sentence


def transactions(
    engine: Engine, wanted: Selection, *, top: int, unread: Sequence[Unread] | None = None
) -> TransactionsReport:
    """Reads the transaction topics; `top` of the oldest that wait are shown for each store.

    Raises:
        BadInputError: no store has queues that can be read (not where `unread` parts are known).
    """
    if unread is None:
        require_queues(wanted)
        unread = with_message_counts(engine, needed("transactions", unread_parts(wanted.stores)))
    return transactions_report(engine.rows("transactions", wanted, Query(())), unread, top=top)


def transactions_report(rows: Iterable[Row], unread: Sequence[Unread], *, top: int) -> TransactionsReport:
    """Builds the report from the rows of the table `transactions`."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    times: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    pending: dict[str, list[PendingHalf]] = defaultdict(list)
    lost: list[Unread] = []
    for row in rows:
        if row["cut"] == MISSING:
            lost.append(
                Unread(
                    store=text(row, "store"),
                    part=text(row, "topic"),
                    reason=sentence("entries-without-record", "entries of its queue lead to no sound record"),
                    bytes=0,
                    messages=sum_of(row, "transactions"),
                )
            )
        elif row["cut"] == GROUPS:
            groups[(text(row, "producer_group"), text(row, "topic"))].append(row)
        elif row["cut"] == TIMES:
            sums = times[(text(row, "producer_group"), sum_of(row, "class_ms"))]
            for place, name in enumerate(("ended", "committed", "rolled_back")):
                sums[place] += sum_of(row, name)
        elif row["cut"] == PENDING:
            pending[text(row, "store")].append(
                PendingHalf(
                    store=text(row, "store"),
                    producer_group=text(row, "producer_group"),
                    topic=text(row, "topic"),
                    unique_key=maybe_text(row, "unique_key"),
                    half_offset=sum_of(row, "half_offset"),
                    first_stored_ms=sum_of(row, "oldest_pending_ms"),
                )
            )
    return TransactionsReport(
        unread=[*unread, *lost],
        groups=sorted(
            (_group(name, topic, own) for (name, topic), own in groups.items()),
            key=lambda row: (-row.pending, -row.transactions, row.producer_group, row.topic),
        ),
        times=[
            ResolutionTime(producer_group=name, from_ms=low, ended=ended, committed=committed, rolled_back=rolled_back)
            for (name, low), (ended, committed, rolled_back) in sorted(times.items())
        ],
        pending=[
            row
            for _, own in sorted(pending.items())
            for row in sorted(own, key=lambda half: (half.first_stored_ms, half.half_offset))[:top]
        ],
    )


def _group(name: str, topic: str, rows: list[Row]) -> TransactionGroup:
    def total(name: str) -> int:
        return sum(sum_of(row, name) for row in rows)

    ended, committed, rolled_back = total("ended"), total("committed"), total("rolled_back")
    oldest = [time for row in rows if (time := number(row.get("oldest_pending_ms"))) is not None]
    return TransactionGroup(
        producer_group=name,
        topic=topic,
        transactions=total("transactions"),
        ended=ended,
        pending=total("pending"),
        mean_resolution_ms=total("resolution_ms") / ended if ended else None,
        longest_ms=max(sum_of(row, "longest_ms") for row in rows) if ended else None,
        oldest_pending_ms=min(oldest, default=None),
        committed=committed,
        rolled_back=rolled_back,
        unknown=total("unknown"),
        mean_commit_ms=total("committed_ms") / committed if committed else None,
        mean_rollback_ms=total("rolled_back_ms") / rolled_back if rolled_back else None,
    )
