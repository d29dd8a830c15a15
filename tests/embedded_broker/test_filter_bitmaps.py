"""Extensions of consume queues with bit maps of SQL92 subscriptions: a real broker's bytes, and what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.clock import VirtualClock
from embedded_broker.consumers.sql_filters import SqlFilters
from embedded_broker.release import as_version
from embedded_broker.settings import BrokerSettings
from mqctl.client.admin.broker_changes import put_topic
from mqctl.filter.bloom import BloomShape, element, holds_all
from mqctl.model.config import TopicConfig
from mqctl.protocol.bodies_stats import ConsumeQueueData
from mqctl.protocol.declared import replaced
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_admin import QueryConsumeQueue
from mqctl.store.disk import Disk
from mqctl.store.ext_queue import ExtQueues, ExtUnit
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_sql_filters import sql_pull, subscribe
from tests.embedded_broker.wire import Peer
from tests.live.conftest import change

TOPIC = "TopicSql"
SETTINGS = {
    "enablePropertyFilter": "true", "enableConsumeQueueExt": "true", "enableCalcFilterBitMap": "true",
    "mappedFileSizeConsumeQueueExt": "512",
}  # fmt: skip


def test_our_bit_maps_are_those_of_a_real_broker(store_copy: Callable[[str], Path]) -> None:
    """Every message of the recorded topic, with the subscriptions that the recorded broker knew."""
    root = store_copy("store-clean")
    filters = SqlFilters(BrokerSettings(), as_version("4.9.8"), VirtualClock(), root / "config")
    from mqctl.snapshot.store.reading import Reading
    from mqctl.store.directory import StoreDirectory

    reading, ext = Reading(StoreDirectory.open(root)), ExtQueues(f"{root}/consumequeue_ext", Disk())
    compared = 0
    for (topic, queue_id), bounds in reading.bounds.items():
        if topic != TOPIC:
            continue
        _, entries = reading.entries(bounds)
        for place, code in zip(entries["physical_offset"].tolist(), entries["tags_code"].tolist(), strict=True):
            unit = ext.unit(topic, queue_id, code)
            message = reading.store.commit_log.record_at(place)
            assert unit is not None
            assert unit.store_ms == message.store_time_ms
            if unit.bitmap:
                assert unit.bitmap == filters.bit_map(topic, format_properties(message.properties))
                compared += 1
    assert compared > 0
    filters.stop()


@pytest.fixture(params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, settings=SETTINGS) as running:
        change(running, "broker-a", put_topic(TopicConfig(name=TOPIC, read_queue_count=1, write_queue_count=1)))
        yield running


def units(cluster: EmbeddedCluster) -> list[ExtUnit]:
    def read(broker: object) -> list[ExtUnit]:
        storage = broker.storage  # type: ignore[attr-defined]
        bitmaps = [storage.ext.unit(TOPIC, 0, code) for _, _, code in storage.entries(TOPIC, 0, 0, 999)]
        assert all(unit is not None for unit in bitmaps)
        return bitmaps

    return cluster.broker().on_loop(read)


def fill(peer: Peer, count: int) -> None:
    for number in range(count):
        answer = peer.call(send(TOPIC, properties={"a": str(number), "TAGS": "T"}), b"%d" % number)
        assert answer.code == 0


def pulled(peer: Peer, group: str = "GC_sql") -> list[bytes]:
    bodies: list[bytes] = []
    offset = 0
    while (answer := peer.call(replaced(sql_pull(offset), consumer_group=group))).code in (0, 20):
        bodies += [message.body for message in decode_messages(answer.body)] if answer.code == 0 else []
        offset = int(answer.ext("nextBeginOffset") or 0)
    return bodies


def test_messages_that_match_have_the_bits_and_only_they_are_delivered(
    cluster: EmbeddedCluster, mqctl: Callable[..., Outcome]
) -> None:
    with Peer(cluster.broker().address) as peer:
        fill(peer, 3)
        subscribe(peer, "a > 20")
        positions = BloomShape.of().positions(element("GC_sql", TOPIC))
        fill(peer, 40)
        bitmaps = units(cluster)
        assert [unit.bitmap for unit in bitmaps[:3]] == [b""] * 3, "nobody had subscribed yet"
        assert [holds_all(unit.bitmap, positions) for unit in bitmaps[3:]] == [number > 20 for number in range(40)]
        assert pulled(peer) == [b"%d" % number for number in range(21, 40)]
        assert [message.tags for message in decode_messages(peer.call(pull(TOPIC, 0)).body)] == ["T"] * 32
    root = cluster.broker().store
    assert len(list((root / "consumequeue_ext" / TOPIC / "0").iterdir())) > 2
    cluster.broker().stop()
    assert mqctl("store", "verify", "--store", root).exit_code == 0
    cluster.broker().start()
    with Peer(cluster.broker().address) as peer:
        subscribe(peer, "a > 20")
        fill(peer, 25)
        assert len(pulled(peer)) == 19 + 4
        assert len(units(cluster)) == 3 + 40 + 25
    cluster.broker().stop()
    assert mqctl("store", "verify", "--store", root).exit_code == 0


def test_a_false_hit_is_caught_by_the_message_itself() -> None:
    """Eight bits and one hash: two groups share their bit, and get their own messages all the same."""
    shape = BloomShape.of(99, 1)
    names = [f"GC_{number}" for number in range(200)]
    first = names[0]
    mine = shape.positions(element(first, TOPIC))
    other = next(name for name in names[1:] if shape.positions(element(name, TOPIC)) == mine)
    small = {"maxErrorRateOfBloomFilter": "99", "expectConsumerNumUseFilter": "1"}
    with EmbeddedCluster(settings={**SETTINGS, **small}) as cluster:
        change(cluster, "broker-a", put_topic(TopicConfig(name=TOPIC, read_queue_count=1, write_queue_count=1)))
        with Peer(cluster.broker().address) as one, Peer(cluster.broker().address) as two:
            subscribe(one, "a < 3", group=first)
            subscribe(two, "a > 6", group=other)
            fill(one, 10)
            assert [holds_all(unit.bitmap, mine) for unit in units(cluster)] == [
                number < 3 or number > 6 for number in range(10)
            ]
            assert pulled(one, first) == [b"0", b"1", b"2"]
            assert pulled(two, other) == [b"7", b"8", b"9"]


def test_after_a_kill_units_and_entries_belong_together(
    cluster: EmbeddedCluster, mqctl: Callable[..., Outcome]
) -> None:
    for turn in range(3):
        with Peer(cluster.broker().address) as peer:
            subscribe(peer, "a > 20", version=turn + 1)
            fill(peer, 30)
        cluster.broker().kill()
        cluster.broker().start()
    with Peer(cluster.broker().address) as peer:
        subscribe(peer, "a > 20", version=9)
        assert len(pulled(peer)) == 3 * 9
    stored = cluster.broker().on_loop(
        lambda broker: [decode_message(broker.storage.message_at(at) or b"").store_time_ms
                        for at, _, _ in broker.storage.entries(TOPIC, 0, 0, 999)]
    )  # fmt: skip
    assert [unit.store_ms for unit in units(cluster)] == stored
    cluster.broker().stop()
    assert mqctl("store", "verify", "--store", cluster.broker().store).exit_code == 0


def test_delayed_messages_are_due_by_their_unit() -> None:
    with EmbeddedCluster(virtual_time=True, settings=SETTINGS) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(send("T", properties={"DELAY": "3"}), b"later").code == 0
        ((_, _, code),) = cluster.broker().on_loop(lambda b: b.storage.entries("SCHEDULE_TOPIC_XXXX", 2, 0, 9))
        assert code <= EXT_ADDRESS_LIMIT
        cluster.advance(9_000)
        assert peer.call(pull("T", 0)).code != 0
        cluster.advance(2_000)
        assert [message.body for message in decode_messages(peer.call(pull("T", 0)).body)] == [b"later"]


def test_a_look_at_raw_entries_shows_their_units_in_a_real_brokers_words(cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker().address) as peer:
        fill(peer, 1)
        subscribe(peer, "a > 20")
        fill(peer, 1)
        request = QueryConsumeQueue(topic=TOPIC, queue_id=0, index=0, count=9)
        plain, mapped = ConsumeQueueData.from_bytes(peer.call(request).body).queue_data
    first, second = units(cluster)
    assert plain.extend_data_json == f'{{"msgStoreTime":{first.store_ms},"size":20,"tagsCode":{first.tags_code}}}'
    assert mapped.extend_data_json == (
        f'{{"filterBitMap":"AAAAAAAAAAAAAAAAAAA=","msgStoreTime":{second.store_ms},"size":34,'
        f'"tagsCode":{second.tags_code}}}'
    )


def test_delay_levels_are_read_live_through_units(mqctl: Callable[..., Outcome]) -> None:
    with EmbeddedCluster(virtual_time=True, settings=SETTINGS) as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(3):
            assert peer.call(send("T", properties={"DELAY": "18"}), b"later").code == 0
        live = mqctl("delay", "check", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv})
        (row,) = [row for row in live.json["levels"] if row["max_offset"]]
        assert (live.exit_code, row["waiting_count"], row["overdue_count"]) == (0, 3, 0)
        assert 0 <= row["head_due_time_ms"] - cluster.now_ms() - 7_200_000 + 60_000 <= 120_000
