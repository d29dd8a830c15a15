"""Rules about replication on a master whose log grows with every answer: silent while its slave follows, whatever the
order and the distance of the answers; and in the same motion they see what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.config import DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.model.finding import Finding
from mqctl.model.replicas import ReplicaState, replicas
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose
from tests.rules.live_snapshots import HOUR, LIVE, MINUTE, NOW
from tests.rules.moving_pair import BEGIN, JUST_NOW, TABLES, MovingPair, Tables

ABOUT_SLAVES = {"MQ116", *(f"MQ{number}" for number in range(130, 145))}
GROWTH = st.lists(st.one_of(st.just(0), st.integers(90, 4_000), st.integers(0, 600_000)), min_size=1, max_size=12)
LATE = st.lists(st.integers(0, 2), min_size=1, max_size=7)
worlds = settings(max_examples=25)
waiting_worlds = settings(max_examples=4)  # a slave that does not follow is waited for, a third of a second a look


def seen(snapshot: ClusterSnapshot) -> list[Finding]:
    """What is said about the slave."""
    return [item for item in diagnose(snapshot).findings if item.code in ABOUT_SLAVES]


def names(snapshot: ClusterSnapshot) -> list[tuple[str, str | None]]:
    return [(item.code, item.variant) for item in seen(snapshot)]


def state(snapshot: ClusterSnapshot) -> ReplicaState:
    (replica,) = replicas(snapshot.brokers)
    return replica.state


@worlds
@given(grows=GROWTH, late=LATE, dispatch_late=LATE)
def test_a_slave_that_follows_is_in_sync_however_the_log_grows(
    grows: list[int], late: list[int], dispatch_late: list[int]
) -> None:
    for look in MovingPair(grows=grows, late=late, dispatch_late=dispatch_late).looks(2):
        assert names(look) == []
        assert state(look) is ReplicaState.IN_SYNC


@worlds
@given(grows=GROWTH, beyond=st.integers(10_000_000, 6_075_407_785_597_603_082))
def test_a_stranger_is_named_while_the_log_grows(grows: list[int], beyond: int) -> None:
    (finding,) = seen(MovingPair(grows=[*grows, 0], stranger=2**32 + beyond).look())
    assert (finding.code, finding.variant, finding.params["address"]) == ("MQ134", "impossible", "192.0.2.8:5001")


@waiting_worlds
@given(grows=st.lists(st.integers(90, 4_000), min_size=1, max_size=9))
def test_a_slave_that_stopped_is_behind_and_named_at_the_second_look(grows: list[int]) -> None:
    first, second = MovingPair(grows=grows, late=[None]).looks(2)
    assert (state(first), names(first)) == (ReplicaState.CATCHING_UP, [])
    assert names(second) == [("MQ133", None)]


@waiting_worlds
@given(
    grows=st.lists(st.integers(90, 4_000), min_size=1, max_size=9),
    deleted=st.one_of(st.integers(1, 5_000), st.integers(1 << 30, 1 << 40)),
)
def test_a_slave_whose_next_bytes_are_deleted_is_cut_off_and_called_nothing_else(
    grows: list[int], deleted: int
) -> None:
    pair = MovingPair(grows=[deleted + 100_000, *grows], late=[None], kept_from=BEGIN + deleted)
    for look in pair.looks(2):
        assert (state(look), names(look)) == (ReplicaState.CUT_OFF, [("MQ144", None)])


@worlds
@given(grows=GROWTH, late=LATE, kept_from=st.integers(0, BEGIN))
def test_a_slave_that_follows_a_master_which_deletes_is_in_sync(
    grows: list[int], late: list[int], kept_from: int
) -> None:
    """It is new, or its retention is longer than its master's; what it lacks of the beginning is not looked at here."""
    for look in MovingPair(grows=grows, late=late, kept_from=kept_from).looks(2):
        assert names(look) == []
        assert state(look) is ReplicaState.IN_SYNC


@waiting_worlds
@given(grows=st.lists(st.integers(90, 4_000), min_size=1, max_size=9))
def test_a_slave_that_cannot_read_its_log_is_named_though_the_log_grows(grows: list[int]) -> None:
    first, second = MovingPair(grows=grows, dispatch_late=[None]).looks(2)
    assert (state(first), names(first)) == (ReplicaState.DIVERGED, [("MQ132", "once")])
    assert names(second) == [("MQ132", None)]


def _with(**topics: int) -> Tables:
    """The tables with these topics and queue counts."""
    made = {
        name: TopicConfig(name=name, read_queue_count=count, write_queue_count=count) for name, count in topics.items()
    }
    return replace(TABLES, topics=made)


def _aged(tables: Tables, age_ms: int, counter: int = 2) -> Tables:
    return replace(tables, version=DataVersion(counter=counter, timestamp_ms=NOW - age_ms))


@worlds
@given(
    counters=st.tuples(st.integers(0, 50), st.integers(0, 50)),
    ages=st.tuples(st.integers(0, HOUR), st.integers(0, HOUR)),
)
def test_versions_that_a_slave_counts_itself_are_no_difference(
    counters: tuple[int, int], ages: tuple[int, int]
) -> None:
    master, slave = (_aged(TABLES, age, counter) for age, counter in zip(ages, counters, strict=True))
    assert names(MovingPair(grows=[300], version="V5_3_3", master=master, slave=slave).look()) == []


@pytest.mark.parametrize("changed", [{"Pay": 8}, {"Pay": 4, "New": 4}, {"New": 4}, {}], ids=str)
@worlds
@given(at=st.integers(0, 40), copies_after=st.integers(0, 60))
def test_tables_that_change_between_the_answers_are_no_difference(
    changed: dict[str, int], at: int, copies_after: int
) -> None:
    tables = replace(_with(**changed), version=DataVersion(counter=3, timestamp_ms=JUST_NOW))
    pair = MovingPair(grows=[300], changed=tables, changes_at=at, copies_after=copies_after)
    assert names(pair.look()) == []


@pytest.mark.parametrize(
    ("slave", "variant", "named"),
    [
        (_with(Pay=8), "other", "Pay"),
        (replace(TABLES, groups={"G": SubscriptionGroupConfig(name="G", retry_max_times=3)}), "other", "G"),
        (replace(TABLES, groups={}), None, "G"),
        (_with(Pay=4, Old=4), "other", "Old"),
    ],
)
@pytest.mark.parametrize("version", ["V4_9_7", "V5_3_3", "V5_5_0"])
def test_other_contents_are_a_difference(slave: Tables, variant: str | None, named: str, version: str) -> None:
    pair = MovingPair(grows=[300], version=version, slave=_aged(slave, 2 * HOUR, 1))
    (finding,) = seen(pair.look())
    assert (finding.code, finding.variant, finding.params["names"]) == ("MQ139", variant, named)


@pytest.mark.parametrize(("version", "variant"), [("V5_3_3", "offsets"), ("V5_5_0", "defect")])
def test_a_slave_without_offsets_is_named_and_the_defect_of_its_release(version: str, variant: str) -> None:
    pair = MovingPair(grows=[300], version=version, slave=replace(TABLES, offset_count=0))
    assert names(pair.look()) == [("MQ139", variant)]


def test_the_offsets_of_a_group_that_was_just_started_may_not_be_copied_yet() -> None:
    look = MovingPair(grows=[300], slave=replace(TABLES, offset_count=0)).look()
    started = replace(LIVE.running[0], properties={"PROP_CONSUMER_START_TIMESTAMP": str(NOW - MINUTE)})
    assert names(replace(look, running=(started,))) == []
    long_ago = replace(LIVE.running[0], properties={"PROP_CONSUMER_START_TIMESTAMP": str(NOW - HOUR)})
    assert names(replace(look, running=(started, long_ago))) == [("MQ139", "defect")]


def test_an_empty_pair_is_in_sync() -> None:
    """A log without a file begins at -1, as its broker says, and that of its slave at 0."""
    look = MovingPair(grows=[0]).look()
    master, slave = (
        replace(broker, runtime={**broker.runtime, "commitLogMinOffset": start, "commitLogMaxOffset": "0"})
        for broker, start in zip(look.brokers, ("-1", "0"), strict=True)
    )
    assert state(replace(look, brokers=(master, slave))) is ReplicaState.IN_SYNC
