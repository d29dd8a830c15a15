"""Tags, capacity, retries, delay levels and transactions against slow references, with and without Spark."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo, Subscription
from mqctl.model.message import Message
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.half_messages import ended_offsets
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.spark.engines import Engine
from mqctl.spark.reports import capacity, delay, retries, tags, transactions
from mqctl.spark.selection import Bounds, Selection
from tests.spark.plain_reports import messages_of
from tests.store.builder import StoreBuilder, message

pytestmark = [pytest.mark.spark]
Store = Callable[[str], Path]
STORES = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]
START_MS = 1_795_218_000_000


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, golden_store: Store) -> Path:
    return golden_store(request.param)


def wanted(*stores: Path, **more: object) -> Selection:
    return replace(Selection(tuple(map(str, stores))), **more)  # type: ignore[arg-type]


def test_tags_equal_the_slow_reference(store: Path, engine: Engine) -> None:
    truth = Counter((each.topic, each.queue_id, each.tags) for each in messages_of(store))
    report = tags.tags(engine, wanted(store))
    assert {(row.topic, row.queue_id, row.tag): row.messages for row in report.queues} == truth
    by_topic: Counter[tuple[str, str | None]] = Counter()
    for (topic, _, tag), number in truth.items():
        by_topic[(topic, tag)] += number
    assert {(row.topic, row.tag): row.messages for row in report.topics} == by_topic


@pytest.mark.parametrize("since", [0, 1])
def test_a_range_of_store_times_counts_what_lies_inside(store: Path, engine: Engine, since: int) -> None:
    times = sorted(each.store_time_ms for each in messages_of(store))
    low, high = times[len(times) // 4], times[len(times) // 2]
    bounds = Bounds(low, high) if since else Bounds(high=low)
    report = tags.tags(engine, wanted(store, store_time_ms=bounds))
    expected = sum(bounds.low <= time < bounds.high for time in times)
    assert sum(row.messages for row in report.topics) == expected


def test_what_members_that_differ_lose_is_counted(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number in range(300):
        builder.append(message("Orders", number % 3, properties={"TAGS": "paid" if number % 5 else "void"}))
    store = builder.write(tmp_path / "store")
    both = Subscription(topic="Orders", expression="paid || void", tags=("paid", "void"), version_ms=2)
    one = Subscription(topic="Orders", expression="paid", tags=("paid",), version_ms=1)

    def member(client: str, wants: Subscription, *queues: int) -> RunningInfo:
        held = tuple(HeldQueue(queue=MessageQueue("Orders", "broker-a", queue), commit_offset=0) for queue in queues)
        return RunningInfo(group="billing", client_id=client, subscriptions=(wants,), queues=held)

    membership = GroupMembership(group="billing", client_ids=("a", "b"), subscriptions=(both,))
    snapshot = ClusterSnapshot(
        origin=Origin(kind=OriginKind.STORE, location="x", observed_at_ms=0, observed_from=ObservedFrom.GIVEN),
        brokers=(BrokerSnapshot(name="broker-a", memberships=(membership,)),),
        running=(member("a", both, 0, 1), member("b", one, 2)),
    )
    report = tags.tags(engine, wanted(store), snapshot=snapshot, brokers={str(store): "broker-a"})
    (lost,) = report.lost
    in_queue_2 = sum(each.queue_id == 2 and each.tags == "void" for each in builder.messages)
    assert (lost.group, lost.tag, lost.messages, lost.lost_messages) == ("billing", "void", 60, in_queue_2)
    assert lost.queues == "broker-a/2: b"


def test_capacity_equals_the_slow_reference(store: Path, engine: Engine) -> None:
    messages = messages_of(store, system=True)
    report = capacity.capacity(engine, wanted(store), bucket_ms=60_000)
    buckets = Counter(each.store_time_ms // 60_000 * 60_000 for each in messages)
    assert {row.time_ms: row.messages for row in report.buckets} == buckets
    sizes = Counter(dict.fromkeys({each.topic for each in messages}, 0))
    for each in messages:
        sizes[each.topic] += each.size_bytes
    assert {row.topic: row.bytes for row in report.topics} == sizes
    (row,) = report.stores
    times = [each.store_time_ms for each in messages]
    span = max(times) - min(times)
    assert (row.first_ms, row.last_ms) == (min(times), max(times))
    assert row.bytes_per_day == pytest.approx(sum(sizes.values()) * 86_400_000 / span)
    assert row.peak_messages_per_second == pytest.approx(max(buckets.values()) / 60)
    assert row.kept_hours == pytest.approx(span / 3_600_000)
    room = os.statvfs(store)
    assert row.disk_bytes == room.f_blocks * room.f_frsize
    assert row.free_bytes is not None
    used = 1 - row.free_bytes / (room.f_blocks * room.f_frsize)
    assert (row.hours_to_75 == 0) == (used >= 0.75)


def failed(topic: str, times: int, stored_ms: int, error: str) -> Message:
    return replace(message(topic, 0, properties={"WHY": error}, store_time_ms=stored_ms), reconsume_times=times)


def test_retries_tell_how_far_messages_came(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number in range(10):  # ten fail, six again, four a third time, of which three die
        for attempt in range(1, 2 + (number < 6) + (number < 4)):
            builder.append(failed("%RETRY%billing", attempt, START_MS + attempt * 60_000, f"e{attempt}"))
        if number < 3:
            builder.append(failed("%DLQ%billing", 4, START_MS + 300_000, "dead"))
    builder.append(failed("%RETRY%other", 1, START_MS, "x"))
    builder.append(message("Orders", 0, store_time_ms=START_MS))
    store = builder.write(tmp_path / "store")
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"%RETRY%billing@billing":{0:13}}}')
    report = retries.retries(engine, wanted(store, groups=("billing",)), bucket_ms=60_000, error_property="WHY")
    (group,) = report.groups
    assert (group.retries, group.first_retries, group.dead, group.most_attempts, group.waiting) == (20, 10, 3, 4, 7)
    assert (group.delayed, group.first_due_ms, report.delayed, report.unread) == (0, None, [], [])
    assert [(row.attempt, row.retried, row.dead, row.ended) for row in report.attempts] == [
        (1, 10, 0, 4),
        (2, 6, 0, 2),
        (3, 4, 0, 1),
        (4, 0, 3, 0),
    ]
    assert [(row.time_ms - START_MS // 60_000 * 60_000, row.retries, row.dead) for row in report.flow] == [
        (60_000, 10, 0),
        (120_000, 6, 0),
        (180_000, 4, 0),
        (300_000, 0, 3),
    ]
    assert {row.value: row.messages for row in report.errors} == {"e1": 10, "e2": 6, "e3": 4, "dead": 3}


def test_recorded_retries_equal_the_slow_reference(store: Path, engine: Engine) -> None:
    truth: dict[str, Counter[int]] = defaultdict(Counter)
    for each in messages_of(store):
        if each.topic.startswith("%RETRY%"):
            truth[each.topic.removeprefix("%RETRY%")][each.reconsume_times] += 1
    report = retries.retries(engine, wanted(store), bucket_ms=60_000)
    got = {row.group: row.retries for row in report.groups if row.retries}
    assert got == {group: sum(own.values()) for group, own in truth.items()}
    assert {(row.group, row.attempt): row.retried for row in report.attempts if row.retried} == {
        (group, attempt): number for group, own in truth.items() for attempt, number in own.items()
    }


def sent_back(builder: StoreBuilder, real_topic: str, attempt: int, stored_ms: int, level: int | None = None) -> int:
    """Puts a failed message on its delay level, as a broker does, and returns when it is due."""
    level = level or 2 + attempt
    due_ms = stored_ms + 1_000 * (1, 5, 10, 30, 60, 120)[level - 1]
    properties = {"REAL_TOPIC": real_topic, "REAL_QID": "0", "DELAY": str(level)}
    item = message("SCHEDULE_TOPIC_XXXX", level - 1, properties=properties, store_time_ms=stored_ms)
    stored = builder.append(replace(item, reconsume_times=attempt))
    builder.entries[(item.topic, level - 1)][-1] = (stored.physical_offset, stored.size_bytes, due_ms)
    return due_ms


def test_retries_on_delay_levels_are_told_with_when_they_come_back(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    due: dict[tuple[str, int], list[int]] = defaultdict(list)
    for attempt, failures, back in ((1, 30, 20), (2, 8, 3)):  # of 20 that came back, 8 fail again
        for number in range(failures):
            at = sent_back(builder, "%RETRY%billing", attempt, START_MS + (attempt * 40 + number) * 1_000)
            if number < back:
                builder.append(failed("%RETRY%billing", attempt, at, "e"))
            else:
                due[("billing", attempt)].append(at)
    for number in range(3):  # a consumer that asked for another level than its turn, and a group that has nothing else
        due[("ledger", 7)].append(sent_back(builder, "%RETRY%ledger", 7, START_MS + number, level=3))
    sent_back(builder, "Orders", 0, START_MS, level=3)  # a delayed message, no retry
    sent_back(builder, "%DLQ%billing", 0, START_MS, level=3)
    store = builder.write(tmp_path / "store")
    (store / "config" / "delayOffset.json").write_text('{"offsetTable":{3:20,4:3}}')
    report = retries.retries(engine, wanted(store), bucket_ms=60_000)
    assert {
        (row.group, row.attempt, row.level): (row.messages, row.first_due_ms, row.last_due_ms) for row in report.delayed
    } == {
        (group, attempt, 3 if group == "ledger" else attempt + 2): (len(times), min(times), max(times))
        for (group, attempt), times in due.items()
    }
    billing, ledger = report.groups
    every = [*due[("billing", 1)], *due[("billing", 2)]]
    assert (billing.group, billing.retries, billing.delayed) == ("billing", 23, 15)
    assert (billing.first_due_ms, billing.last_due_ms) == (min(every), max(every))
    assert billing.first_retries == 30  # those that came back and those that will
    assert (ledger.group, ledger.retries, ledger.delayed, ledger.most_attempts) == ("ledger", 0, 3, 7)
    assert [
        (row.attempt, row.retried, row.delayed, row.ended) for row in report.attempts if row.group == "billing"
    ] == [
        (1, 20, 10, 20 - 8),
        (2, 3, 5, 3),
    ]
    only = retries.retries(engine, wanted(store, groups=("ledger",)), bucket_ms=60_000)
    assert [row.group for row in only.groups] == ["ledger"]
    assert [row.messages for row in only.delayed] == [3]
    later = wanted(store, groups=("ledger",), store_time_ms=Bounds(low=START_MS + 2))
    assert [row.messages for row in retries.retries(engine, later, bucket_ms=60_000).delayed] == [1]


def test_two_stores_tell_retries_of_one_group_together(tmp_path: Path, engine: Engine) -> None:
    stores, due = [], []
    for name, late_ms in (("a", 0), ("b", 5_000)):
        builder = StoreBuilder()
        due += [sent_back(builder, "%RETRY%billing", 1, START_MS + late_ms + number) for number in range(4)]
        stores.append(builder.write(tmp_path / name))
    (row,) = retries.retries(engine, wanted(*stores), bucket_ms=60_000).delayed
    assert (row.messages, row.first_due_ms, row.last_due_ms) == (8, min(due), max(due))


@pytest.mark.parametrize("name", ["store-clean", "store-5.3.3"])
@pytest.mark.parametrize("next_offset", [0, 1, None])
def test_recorded_retries_on_delay_levels_equal_the_slow_reference(
    store_copy: Store, name: str, next_offset: int | None, engine: Engine
) -> None:
    store = store_copy(name)  # as if the levels had not come that far
    following = {} if next_offset is None else dict.fromkeys(range(1, 19), next_offset)
    table = ",".join(f"{level}:{offset}" for level, offset in following.items())
    (store / "config" / "delayOffset.json").write_text(f'{{"offsetTable":{{{table}}}}}')
    truth: Counter[tuple[str, int, int]] = Counter()
    for each in messages_of(store, system=True):
        real = each.properties.get("REAL_TOPIC", "")
        if each.topic == "SCHEDULE_TOPIC_XXXX" and real.startswith("%RETRY%"):
            level = each.queue_id + 1
            if each.queue_offset >= following.get(level, 0):
                truth[(real.removeprefix("%RETRY%"), each.reconsume_times, level)] += 1
    assert truth
    report = retries.retries(engine, wanted(store), bucket_ms=60_000)
    assert {(row.group, row.attempt, row.level): row.messages for row in report.delayed} == truth


@pytest.mark.parametrize("later_ms", [0, 3_600_000])
def test_delay_levels_equal_what_store_commands_say(store: Path, engine: Engine, later_ms: int) -> None:
    newest = max(each.store_time_ms for each in messages_of(store, system=True))
    report = delay.delay(engine, wanted(store), at_ms=newest + later_ms if later_ms else None, bucket_ms=60_000)
    assert report.at_ms == newest + later_ms
    (broker,) = gather_store(store, at_ms=report.at_ms, levels=None, broker_name=None, deep=False).brokers
    assert broker.delay is not None
    truth = {each.level: each for each in broker.delay.levels if each.queue and each.queue.max_offset}
    assert {row.level for row in report.levels if row.max_offset} == truth.keys()
    for row in report.levels:
        queue = truth[row.level].queue if row.level in truth else None
        if queue is not None:
            assert (row.next_offset, row.max_offset) == (truth[row.level].recorded_offset, queue.max_offset)
            assert (row.waiting, row.overdue, row.not_due) == (
                queue.waiting_count,
                queue.overdue_count,
                queue.not_due_count,
            )
            assert row.head_due_ms == queue.head_due_time_ms


def test_an_overdue_level_is_found_by_topic(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    items = [
        message(
            "SCHEDULE_TOPIC_XXXX",
            2,
            properties={"REAL_TOPIC": "Orders" if number % 3 else "Payments", "REAL_QID": "0", "DELAY": "3"},
            store_time_ms=START_MS + number * 1_000,
        )
        for number in range(60)
    ]
    for item in items:
        stored = builder.append(item)
        builder.entries[(item.topic, 2)][-1] = (stored.physical_offset, stored.size_bytes, item.store_time_ms + 10_000)
    for item in items[:5]:
        real, delivered_ms = item.properties["REAL_TOPIC"], item.store_time_ms + 10_000
        builder.append(replace(item, topic=real, queue_id=0, store_time_ms=delivered_ms, properties={}))
    builder.append(message("Orders", 0, store_time_ms=START_MS + 45_000))
    store = builder.write(tmp_path / "store")
    (store / "config" / "delayOffset.json").write_text('{"offsetTable":{3:5}}')
    for topic, chosen in (("Orders", lambda n: n % 3 != 0), ("Payments", lambda n: n % 3 == 0), (None, lambda n: True)):
        report = delay.delay(
            engine, wanted(store, topics=(topic,) if topic else ()), at_ms=START_MS + 45_000, bucket_ms=60_000
        )
        (row,) = report.levels
        late = [n for n in range(5, 60) if chosen(n) and n * 1_000 + 10_000 + 2_000 < 45_000]
        assert (row.level, row.overdue, row.missing, row.offset_state) == (3, len(late), 0, "ok")
        assert row.first_overdue_ms == START_MS + late[0] * 1_000 + 10_000
        assert row.waiting == sum(chosen(n) for n in range(5, 60)) == sum(due.waiting for due in report.due)


def test_transactions_equal_what_store_commands_say(store: Path, engine: Engine) -> None:
    report = transactions.transactions(engine, wanted(store), top=50)
    (broker,) = gather_store(store, at_ms=None, levels=None, broker_name=None, deep=True).brokers
    if broker.transactions is None:
        assert report.groups == []
        return
    pending = {each.unique_key: each.half_offset for each in broker.transactions.pending}
    assert sum(row.pending for row in report.groups) == len(pending)
    assert {row.unique_key: row.half_offset for row in report.pending} == pending
    halves = [each for each in messages_of(store, system=True) if each.topic == "RMQ_SYS_TRANS_HALF_TOPIC"]
    assert sum(row.transactions for row in report.groups) == len({each.unique_key for each in halves})
    assert sum(row.ended for row in report.times) == sum(row.ended for row in report.groups)
    everything = messages_of(store, system=True)
    made_of = {each.prepared_transaction_offset for each in everything if each.sys_flag & 0xC == 0x8}
    ended = ended_offsets(each for each in everything if each.topic == "RMQ_SYS_TRANS_OP_HALF_TOPIC")
    copies: dict[str | None, list[Message]] = defaultdict(list)
    for each in halves:
        copies[each.unique_key].append(each)
    over = [own for own in copies.values() if ended & {each.queue_offset for each in own}]
    committed = sum(bool(made_of & {each.physical_offset for each in own}) for own in over)
    assert sum(row.committed for row in report.groups) == committed == broker.transactions.committed_count
    assert (
        sum(row.rolled_back for row in report.groups) == len(over) - committed == broker.transactions.rolled_back_count
    )
    assert sum(row.unknown for row in report.groups) == 0
    for kind in ("ended", "committed", "rolled_back"):
        assert sum(getattr(row, kind) for row in report.times) == sum(getattr(row, kind) for row in report.groups)


def test_commits_and_rollbacks_are_told_apart_with_their_times(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number, topic in enumerate(("Orders", "Orders", "Orders", "Elsewhere")):
        properties = {"PGROUP": "makers", "REAL_TOPIC": topic, "UNIQ_KEY": f"U{number}"}
        builder.append(message("RMQ_SYS_TRANS_HALF_TOPIC", 0, properties=properties, store_time_ms=START_MS))
    half = builder.messages[1].physical_offset
    made = replace(message("Orders", 2, store_time_ms=START_MS + 400), sys_flag=8, prepared_transaction_offset=half)
    builder.append(made)
    builder.append(replace(message("Orders", 1), prepared_transaction_offset=builder.messages[0].physical_offset))
    for body, after in ((b"1", 500), (b"0,2,", 3_000), (b"3", 9_000)):
        builder.append(message("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, body, {"TAGS": "d"}, store_time_ms=START_MS + after))
    report = transactions.transactions(engine, wanted(builder.write(tmp_path / "store")), top=2)
    by_topic = {row.topic: row for row in report.groups}
    orders, elsewhere = by_topic["Orders"], by_topic["Elsewhere"]
    assert (orders.ended, orders.committed, orders.rolled_back, orders.unknown) == (3, 1, 2, 0)
    assert (orders.mean_commit_ms, orders.mean_rollback_ms) == (500, 3_000)
    assert (elsewhere.ended, elsewhere.committed, elsewhere.rolled_back, elsewhere.unknown) == (1, 0, 0, 1)
    assert [(row.from_ms, row.committed, row.rolled_back) for row in report.times] == [
        (256, 1, 0), (2_048, 0, 2), (8_192, 0, 0),
    ]  # fmt: skip


def test_times_to_an_end_are_those_of_half_and_op(tmp_path: Path, engine: Engine) -> None:
    builder = StoreBuilder()
    for number in range(8):
        properties = {"PGROUP": "makers", "REAL_TOPIC": "Orders", "UNIQ_KEY": f"U{number}"}
        builder.append(message("RMQ_SYS_TRANS_HALF_TOPIC", 0, properties=properties, store_time_ms=START_MS + number))
    copy = {"PGROUP": "makers", "REAL_TOPIC": "Orders", "UNIQ_KEY": "U7", "TRAN_PREPARED_QUEUE_OFFSET": "7"}
    builder.append(message("RMQ_SYS_TRANS_HALF_TOPIC", 0, properties=copy, store_time_ms=START_MS + 60_000))
    for body, after in ((b"0", 100), (b"1,2,", 2_000), (b"8", 70_000), (b"x9", 1)):
        op = message("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, body, {"TAGS": "d"}, store_time_ms=START_MS + after)
        builder.append(op)
    report = transactions.transactions(engine, wanted(builder.write(tmp_path / "store")), top=2)
    (group,) = report.groups
    assert (group.transactions, group.ended, group.pending, group.oldest_pending_ms) == (8, 4, 4, START_MS + 3)
    took = [100, 1_999, 1_998, 69_993]
    assert group.mean_resolution_ms == pytest.approx(sum(took) / 4)
    assert group.longest_ms == 69_993
    assert {row.from_ms: row.ended for row in report.times} == {64: 1, 1_024: 2, 65_536: 1}
    assert [row.unique_key for row in report.pending] == ["U3", "U4"]
