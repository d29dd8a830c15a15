"""The order report: keys that appear in several queues, since when, and which change of the queue count explains it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mqctl.model.report_rows import OrderKey, OrderPeriod, OrderTime, OrderTopic
from mqctl.model.reports import OrderReport
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import OWN
from mqctl.spark.aggregates.rows import DAMAGE, READ
from mqctl.spark.engines import Engine, number, sum_of, text, whole_keys
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.reports.figures import own_messages, periods, stores_read
from mqctl.spark.selection import Selection

ORDER_CUTS = (Cut("order.queues", (Dim.TOPIC, Dim.QUEUE, Dim.TIME)),)
_OUT_OF_ORDER = ("moves", "inversions")


def order(engine: Engine, wanted: Selection, *, top: int, bucket_ms: int, key_property: str = "") -> OrderReport:
    """Scans the stores and reports the `top` keys of each topic with most moves.

    A second scan counts the queues in use, of those topics alone whose keys moved: mostly there are none.
    """
    query = Query(ORDER_CUTS, bucket_ms=bucket_ms, key_property=key_property, top=top)
    rows = whole_keys(engine.rows("order", wanted, query), "order", query)
    topics = sorted({text(row, "topic") for row in rows if row["cut"] in _OUT_OF_ORDER})
    counted = engine.rows("counts", wanted.narrowed(topics=topics), query) if topics else []
    return order_report(rows, counted, top=top, bucket_ms=bucket_ms)


def order_report(rows: Iterable[Row], counted: Iterable[Row], *, top: int, bucket_ms: int) -> OrderReport:
    """Builds the report from what was found about keys and read, and from queues in use over time."""
    cuts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        cuts[text(row, "cut")].append(row)
    changes: dict[str, Row] = {}
    for row in sorted(cuts["changes"], key=lambda row: sum_of(row, "queues_before") + sum_of(row, "queues_after")):
        known = changes.get(text(row, "topic"))
        if known is None or sum_of(row, "moves") > sum_of(known, "moves"):
            changes[text(row, "topic")] = row
    return OrderReport(
        bucket_ms=bucket_ms,
        read=stores_read([*cuts[READ], *cuts[DAMAGE]]),
        topics=sorted(
            (_topic(row, changes.get(text(row, "topic"))) for row in cuts["topics"] if sum_of(row, "messages")),
            key=lambda row: (-row.moves, -row.inversions, row.topic),
        ),
        periods=_periods(cuts, counted, bucket_ms),
        times=[
            OrderTime(topic=topic, time_ms=at, moves=sums[0], inversions=sums[1])
            for topic, buckets in sorted(_times(cuts).items())
            for at, sums in sorted(buckets.items())
        ],
        keys=_keys(cuts["keys"], top),
        own_messages=own_messages(cuts[OWN]),
    )


_FEWEST_MOVES = 3


def _topic(row: Row, change: Row | None) -> OrderTopic:
    moves = sum_of(row, "moves")
    fewer = more = explained = back = None
    # A change that explains less than half of the moves is no explanation; one or two moves fit some change always.
    if change is not None and moves >= _FEWEST_MOVES and 2 * sum_of(change, "moves") > moves:
        fewer, more = sum_of(change, "queues_before"), sum_of(change, "queues_after")
        explained, growing = min(moves, sum_of(change, "moves")), sum_of(change, "growing")
        back = sum_of(change, "moves") - growing
        first, other = number(change.get("growing_ms")), number(change.get("shrinking_ms"))
        if first is None or (other is not None and other < first):
            fewer, more, back = more, fewer, growing
    return OrderTopic(
        topic=text(row, "topic"),
        messages=sum_of(row, "messages"),
        keys=sum_of(row, "keys"),
        moved_keys=sum_of(row, "moved_keys"),
        moves=moves,
        inversions=sum_of(row, "inversions"),
        queues_before=fewer,
        queues_after=more,
        explained_moves=explained,
        moves_back=back,
        first_move_ms=number(row.get("oldest_ms")),
        last_move_ms=number(row.get("newest_ms")),
    )


def _periods(cuts: dict[str, list[Row]], counts: Iterable[Row], bucket_ms: int) -> list[OrderPeriod]:
    times = _times(cuts)
    in_use: dict[str, dict[int, set[tuple[str, int]]]] = defaultdict(lambda: defaultdict(set))
    for row in counts:
        if row["cut"] == "order.queues":
            queue = (text(row, "store"), sum_of(row, "queue_id"))
            in_use[text(row, "topic")][sum_of(row, "time_ms")].add(queue)
    spans = []
    for topic, buckets in sorted(times.items()):
        for begin, end in periods(buckets, bucket_ms):
            inside = [sums for at, sums in buckets.items() if begin <= at < end]
            before = max((at for at in in_use[topic] if at < begin), default=None)
            after = min((at for at in in_use[topic] if at >= end), default=None)
            spans.append(
                OrderPeriod(
                    topic=topic,
                    begin_ms=begin,
                    end_ms=end,
                    moves=sum(sums[0] for sums in inside),
                    inversions=sum(sums[1] for sums in inside),
                    queues_in_use_before=None if before is None else len(in_use[topic][before]),
                    queues_in_use_after=None if after is None else len(in_use[topic][after]),
                )
            )
    return spans


def _times(cuts: dict[str, list[Row]]) -> dict[str, dict[int, list[int]]]:
    """Returns moves and inversions by topic and time bucket."""
    times: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for place, name in enumerate(_OUT_OF_ORDER):
        for row in cuts[name]:
            times[text(row, "topic")][sum_of(row, "time_ms")][place] += sum_of(row, name)
    return times


def _keys(rows: Iterable[Row], top: int) -> list[OrderKey]:
    keys = [
        OrderKey(
            topic=text(row, "topic"),
            key=text(row, "key"),
            messages=sum_of(row, "messages"),
            queues=sum_of(row, "queues"),
            moves=sum_of(row, "moves"),
            inversions=sum_of(row, "inversions"),
            oldest_ms=sum_of(row, "oldest_ms"),
            newest_ms=sum_of(row, "newest_ms"),
        )
        for row in rows
    ]
    keys.sort(key=lambda row: (row.topic, -row.moves, -row.inversions, row.key))
    kept: dict[str, list[OrderKey]] = defaultdict(list)
    for row in keys:
        if len(kept[row.topic]) < top:
            kept[row.topic].append(row)
    return [row for own in kept.values() for row in own]
