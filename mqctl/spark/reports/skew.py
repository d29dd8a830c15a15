"""The skew report: how evenly messages are spread over queues, hot keys and producers, and what would help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mqctl.model.java_hash import java_string_hash
from mqctl.model.numbers import decimal
from mqctl.model.report_rows import (
    Resharded,
    SkewKey,
    SkewProducer,
    SkewQueue,
    SkewSize,
    SkewTopic,
)
from mqctl.model.reports import SkewReport
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.rows import QUEUES
from mqctl.spark.engines import Engine, maybe_text, sum_of, text
from mqctl.spark.query import Cut, Dim, Query, Selector
from mqctl.spark.reports.figures import gini, max_over_mean, share_of, stores_read
from mqctl.spark.selection import Selection

KEYS_KEPT = 200
"""Keys of each queue that a split keeps; with more keys than that, counts are exact but for a stated error."""
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another way of spreading: number of queues, selector and the property that is the key."""

    queues: int
    selector: Selector = Selector.HASH
    key_property: str = ""


def skew_cuts(what_if: WhatIf | None, kept: int = KEYS_KEPT) -> tuple[Cut, ...]:
    """Returns what must be counted."""
    cuts = (
        Cut("skew.queues", (Dim.TOPIC, Dim.QUEUE)),
        Cut("skew.keys", (Dim.TOPIC, Dim.QUEUE, Dim.KEY), kept),
        Cut("skew.hosts", (Dim.TOPIC, Dim.HOST)),
        Cut("skew.sizes", (Dim.TOPIC, Dim.SIZE)),
    )
    return (*cuts, Cut("skew.new", (Dim.TOPIC, Dim.QUEUE, Dim.NEW_QUEUE))) if what_if else cuts


def skew(
    engine: Engine,
    wanted: Selection,
    *,
    top: int,
    what_if: WhatIf | None = None,
    key_property: str = "",
    kept: int = KEYS_KEPT,
) -> SkewReport:
    """Scans the stores and reports; `top` keys of each queue are shown, as many by messages as by bytes."""
    query = Query(
        skew_cuts(what_if, kept),
        key_property=what_if.key_property if what_if and what_if.key_property else key_property,
        new_queues=what_if.queues if what_if else 0,
        selector=what_if.selector if what_if else Selector.HASH,
    )
    return skew_report(engine.rows("counts", wanted, query), top=top, what_if=what_if)


def skew_report(rows: Iterable[Row], *, top: int, what_if: WhatIf | None = None) -> SkewReport:
    """Builds the report from combined counts."""
    cuts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        cuts[text(row, "cut")].append(row)
    places: dict[str, dict[Place, Row]] = defaultdict(dict)
    for row in cuts[QUEUES] + cuts["skew.queues"]:  # queues without messages first: those with some replace them
        places[text(row, "topic")][(text(row, "store"), sum_of(row, "queue_id"))] = row
    keys = _keys(cuts["skew.keys"], places, top, what_if)
    busiest = _busiest(cuts["skew.keys"])
    return SkewReport(
        read=stores_read(cuts["read"] + cuts["damage"]),
        topics=sorted((_topic(topic, own, keys) for topic, own in places.items()), key=_by_messages),
        queues=[each for topic, own in sorted(places.items()) for each in _queues(topic, own, busiest)],
        keys=keys,
        producers=_producers(cuts["skew.hosts"]),
        sizes=_sizes(cuts["skew.sizes"]),
        resharded=_resharded(cuts["skew.new"], places, what_if) if what_if else [],
    )


def _by_messages(row: SkewTopic) -> tuple[int, str]:
    return -row.messages, row.topic


def _topic(topic: str, own: dict[Place, Row], keys: Sequence[SkewKey]) -> SkewTopic:
    messages = [sum_of(row, "messages") for row in own.values()]
    sizes = [sum_of(row, "bytes") for row in own.values()]
    total = sum(messages)
    hot = max(sorted(own), key=lambda place: sum_of(own[place], "messages")) if total else None
    totals: dict[str, int] = defaultdict(int)
    for key in keys:
        if key.topic == topic and key.key is not None:
            totals[key.key] += key.messages
    hot_key = max(sorted(totals), key=totals.__getitem__, default=None)
    return SkewTopic(
        topic=topic,
        queues=len(own),
        messages=total,
        bytes=sum(sizes),
        gini=gini(messages),
        bytes_gini=gini(sizes),
        max_over_mean=max_over_mean(messages),
        bytes_max_over_mean=max_over_mean(sizes),
        hot_store=hot[0] if hot else None,
        hot_queue_id=hot[1] if hot else None,
        hot_share=share_of(max(messages, default=0), total),
        hot_key=hot_key,
        hot_key_share=share_of(totals[hot_key], total) if hot_key is not None else 0.0,
    )


def _busiest(rows: Sequence[Row]) -> dict[tuple[str, str, int], int]:
    """Returns how many messages the busiest key of each queue has."""
    most: dict[tuple[str, str, int], int] = {}
    for row in rows:
        if not row.get("is_rest") and row.get("key") is not None:
            where = (text(row, "topic"), text(row, "store"), sum_of(row, "queue_id"))
            most[where] = max(most.get(where, 0), sum_of(row, "messages"))
    return most


def _queues(topic: str, own: dict[Place, Row], busiest: dict[tuple[str, str, int], int]) -> list[SkewQueue]:
    messages = sum(sum_of(row, "messages") for row in own.values())
    size = sum(sum_of(row, "bytes") for row in own.values())
    return [
        SkewQueue(
            topic=topic,
            store=store,
            queue_id=queue_id,
            messages=sum_of(row, "messages"),
            bytes=sum_of(row, "bytes"),
            share=share_of(sum_of(row, "messages"), messages),
            bytes_share=share_of(sum_of(row, "bytes"), size),
            key_lanes=round(sum_of(row, "messages") / most, 1)
            if (most := busiest.get((topic, store, queue_id)))
            else None,
        )
        for (store, queue_id), row in sorted(own.items())
    ]


def _keys(rows: Sequence[Row], places: dict[str, dict[Place, Row]], top: int, what_if: WhatIf | None) -> list[SkewKey]:
    by_queue: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    missed: dict[tuple[str, str, int], int] = defaultdict(int)
    for row in rows:
        where = (text(row, "topic"), text(row, "store"), sum_of(row, "queue_id"))
        if row.get("is_rest"):
            missed[where] += sum_of(row, "most_messages")
        elif row.get("key") is not None:
            by_queue[where].append(row)
    keys = []
    for (topic, store, queue_id), own in sorted(by_queue.items()):
        chosen: dict[str, Row] = {}
        for measure in ("messages", "bytes"):
            heaviest = sorted(own, key=lambda row: (-sum_of(row, measure), text(row, "key")))[:top]
            chosen.update({text(row, "key"): row for row in heaviest})
        total = sum_of(places[topic][(store, queue_id)], "messages")
        keys += [
            SkewKey(
                topic=topic,
                store=store,
                queue_id=queue_id,
                key=key,
                messages=sum_of(row, "messages"),
                bytes=sum_of(row, "bytes"),
                share=share_of(sum_of(row, "messages"), total),
                missed_messages_most=missed[(topic, store, queue_id)],
                new_queue=_new_queue(key, what_if),
            )
            for key, row in chosen.items()
        ]
    return keys


def _new_queue(key: str, what_if: WhatIf | None) -> int | None:
    """Tells where the what-if puts a shown key (a shortened one has no place: its text is not the key)."""
    if what_if is None or key.endswith(")"):
        return None
    if what_if.selector is Selector.NUMBER:
        number = decimal(key)
        return None if number is None else number % what_if.queues
    return abs(java_string_hash(key)) % what_if.queues


def _producers(rows: Sequence[Row]) -> list[SkewProducer]:
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    totals: dict[str, int] = defaultdict(int)
    for row in rows:  # of one host in several stores
        known = sums[(text(row, "topic"), maybe_text(row, "born_host") or "?")]
        known[0] += sum_of(row, "messages")
        known[1] += sum_of(row, "bytes")
        totals[text(row, "topic")] += sum_of(row, "messages")
    producers = [
        SkewProducer(topic=topic, born_host=host, messages=number, bytes=size, share=share_of(number, totals[topic]))
        for (topic, host), (number, size) in sums.items()
    ]
    return sorted(producers, key=lambda row: (row.topic, -row.messages, row.born_host))


def _sizes(rows: Sequence[Row]) -> list[SkewSize]:
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        known = sums[(text(row, "topic"), sum_of(row, "size_class"))]
        known[0] += sum_of(row, "messages")
        known[1] += sum_of(row, "bytes")
    return [
        SkewSize(topic=topic, from_bytes=low, messages=number, bytes=size)
        for (topic, low), (number, size) in sorted(sums.items())
    ]


def _resharded(rows: Sequence[Row], places: dict[str, dict[Place, Row]], what_if: WhatIf) -> list[Resharded]:
    by_topic: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_topic[text(row, "topic")].append(row)
    keys = []
    for topic, own in sorted(by_topic.items()):
        # A producer's selector counts through the queues of all brokers, sorted by broker name: stores as given.
        index = {place: number for number, place in enumerate(sorted(places[topic]))}
        now, then = [0] * len(index), [0] * what_if.queues
        moved = unkeyed = 0
        for row in own:
            number, new = sum_of(row, "messages"), sum_of(row, "new_queue")
            if new < 0:
                unkeyed += number
                continue
            place = index[(text(row, "store"), sum_of(row, "queue_id"))]
            now[place] += number
            then[new] += number
            moved += number if place != new else 0
        keyed = sum(then)
        busiest = max(range(len(then)), key=then.__getitem__) if keyed else None
        keys.append(
            Resharded(
                topic=topic,
                queues_now=len(index),
                new_queues=what_if.queues,
                selector=what_if.selector.value,
                key_property=what_if.key_property or "__SHARDINGKEY, else KEYS",
                messages=keyed + unkeyed,
                unkeyed_messages=unkeyed,
                moved_messages=moved,
                moved_share=share_of(moved, keyed),
                gini_now=gini(now),
                gini_then=gini(then),
                max_over_mean_now=max_over_mean(now),
                max_over_mean_then=max_over_mean(then),
                busiest_queue=busiest,
                busiest_share=share_of(max(then), keyed),
            )
        )
    return keys
