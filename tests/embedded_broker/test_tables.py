"""Topics, groups, consumer offsets and their files by hand: what is there, what changes, what a version counts."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_broker.clock import VirtualClock
from embedded_broker.consumers.offsets import MOST_OFFSETS, ConsumerOffsets
from embedded_broker.release import as_version
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.attributes import TOPIC_ATTRIBUTES, AttributeRefused, altered, changes_of, check_served
from embedded_broker.tables.config_file import write_config
from embedded_broker.tables.groups import GroupTable
from embedded_broker.tables.persistence import ConfigFile
from embedded_broker.tables.topics import TopicTable, unit_flags
from mqctl.errors import RefusedError, StorageError
from mqctl.model.config import MOST_QUEUES, DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable
from tests.each import each

START_MS = 1_700_000_000_000
BUILT_IN_49 = {
    "SELF_TEST_TOPIC": (1, 6), "BenchmarkTest": (1024, 6), "TBW102": (8, 7), "C": (16, 7), "B": (1, 7),
    "OFFSET_MOVED_EVENT": (1, 6), "SCHEDULE_TOPIC_XXXX": (18, 6), "C_REPLY_TOPIC": (1, 6),
}  # fmt: skip
BUILT_IN_53 = {
    **BUILT_IN_49, "RMQ_SYS_TRANS_HALF_TOPIC": (1, 6), "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 6),
    "TRANS_CHECK_MAX_TIME_TOPIC": (1, 6), "rmq_sys_wheel_timer": (1, 6), "DefaultHeartBeatSyncerTopic": (1, 6),
    "rmq_sys_REVIVE_LOG_C": (8, 6), "rmq_sys_SYNC_BROKER_MEMBER_B": (1, 1),
}  # fmt: skip
GROUPS_49 = {
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER",
}  # fmt: skip


class Side:
    """The tables of a broker B of cluster C, whose clock is moved by hand."""

    def __init__(self, directory: Path, version: str = "4.9.8", **changes: Any) -> None:
        self.directory, self.version, self.changes = directory, version, changes
        self.clock = VirtualClock(START_MS)
        self.settings = BrokerSettings(broker_name="B", broker_cluster_name="C", **changes)
        release = as_version(version)
        self.topics = TopicTable(self.settings, release, self.clock, directory)
        self.groups = GroupTable(self.settings, release, self.clock, directory)
        self.offsets = ConsumerOffsets(self.clock, directory, release)

    def again(self) -> Side:
        """Returns what a broker has that starts now."""
        return Side(self.directory, self.version, **self.changes)

    def topic(self, name: str, queues: int = 4, **changes: Any) -> TopicConfig:
        return TopicConfig(name=name, read_queue_count=queues, write_queue_count=queues, **{"perm": 6, **changes})


def fresh(directory: Path) -> Path:
    """Returns a directory of its own for one of many cases."""
    return Path(mkdtemp(dir=directory))


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(tmp_path)


# Topics


@each("version, changes, expected", [
    ("4.9.8", {}, BUILT_IN_49),
    ("5.3.3", {}, BUILT_IN_53),
    ("4.9.8", {"auto_create_topic_enable": False},
     {name: own for name, own in BUILT_IN_49.items() if name != "TBW102"}),
    ("4.9.8", {"default_topic_queue_nums": 3, "cluster_topic_enable": False, "broker_topic_enable": False},
     {**BUILT_IN_49, "TBW102": (3, 7), "C": (16, 1), "B": (1, 1)}),
    ("4.9.8", {"trace_topic_enable": True, "msg_trace_topic_name": "Traces"}, {**BUILT_IN_49, "Traces": (1, 6)}),
    ("4.9.8", {"message_delay_level": " ".join(f"{number}s" for number in range(1, 21))},
     {**BUILT_IN_49, "SCHEDULE_TOPIC_XXXX": (20, 6)}),
    ("4.9.8", {"message_delay_level": "1s 2s"}, BUILT_IN_49),
])  # fmt: skip
def test_the_topics_that_a_broker_begins_with(
    version: str, changes: dict[str, Any], expected: dict[str, tuple[int, int]], tmp_path: Path
) -> None:
    topics = Side(fresh(tmp_path), version, **changes).topics
    assert {name: (own.read_queue_count, own.perm) for name, own in topics.configs.items()} == expected
    assert all(own.read_queue_count == own.write_queue_count for own in topics.configs.values())
    absent = {"RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"}
    absent |= {"TRANS_CHECK_MAX_TIME_TOPIC", "TBW102", *({"CHECKPOINT_TOPIC"} if version == "5.3.3" else ())}
    assert topics.system == (expected.keys() | absent) - {"DefaultHeartBeatSyncerTopic"}


def test_each_change_is_counted_kept_and_told(side: Side) -> None:
    names: list[list[str]] = []
    side.topics.on_change(lambda configs: names.append([one.name for one in configs]))
    assert side.topics.version == DataVersion(0, START_MS)
    side.clock.advance(5)
    first = side.topic("T", perm=4)
    assert side.topics.put(first) == side.topics.find("T") == side.again().topics.find("T") == first
    assert side.topics.version == DataVersion(1, START_MS + 5) == side.again().topics.version
    second = replace(first, write_queue_count=2)
    side.topics.put(second)
    side.clock.advance(5)
    assert side.topics.delete("T") is True
    assert (side.topics.find("T"), side.again().topics.find("T")) == (None, None)
    assert side.topics.version == DataVersion(3, START_MS + 10) == side.again().topics.version
    assert side.topics.delete("T") is False
    assert (side.topics.version.counter, names) == (3, [["T"], ["T"]]), "deletions are told by no registration"
    side.topics.touch()
    assert side.again().topics.version == DataVersion(4, START_MS + 10)


@each("config, taken", [
    (TopicConfig(name="T", read_queue_count=MOST_QUEUES, write_queue_count=MOST_QUEUES, perm=6), True),
    (TopicConfig(name="T", read_queue_count=MOST_QUEUES + 1, write_queue_count=1, perm=6), False),
    (TopicConfig(name="T", read_queue_count=1, write_queue_count=MOST_QUEUES + 1, perm=6), False),
    (TopicConfig(name="a/b", read_queue_count=1, write_queue_count=1, perm=6), False),
    (TopicConfig(name="..", read_queue_count=1, write_queue_count=1, perm=6), False),
])  # fmt: skip
def test_which_topics_can_be_put(config: TopicConfig, taken: bool, tmp_path: Path) -> None:
    topics = Side(fresh(tmp_path)).topics
    if taken:
        assert topics.put(config) == config
    else:
        with pytest.raises(RefusedError):
            topics.put(config)
        assert (topics.find(config.name), topics.version.counter) == (None, 0)


@each("template, wanted, expected", [
    ("TBW102", 4, (4, 6)), ("TBW102", 8, (8, 6)), ("TBW102", 9, (8, 6)), ("TBW102", 0, (0, 6)), ("TBW102", -1, (0, 6)),
    ("Own", 9, (5, 4)), ("None", 4, None), ("Plain", 4, None),
])  # fmt: skip
def test_a_topic_inherits_from_its_template(
    template: str, wanted: int, expected: tuple[int, int] | None, tmp_path: Path
) -> None:
    side = Side(fresh(tmp_path))
    side.topics.configs["Own"] = TopicConfig(name="Own", read_queue_count=7, write_queue_count=5, perm=5)
    side.topics.configs["Plain"] = side.topic("Plain")
    made = side.topics.create_from_template("New", template, wanted, 2)
    assert made == side.topics.find("New")
    if expected is None:
        assert made is None
    else:
        assert made is not None
        assert (made.read_queue_count, made.perm, made.write_queue_count, made.sys_flag) == (*expected, expected[0], 2)


def test_a_template_that_is_switched_off_lets_nothing_inherit(tmp_path: Path) -> None:
    side = Side(tmp_path, auto_create_topic_enable=False)
    side.topics.configs["TBW102"] = side.topic("TBW102", 8, perm=7)
    assert side.topics.create_from_template("New", "TBW102", 4, 0) is None


def test_what_is_missing_is_created_once(side: Side) -> None:
    made = side.topics.find_or_create("%RETRY%G", 1, perm=6, sys_flag=2)
    assert (made.read_queue_count, made.write_queue_count, made.perm, made.sys_flag) == (1, 1, 6, 2)
    assert side.topics.find_or_create("%RETRY%G", 9) is side.topics.find("%RETRY%G") is made
    assert side.topics.version.counter == 1
    assert [unit_flags(unit=unit, retry=retry) for unit in (False, True) for retry in (False, True)] == [0, 0, 1, 2]


def test_light_queues_are_there_when_they_are_switched_on(tmp_path: Path) -> None:
    on, off = Side(fresh(tmp_path), enable_lmq=True), Side(fresh(tmp_path))
    light = on.topics.find("%LMQ%x")
    assert light is not None
    assert (light.name, light.read_queue_count, light.write_queue_count, light.perm) == ("%LMQ%x", 1, 1, 6)
    assert (on.topics.find("x"), off.topics.find("%LMQ%x")) == (None, None)
    assert on.groups.find("%LMQ%g") == SubscriptionGroupConfig(name="%LMQ%g")
    assert (on.groups.find("g"), off.groups.find("%LMQ%g")) == (None, None)


@each("version, orders, expected", [
    ("4.9.8", {"T": "B:4"}, ((True, False), 3)), ("4.9.8", {}, ((False, False), 3)),
    ("4.9.8", {"U": "B:4"}, ((False, True), 3)), ("4.9.8", {"T": "", "U": ""}, ((True, True), 3)),
    ("5.3.3", {}, ((True, False), 2)), ("5.3.3", {"U": "B:4"}, ((True, True), 3)),
])  # fmt: skip
def test_order_topics_are_those_that_name_servers_tell(
    version: str, orders: dict[str, str], expected: tuple[tuple[bool, bool], int], tmp_path: Path
) -> None:
    """T was one before; 4.9 takes that back, 5.x does not."""
    side = Side(fresh(tmp_path), version)
    side.topics.configs.update(T=side.topic("T", order=True), U=side.topic("U"))
    side.topics.version = DataVersion(2, START_MS)
    side.topics.update_orders(orders)
    seen = tuple(bool(side.topics.configs[name].order) for name in "TU")
    counter = side.topics.version.counter
    changed = seen != (True, False)
    assert (seen, counter) == (expected[0], 3 if changed else 2)
    assert side.topics.ordered == frozenset(orders)


def test_another_brokers_tables_are_taken_whole(side: Side) -> None:
    side.topics.put(side.topic("Old"))
    side.groups.put(SubscriptionGroupConfig(name="Old"))
    version = DataVersion(77, 5)
    side.topics.replace_all({"New": side.topic("New"), "a/b": side.topic("a/b")}, version)
    side.groups.replace_all({"New": SubscriptionGroupConfig(name="New")}, version)
    assert (list(side.topics.configs), side.topics.version) == (["New"], version)
    assert (list(side.groups.configs), side.groups.version) == (["New"], version)
    after = side.again()
    assert (after.topics.find("New"), after.topics.find("Old")) == (side.topic("New"), None)
    assert (after.groups.find("New"), after.groups.find("Old")) == (SubscriptionGroupConfig(name="New"), None)
    assert after.topics.version == after.groups.version == version


# Groups


@each("version, name, created", [
    ("4.9.8", "G", True), ("4.9.8", "a b", True), ("4.9.8", "x" * 256, True), ("5.3.3", "G", True),
    ("5.3.3", "x" * 255, True), ("5.3.3", "x" * 256, False), ("5.3.3", "a b", False), ("5.3.3", "%a|b-C_9", True),
    ("5.3.3", "a\n", False),
])  # fmt: skip
def test_which_groups_are_created_by_use(version: str, name: str, created: bool, tmp_path: Path) -> None:
    groups = Side(fresh(tmp_path), version).groups
    assert groups.find_or_create(name) == (SubscriptionGroupConfig(name=name) if created else None)
    assert (groups.find(name) is not None, groups.version.counter) == (created, int(created))
    groups.find_or_create(name)
    assert groups.version.counter == int(created)


def test_groups_that_a_broker_begins_with_and_which_it_creates_in_any_case(tmp_path: Path) -> None:
    closed = Side(tmp_path / "a", auto_create_subscription_group=False).groups
    assert closed.find_or_create("G") is None
    assert closed.find_or_create("CID_RMQ_SYS_X") is not None
    assert set(Side(tmp_path / "b").groups.configs) == GROUPS_49
    five = Side(tmp_path / "c", "5.3.3").groups
    assert set(five.configs) == GROUPS_49 | {"CID_RMQ_SYS_TRANS"}
    assert (five.table().forbidden_table, Side(tmp_path / "d").groups.table().forbidden_table) == ({}, None)


def test_each_change_of_a_group_is_counted_and_kept(side: Side) -> None:
    side.clock.advance(3)
    group = SubscriptionGroupConfig(name="G", consume_enable=False)
    assert side.groups.put(group) == group == side.again().groups.find("G")
    assert side.groups.version == DataVersion(1, START_MS + 3) == side.again().groups.version
    assert (side.groups.delete("G"), side.groups.delete("G")) == (True, False)
    assert (side.groups.find("G"), side.again().groups.find("G"), side.groups.version.counter) == (None, None, 2)


# Offsets


def test_offsets_are_of_a_group_a_topic_and_a_queue(side: Side) -> None:
    offsets = side.offsets
    offsets.commit("G", "T", 0, 5)
    offsets.commit("G", "T", 0, 3)
    offsets.commit("G", "T", 2, 7)
    offsets.commit("H", "T", 0, 9)
    offsets.commit("G", "U", 0, 1)
    assert [offsets.query("G", "T", number) for number in range(3)] == [3, -1, 7]
    assert (offsets.query("H", "T", 0), offsets.query("T", "G", 0), offsets.query("X", "T", 0)) == (9, -1, -1)
    assert (offsets.queues("G", "T"), offsets.queues("X", "T")) == ({0: 3, 2: 7}, {})
    assert (offsets.topics_of("G"), offsets.groups_of("T"), offsets.topics_of("X")) == (["T", "U"], ["G", "H"], [])
    assert side.again().offsets.query("G", "T", 2) == -1, "written with the next period"
    offsets.file.write()
    assert side.again().offsets.queues("G", "T") == {0: 3, 2: 7}
    offsets.forget_group("G")
    assert (offsets.topics_of("G"), offsets.query("H", "T", 0)) == ([], 9)
    offsets.forget_topic("T")
    assert offsets.groups_of("T") == []
    offsets.file.write()
    assert side.again().offsets.groups_of("T") == []


def test_a_reset_holds_until_the_next_pull_saw_it(side: Side) -> None:
    offsets = side.offsets
    offsets.commit("G", "T", 0, 5)
    offsets.reset("G", "T", 0, 2)
    assert (offsets.query("G", "T", 0), offsets.was_reset("G", "T", 0), offsets.was_reset("G", "T", 1)) == (
        2,
        True,
        False,
    )
    offsets.commit("G", "T", 0, 9)
    assert (offsets.query("G", "T", 0), offsets.queues("G", "T")) == (2, {0: 9})
    assert (offsets.take_reset("G", "T", 1), offsets.take_reset("G", "T", 0), offsets.take_reset("G", "T", 0)) == (
        None, 2, None,
    )  # fmt: skip
    assert (offsets.query("G", "T", 0), offsets.was_reset("G", "T", 0)) == (9, False)
    offsets.reset("G", "T", 0, 1)
    offsets.reset("H", "T", 0, 1)
    offsets.reset("A", "T", 0, 1)
    offsets.forget_group("G")
    assert [offsets.was_reset(group, "T", 0) for group in "AGH"] == [True, False, True]


def test_a_pull_goes_ahead_of_the_commit(side: Side) -> None:
    offsets = side.offsets
    assert offsets.pulled("G", "T", 0) == -1
    offsets.commit("G", "T", 0, 5)
    assert offsets.pulled("G", "T", 0) == 5
    for group in "AGH":
        offsets.note_pull(group, "T", 0, 8)
    assert (offsets.pulled("G", "T", 0), offsets.query("G", "T", 0), offsets.pulled("G", "T", 1)) == (8, 5, -1)
    offsets.forget_group("G")
    assert [offsets.pulled(group, "T", 0) for group in "AGH"] == [8, -1, 8]


def test_there_is_room_for_the_queues_of_a_topic_and_so_many_in_all(side: Side) -> None:
    offsets = side.offsets
    full = dict.fromkeys(range(MOST_QUEUES), 0)
    offsets.merge(ConsumerOffsetTable(offset_table={"T@G": full}))
    assert offsets.has_room("G", "T", MOST_QUEUES - 1) and not offsets.has_room("G", "T", MOST_QUEUES)
    assert offsets.has_room("H", "T", 0)
    offsets.check_room("G", "T", [0, 1])
    with pytest.raises(RefusedError):
        offsets.check_room("G", "T", [0, MOST_QUEUES])
    offsets.merge(ConsumerOffsetTable(offset_table={"T@Three": {1: 0, 2: 0, 3: 0}}))
    offsets.check_room("Three", "T", range(MOST_QUEUES))
    with pytest.raises(RefusedError):
        offsets.check_room("Three", "T", [*range(MOST_QUEUES), 1 << 20])
    offsets.forget_group("Three")
    offsets.check_room("H", "T", range(MOST_QUEUES))
    with pytest.raises(RefusedError):
        offsets.check_room("H", "T", range(MOST_QUEUES + 1))
    groups = MOST_OFFSETS // MOST_QUEUES
    offsets.merge(ConsumerOffsetTable(offset_table={f"T@G{number}": full for number in range(groups - 1)}))
    assert not offsets.has_room("New", "T", 0) and offsets.has_room("G", "T", 0)
    offsets.check_room("G", "T", [0])
    with pytest.raises(RefusedError):
        offsets.check_room("New", "T", [0])
    offsets.forget_group("G0")
    assert offsets.has_room("New", "T", 0)
    offsets.check_room("New", "T", range(MOST_QUEUES))
    offsets.commit("New", "T", 0, 1)
    offsets.commit("New", "T", 0, 2)
    offsets.check_room("Other", "T", range(MOST_QUEUES - 1))
    with pytest.raises(RefusedError):
        offsets.check_room("Other", "T", range(MOST_QUEUES))
    with pytest.raises(RefusedError):
        offsets.clone("G", "T", "Other")
    assert offsets.queues("Other", "T") == {}


def test_another_brokers_offsets_are_taken_and_own_ones_stay(side: Side) -> None:
    offsets = side.offsets
    offsets.commit("G", "T", 0, 5)
    offsets.commit("G", "T", 1, 5)
    offsets.commit("Own", "T", 0, 6)
    version = offsets.version
    offsets.merge(ConsumerOffsetTable(offset_table={"T@G": {0: 1}, "U@G": {3: 4}}))
    assert (offsets.queues("G", "T"), offsets.queues("G", "U"), offsets.queues("Own", "T")) == ({0: 1}, {3: 4}, {0: 6})
    assert offsets.version == version
    offsets.merge(ConsumerOffsetTable(data_version=DataVersion(9, 8), offset_table={}))
    assert offsets.version == DataVersion(9, 8)
    offsets.file.write()
    assert side.again().offsets.queues("G", "U") == {3: 4}


def test_a_groups_offsets_are_cloned_in_place_of_anothers(side: Side) -> None:
    offsets = side.offsets
    offsets.commit("G", "T", 0, 5)
    offsets.commit("H", "T", 1, 7)
    offsets.clone("G", "T", "H")
    offsets.clone("Nobody", "T", "G")
    offsets.commit("G", "T", 0, 6)
    assert (offsets.queues("G", "T"), offsets.queues("H", "T")) == ({0: 6}, {0: 5})


def test_5x_counts_its_version_with_every_five_hundred_commits(tmp_path: Path) -> None:
    side = Side(tmp_path, "5.3.3")
    for number in range(499):
        side.offsets.commit("G", "T", 0, number)
    side.clock.advance(9)
    assert side.offsets.version == DataVersion(0, START_MS)
    side.offsets.commit("G", "T", 0, 1)
    assert side.offsets.version == DataVersion(1, START_MS + 9)
    for number in range(500):
        side.offsets.commit("G", "T", 0, number)
    assert side.offsets.version.counter == 2
    table = side.offsets.table()
    assert (table.offset_table, table.group_topic_map) == ({"T@G": {0: 499}}, {"G": ("T",)})
    plain = Side(fresh(tmp_path)).offsets.table()
    assert (plain.group_topic_map, plain.data_version) == (None, None)


def test_what_sync_flush_could_not_write_is_taken_back(tmp_path: Path) -> None:
    side = Side(tmp_path / "config")
    side.topics.put(side.topic("T"))
    side.groups.put(SubscriptionGroupConfig(name="G"))
    side.offsets.commit("G", "T", 0, 5)
    side.offsets.reset("Reset", "T", 0, 5)
    for table in (side.topics, side.groups, side.offsets):
        table.file.durable = True
    side.offsets.file.confirm()
    versions = side.topics.version, side.groups.version
    (tmp_path / "config").rename(tmp_path / "away")
    (tmp_path / "config").write_text("no directory")
    for change in (
        lambda: side.topics.put(side.topic("T", 9)),
        lambda: side.topics.put(side.topic("U")),
        lambda: side.topics.delete("T"),
        lambda: side.groups.put(SubscriptionGroupConfig(name="G", consume_enable=False)),
        lambda: side.groups.put(SubscriptionGroupConfig(name="H")),
        lambda: side.groups.delete("G"),
    ):
        with pytest.raises(StorageError):
            change()
    assert (side.topics.find("T"), side.topics.find("U")) == (side.topic("T"), None)
    assert (side.groups.find("G"), side.groups.find("H")) == (SubscriptionGroupConfig(name="G"), None)
    assert (side.topics.version, side.groups.version) == versions
    for group, offset in (("G", 9), ("H", 9), ("Reset", 9)):
        with pytest.raises(StorageError), side.offsets.confirmed(group, "T"):
            side.offsets.take_reset(group, "T", 0)
            side.offsets.commit(group, "T", 0, offset)
            side.offsets.commit(group, "T", 1, offset)
    assert (side.offsets.queues("G", "T"), side.offsets.queues("H", "T")) == ({0: 5}, {})
    assert side.offsets.was_reset("Reset", "T", 0)
    (tmp_path / "config").unlink()
    (tmp_path / "away").rename(tmp_path / "config")
    with side.offsets.confirmed("G", "T"):
        side.offsets.commit("G", "T", 0, 6)
    assert side.again().offsets.query("G", "T", 0) == 6


# Files


class Kept:
    """A configuration file of so many entries."""

    def __init__(self, directory: Path, entries: int = 1, **changes: Any) -> None:
        self.clock = VirtualClock(START_MS)
        self.path = directory / "x.json"
        self.value = 0
        self.file = ConfigFile(
            directory, "x.json", self.clock, lambda: {"value": self.value}, lambda: entries, **changes
        )

    @property
    def stored(self) -> int | None:
        return json.loads(self.path.read_text())["value"] if self.path.exists() else None

    def change(self) -> None:
        self.value += 1
        self.file.changed()


@each("entries, at_once", [(300, True), (301, False)])
def test_a_small_table_is_written_at_once_and_a_large_one_within_a_second(
    entries: int, at_once: bool, tmp_path: Path
) -> None:
    kept = Kept(fresh(tmp_path), entries)
    kept.change()
    assert kept.stored == (1 if at_once else None)
    kept.clock.advance(600)
    kept.change()
    kept.clock.advance(399)
    assert kept.stored == (2 if at_once else None)
    kept.clock.advance(1)
    assert kept.stored == 2
    kept.path.unlink()
    kept.clock.advance(10_000)
    assert kept.stored is None, "nothing has changed"


def test_what_is_marked_is_written_with_the_next_period_and_nothing_else(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.file.write()
    kept.file.confirm()
    assert kept.stored is None
    kept.file.mark()
    kept.file.confirm()
    assert kept.stored is None, "nothing has to be confirmed without SYNC_FLUSH"
    kept.file.write()
    assert kept.stored == 0
    kept.value = 5
    kept.file.write()
    assert kept.stored == 0
    kept.file.create()
    assert kept.stored == 0
    kept.path.unlink()
    kept.file.create()
    assert kept.stored == 5
    kept.value = 6
    kept.file.write_with_backup()
    assert json.loads((tmp_path / "x.json.bak").read_text()) == {"value": 6}


def test_a_refusal_is_tried_again_and_a_write_put_off_can_be_forgotten(tmp_path: Path) -> None:
    home = tmp_path / "config"
    home.write_text("no directory")
    kept = Kept(home)
    kept.change()
    home.unlink()
    kept.file.write()
    assert kept.stored == 1
    large = Kept(home, 301)
    large.change()
    large.file.forget()
    large.clock.advance(5_000)
    assert large.stored == 1
    large.file.durable = True
    large.change()
    assert large.stored == 2, "SYNC_FLUSH waits for no second"
    home.rename(tmp_path / "away")
    home.write_text("no directory")
    with pytest.raises(StorageError):
        large.change()
    home.unlink()
    large.file.confirm()
    assert large.stored == 3


def test_the_old_file_stays_as_backup_and_what_is_private_stays_so(tmp_path: Path) -> None:
    home = tmp_path / "a" / "config"
    for number, private in ((1, False), (2, True), (3, False)):
        write_config(home, "x.json", {"value": number}, private=private)
        mode = stat.S_IMODE((home / "x.json").stat().st_mode)
        assert mode == (0o600 if private else 0o644) & ~_umask()
        if number > 1:
            assert json.loads((home / "x.json.bak").read_text()) == {"value": number - 1}
            assert stat.S_IMODE((home / "x.json.bak").stat().st_mode) == mode
    write_config(home, "x.json", {"value": 4}, durable=True)
    assert sorted(file.name for file in home.iterdir()) == ["x.json", "x.json.bak"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Attributes


@each("text, changes", [
    (None, {}), ("", {}), ("+a=b", {"+a": "b"}), ("+a=b,-c", {"+a": "b", "-c": ""}), ("+a=b,", {"+a": "b"}),
    ("+a=b=c", {"+a": "b"}), ("a+=b", {"a+": "b"}), ("-a,-b", {"-a": "", "-b": ""}),
    ("+a=", "Index 1 out of bounds for length 1"), ("a=b", "add/alter attribute format is wrong: a"),
    ("-a=b", "add/alter attribute format is wrong: -a"), ("+a", "delete attribute format is wrong: +a"),
    ("+a=b,+a=c", "key duplication: +a"), ("+a=b,,-c", "delete attribute format is wrong: "),
])  # fmt: skip
def test_how_changes_of_attributes_are_written(text: str | None, changes: dict[str, str] | str) -> None:
    if isinstance(changes, dict):
        assert changes_of(text) == changes
    else:
        with pytest.raises(AttributeRefused) as caught:
            changes_of(text)
        assert caught.value.message == changes


UNCHANGEABLE = "attempt to update an unchangeable attribute. key:"
KINDS = "value is not in set: [UNSPECIFIED, MIXED, TRANSACTION, FIFO, DELAY, NORMAL]"


@each("current, text, expected", [
    (None, "+message.type=FIFO", {"message.type": "FIFO"}),
    ({"message.type": "FIFO"}, "+message.type=NORMAL", {"message.type": "NORMAL"}),
    ({"message.type": "FIFO", "x": "y"}, "-message.type", {"x": "y"}),
    (None, "+cleanup.policy=DELETE,+queue.type=SimpleCQ", {"cleanup.policy": "DELETE", "queue.type": "SimpleCQ"}),
    (None, "+cleanup.policy=COMPACTION", {"cleanup.policy": "COMPACTION"}),
    *[({}, f"+reserve.time={value}", {"reserve.time": value}) for value in ("-1", "0", str((1 << 63) - 1))],
    ({}, "+reserve.time=-2", f"value is not in range(-1, {(1 << 63) - 1})"),
    ({}, f"+reserve.time={1 << 63}", f'For input string: "{1 << 63}"'),
    ({}, "+reserve.time=x", 'For input string: "x"'),
    (None, "+message.type=WRONG", KINDS),
    (None, "+cleanup.policy=x", "value is not in set: [COMPACTION, DELETE]"),
    (None, "+queue.type=x", "value is not in set: [BatchCQ, SimpleCQ]"),
    (None, "+other=x", "unsupported key: other"),
    (None, "-message.type", "only add attribute is supported while creating topic. key: message.type"),
    ({}, "-message.type", "attempt to delete a nonexistent key: message.type"),
    ({"queue.type": "SimpleCQ"}, "+queue.type=SimpleCQ", f"{UNCHANGEABLE} queue.type"),
    ({"cleanup.policy": "DELETE"}, "-cleanup.policy", f"{UNCHANGEABLE} cleanup.policy"),
    ({"message.type": "FIFO"}, "+message.type=NORMAL,-message.type", "alter duplication key. key: message.type"),
    *[({}, text, "kv string format wrong.") for text in ("x+=y", "+=y", "+a-b=y")],
])  # fmt: skip
def test_which_changes_of_attributes_are_taken(
    current: dict[str, str] | None, text: str, expected: dict[str, str] | str
) -> None:
    if isinstance(expected, dict):
        assert altered(current, changes_of(text), TOPIC_ATTRIBUTES) == expected
    else:
        with pytest.raises(AttributeRefused) as caught:
            altered(current, changes_of(text), TOPIC_ATTRIBUTES)
        assert caught.value.message == expected


def test_topics_of_batches_are_not_served() -> None:
    plain = TopicConfig(name="T", read_queue_count=1, write_queue_count=1, perm=6)
    with pytest.raises(AttributeRefused):
        altered(None, changes_of("+queue.type=BatchCQ"), TOPIC_ATTRIBUTES)
    with pytest.raises(Refusal):
        check_served(replace(plain, attributes={"queue.type": "BatchCQ"}))
    for attributes in ({}, {"queue.type": "SimpleCQ"}, {"cleanup.policy": "BatchCQ"}):
        check_served(replace(plain, attributes=attributes))


@settings(max_examples=15, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.sampled_from("GH"), st.sampled_from("TU"), st.integers(0, 2), st.integers(0, 9)), max_size=20)
)
def test_the_file_brings_back_what_was_committed_last(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[str, str, int, int]]
) -> None:
    for version in ("4.9.8", "5.3.3"):
        side, last = Side(tmp_path_factory.mktemp("config"), version), {}
        for group, topic, queue_id, offset in commits:
            side.offsets.commit(group, topic, queue_id, offset)
            last[group, topic, queue_id] = offset
        side.offsets.file.write()
        again = side.again().offsets
        for group in "GH":
            for topic in "TU":
                own = {key[2]: offset for key, offset in last.items() if key[:2] == (group, topic)}
                assert dict(again.queues(group, topic)) == own
