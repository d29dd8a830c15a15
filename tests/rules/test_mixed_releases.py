"""Clusters of several releases: what each has of its own is no fault, and what older ones cannot do is said."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.model.config import TopicConfig
from mqctl.model.delay_state import DelayState, LevelTableSource, TimerTopicState
from mqctl.model.release import NEWEST
from mqctl.rules import diagnose
from tests.each import each
from tests.rules.live_snapshots import LIVE
from tests.rules.setting_faults import released

NEW = ["RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"]
OWN = [*NEW, "rmq_sys_wheel_timer", "rmq_sys_REVIVE_LOG_C", "RMQ_SYS_TRANS_HALF_TOPIC", "SELF_TEST_TOPIC"]
RELEASES = st.sampled_from([(4, 9, 7), (4, 9, 8), (5, 0, 0), (5, 3, 2), (5, 3, 3), (5, 4, 0), NEWEST])


def desc(release: tuple[int, int, int]) -> str:
    return "V{}_{}_{}".format(*release)


@each("names", [NEW, OWN, *([name] for name in OWN)])
def test_topics_that_brokers_of_one_release_make_for_themselves_are_missing_on_no_other(names: list[str]) -> None:
    first, second = released("V5_5_0", "V5_4_0").brokers
    own = tuple(TopicConfig(name=name, read_queue_count=1, write_queue_count=1) for name in names)
    world = replace(LIVE, brokers=(replace(first, topics=(*first.topics, *own)), second))
    assert {item.code for item in diagnose(world).findings} <= {"MQ651"}


@given(one=RELEASES, two=RELEASES, count=st.integers(0, 99), kind=st.sampled_from(["NORMAL", "DELAY"]))
@example(one=(5, 5, 0), two=(4, 9, 7), count=10, kind="NORMAL")
@example(one=(5, 5, 0), two=(5, 0, 0), count=10, kind="NORMAL")
@example(one=(4, 9, 7), two=(4, 9, 8), count=0, kind="NORMAL")
def test_timers_and_brokers_that_deliver_them_at_once(
    one: tuple[int, int, int], two: tuple[int, int, int], count: int, kind: str
) -> None:
    first, second = released(desc(one), desc(two)).brokers
    timers = (TimerTopicState(topic="Pay", waiting_count=count), TimerTopicState(topic=None, waiting_count=5))
    state = DelayState(levels=(), table_source=LevelTableSource.GIVEN, timers=timers if one >= (5, 0, 0) else ())
    topics = tuple(
        replace(item, attributes={"message.type": kind}) if item.name == "Pay" else item for item in first.topics
    )
    world = replace(LIVE, brokers=(replace(first, delay=state, topics=topics), second))
    findings = {item.code: item for item in diagnose(world).findings}
    delayed = kind == "DELAY" or (count > 0 and one >= (5, 0, 0))
    older = [name for name, release in zip(("broker-a", "broker-b"), (one, two), strict=True) if release < (5, 0, 0)]
    assert ("MQ730" in findings) == (delayed and bool(older))
    assert ("MQ651" in findings) == (one[:2] != two[:2])
    if "MQ730" in findings:
        assert findings["MQ730"].params["brokers"] == ", ".join(older)
