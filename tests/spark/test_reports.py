"""Skew, order and duplicates against the slow reference: recorded and generated stores, with and without Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.message import UNIQ_KEY
from mqctl.model.own_messages import PROBE, REPLAY_ID
from mqctl.model.resend import RESENT_FROM
from mqctl.render.reports.words import findings
from mqctl.spark.aggregates import grouping
from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.query import Selector
from mqctl.spark.reports import duplicates, order, skew
from mqctl.spark.selection import Selection
from tests.spark import plain_reports as plain
from tests.store.builder import StoreBuilder, message

pytestmark = [pytest.mark.spark]
Store = Callable[[str], Path]
STORES = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]
MINUTE_MS = 60_000
LONG = "x" * 30_000


def made_store(root: Path, seed: int, count: int = 600) -> Path:
    """A store of keys old and new, hosts of both kinds, long keys, odd bodies and clocks that run back."""
    rng = random.Random(seed)
    builder = StoreBuilder(commit_log_file_bytes=1 << 18)
    now = 1_795_218_000_000
    for number in range(count):
        now += rng.choice((0, 0, 1, 7, 900, 70_000))
        key = rng.choice((None, f"k{rng.randrange(9)}", f"order-{rng.randrange(60):09}", "键" * rng.randrange(1, 4)))
        properties = {"UNIQ_KEY": f"U{rng.randrange(count * 2):020}"}
        if key is not None:
            properties |= {"KEYS": f"{key} other"} if rng.random() < 0.5 else {"__SHARDINGKEY": key, "KEYS": "shadow"}
        if number in (17, 18):
            properties["KEYS"] = LONG + str(number)
        item = message(
            topic=rng.choice(("Orders", "Orders", "Payments", "%RETRY%g", "SCHEDULE_TOPIC_XXXX")),
            queue_id=rng.randrange(5),
            body=b"b" * rng.choice((0, 1, 2, 3, 63, 64, 65, 1000)),
            properties=properties,
            store_time_ms=now,
            born_host=rng.choice(("192.0.2.1:1", "192.0.2.1:2", "192.0.2.9:1", "[2001:db8::7]:9")),
        )
        from dataclasses import replace

        builder.append(replace(item, born_time_ms=now - rng.randrange(5_000)))
    return builder.write(root)


@pytest.fixture(scope="module")
def two_stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("made")
    return [made_store(base / name, seed) for name, seed in (("broker-a", 1), ("broker-b", 2))]


@pytest.fixture(params=[*STORES, "made"])
def stores(request: pytest.FixtureRequest, golden_store: Store, two_stores: list[Path]) -> list[Path]:
    return two_stores if request.param == "made" else [golden_store(request.param)]


def test_skew_equals_the_slow_reference(stores: list[Path], engine: Engine) -> None:
    truth = {str(store): plain.messages_of(store) for store in stores}
    everything = [each for messages in truth.values() for each in messages]
    report = skew.skew(engine, Selection(tuple(map(str, stores))), top=10_000)
    assert [(each.store, each.skipped_bytes) for each in report.read] == [(str(store), 0) for store in sorted(stores)]
    queues = {(row.topic, row.store, row.queue_id): (row.messages, row.bytes) for row in report.queues}
    counted = Counter((each.topic, store, each.queue_id) for store, own in truth.items() for each in own)
    assert {where: number for where, (number, _) in queues.items() if number} == counted
    assert sum(size for _, size in queues.values()) == sum(each.size_bytes for each in everything)
    for topic in report.topics:
        own = [number for (name, _, _), (number, _) in queues.items() if name == topic.topic]
        assert topic.queues == len(own)
        assert topic.gini == pytest.approx(plain.plain_gini(own))
        assert topic.messages == sum(each.topic == topic.topic for each in everything)
    keys = {(row.topic, row.store, row.queue_id, row.key): (row.messages, row.bytes) for row in report.keys}
    expected = plain.plain_keys(truth)
    short = {where: sums for where, sums in expected.items() if len(where[3].encode()) <= 200}
    assert {where: sums for where, sums in keys.items() if "bytes, " not in str(where[3])} == short
    assert len(keys) == len(expected)
    for row in report.queues:
        of_keys = [
            number for (*where, _), (number, _) in expected.items() if where == [row.topic, row.store, row.queue_id]
        ]
        assert row.key_lanes == (round(row.messages / max(of_keys), 1) if of_keys else None)
    assert {(row.topic, row.born_host): row.messages for row in report.producers} == plain.by_host(everything)
    sizes = Counter((each.topic, 1 << len(each.body).bit_length() >> 1) for each in everything)
    assert {(row.topic, row.from_bytes): row.messages for row in report.sizes} == sizes
    assert all(row.missed_messages_most == 0 for row in report.keys)


@pytest.mark.parametrize("queues", [3, 8])
def test_a_what_if_moves_what_the_selector_would(two_stores: list[Path], engine: Engine, queues: int) -> None:
    store = two_stores[0]
    messages = [each for each in plain.messages_of(store) if each.topic == "Orders"]
    what_if = skew.WhatIf(queues, Selector.HASH)
    report = skew.skew(engine, Selection((str(store),), topics=("Orders",)), top=10_000, what_if=what_if)
    (row,) = report.resharded
    keyed = [(each, key) for each in messages if (key := plain.key_of(each)) is not None]
    then = [plain.java_selected(key, queues) for _, key in keyed]
    spread = [then.count(queue) for queue in range(queues)]
    assert (row.unkeyed_messages, row.messages) == (len(messages) - len(keyed), len(messages))
    assert row.moved_messages == sum(each.queue_id != new for (each, _), new in zip(keyed, then, strict=True))
    assert row.gini_then == pytest.approx(plain.plain_gini(spread))
    assert row.max_over_mean_then == pytest.approx(max(spread) * queues / sum(spread))
    for shown in report.keys:
        if shown.key is not None and len(shown.key) < 100:
            assert shown.new_queue == plain.java_selected(shown.key, queues)


@pytest.mark.parametrize("kept", [1, 5])
def test_keys_that_were_dropped_are_missed_by_no_more_than_is_said(
    two_stores: list[Path], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "KEEP_ALL", 0)
    truth = plain.plain_keys({str(store): plain.messages_of(store) for store in two_stores})
    report = skew.skew(PlainEngine(), Selection(tuple(map(str, two_stores))), top=10_000, kept=kept)
    shown = [row for row in report.keys if row.key is not None and len(row.key) < 100]
    assert any(row.missed_messages_most for row in shown)
    for row in shown:
        number, _ = truth[(row.topic, row.store, row.queue_id, str(row.key))]
        assert row.messages <= number <= row.messages + row.missed_messages_most


def test_order_equals_the_slow_reference(stores: list[Path], engine: Engine) -> None:
    truth = plain.plain_order(plain.sequences({str(store): plain.messages_of(store) for store in stores}))
    report = order.order(engine, Selection(tuple(map(str, stores))), top=20, bucket_ms=MINUTE_MS)
    names = ("messages", "keys", "moved_keys", "moves", "inversions")
    got = {row.topic: {name: asdict(row)[name] for name in names} for row in report.topics}
    assert got == {topic: {name: sums.get(name, 0) for name in names} for topic, sums in truth.items()}
    for name in ("moves", "inversions"):
        assert sum(asdict(row)[name] for row in report.periods) == sum(sums.get(name, 0) for sums in truth.values())


def test_a_change_of_the_queue_count_explains_the_moves(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number in range(400):
        key, queues = f"order-{number % 40}", 4 if number < 200 else 6
        builder.append(
            message(
                "Orders",
                plain.java_selected(key, queues),
                properties={"KEYS": key},
                store_time_ms=1_795_218_000_000 + number * 1_000,
            )
        )
    store = builder.write(tmp_path / "store")
    report = order.order(engine, Selection((str(store),)), top=5, bucket_ms=MINUTE_MS)
    (topic,) = report.topics
    moved = sum(plain.java_selected(f"order-{n}", 4) != plain.java_selected(f"order-{n}", 6) for n in range(40))
    assert (topic.moves, topic.moved_keys, topic.explained_moves) == (moved, moved, moved)
    assert (topic.queues_before, topic.queues_after) == (4, 6)
    (period,) = report.periods
    assert (period.queues_in_use_before, period.queues_in_use_after) == (4, 6)
    assert period.begin_ms <= 1_795_218_000_000 + 200_000 < period.end_ms


def test_as_many_keys_are_shown_as_were_asked_for(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number in range(120):
        builder.append(message("Orders", number // 60, properties={"KEYS": f"k{number % 60:02}"}))
    wanted = Selection((str(builder.write(tmp_path / "store")),))
    for top in (3, 50):
        moved = order.order(engine, wanted, top=top, bucket_ms=MINUTE_MS)
        copied = duplicates.duplicates(engine, wanted, top=top, bucket_ms=MINUTE_MS)
        assert [row.key for row in moved.keys] == [f"k{number:02}" for number in range(top)]
        assert [(row.key, row.messages) for row in copied.keys] == [(f"k{number:02}", 2) for number in range(top)]


def test_what_mqctl_sent_itself_says_nothing_about_producers(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    marks: tuple[dict[str, str], ...] = ({}, {RESENT_FROM: "letter"}, {REPLAY_ID: "20261121-1"}, {PROBE: "1"})
    for number, mark in enumerate(mark for mark in marks for _ in range(5)):
        properties = {"KEYS": f"order-{number % 5}", "UNIQ_KEY": f"U{number % 5}", **mark}
        builder.append(message("Orders", number // 5, properties=properties, store_time_ms=1_795_218_000_000 + number))
    wanted = Selection((str(builder.write(tmp_path / "store")),))
    ordered = order.order(engine, wanted, top=5, bucket_ms=MINUTE_MS)
    again = duplicates.duplicates(engine, wanted, top=5, bucket_ms=MINUTE_MS)
    assert [(row.messages, row.moves) for row in ordered.topics] == [(5, 0)]
    assert [(row.messages, row.copies) for row in again.topics] == [(5, 0)] * 2
    for name, report in (("order", ordered), ("duplicates", again)):
        assert report.own_messages == 15
        (said,) = findings(name, report)
        assert said.startswith("Left out: 15 messages that mqctl itself sent")


def test_duplicates_equal_the_slow_reference(stores: list[Path], engine: Engine) -> None:
    messages = {str(store): plain.messages_of(store) for store in stores}
    report = duplicates.duplicates(engine, Selection(tuple(map(str, stores))), top=20, bucket_ms=MINUTE_MS)
    names = ("messages", "keys", "repeated_keys", "copies", "same_host_copies")
    for by, name in (("unique key", UNIQ_KEY), ("business key", "")):
        tracks = plain.sequences(messages, name)
        truth = plain.plain_duplicates(tracks)
        got = {row.topic: {name: asdict(row)[name] for name in names} for row in report.topics if row.by == by}
        assert got == {topic: {name: sums.get(name, 0) for name in names} for topic, sums in truth.items()}
        copies = sum(sums.get("copies", 0) for sums in truth.values())
        for part in (report.windows, report.producers, report.gaps):
            assert sum(row.copies for row in part if row.by == by) == copies
        for row in report.keys:
            if row.by == by and len(row.key) < 100:
                own = tracks[(row.topic, row.key)]
                times = [each.store_time_ms for _, each in own]
                assert (row.messages, row.oldest_ms, row.newest_ms) == (len(own), min(times), max(times))


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), max_size=40), max_size=30))
def test_any_text_as_key_is_told_apart(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    builder = StoreBuilder()
    for text in [*texts, *texts[:3]]:
        builder.append(message("T", 0, properties={"KEYS": text, "UNIQ_KEY": "u"}))
    if not builder.messages:
        return
    store = builder.write(tmp_path_factory.mktemp("keys"))
    truth = plain.plain_keys({str(store): builder.messages})
    report = skew.skew(PlainEngine(), Selection((str(store),)), top=1_000)
    assert {(r.topic, r.store, r.queue_id, r.key): (r.messages, r.bytes) for r in report.keys} == truth
