"""What is no fault: rolling restarts, POP groups, lite pull, broadcasting, RocketMQ's own groups; all of it live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.finding import Reason
from mqctl.model.queue import MessageQueue
from mqctl.rules import diagnose
from mqctl.snapshot.live.gatherer import gather_live
from tests.client.consuming import Heard, quick, quick_client, wait_until
from tests.live.doctor.stage import BROKERS, LATER_MS, ONE, TWO, Stage, codes, staged

ALL_QUEUES = [MessageQueue("Pay", broker, number) for broker in BROKERS for number in (0, 1)]


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


def joined(stage: Stage, group: str, clients: Sequence[str], **parts: object) -> None:
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name=group, consume_broadcast_enable=True)))
    for client in clients:
        stage.cast.join(stage.member(client, group=group, **parts))


def test_a_member_that_has_just_started_leaves_owners_open(stage: Stage) -> None:
    young = stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - 30_000))
    stage.cast.leave(TWO)
    stage.cast.join(stage.member("192.0.2.2@new", queues={}, properties=young))
    diagnosis = stage.judge()
    assert diagnosis.findings == ()
    assert {gap.code for gap in diagnosis.not_judged} == {"MQ309"}
    assert diagnosis.not_judged[0].why.reason is Reason.RESTARTING_ORPHANS
    assert diagnosis.exit_code() == 3


def test_a_member_that_left_between_two_looks_leaves_owners_open(stage: Stage) -> None:
    earlier = stage.look(before_ms=LATER_MS)
    stage.cast.leave(TWO)
    diagnosis = stage.judge(earlier)
    assert (diagnosis.findings, {gap.code for gap in diagnosis.not_judged}) == ((), {"MQ309"})
    # Two minutes later nothing has come or gone, and queues without an owner are a fault.
    assert codes(stage.judge(stage.look(before_ms=LATER_MS))) == {"MQ309"}


def test_a_queue_with_two_owners_during_a_restart_is_open(stage: Stage) -> None:
    stage.cast.change(ONE, queues={queue: stage.held() for queue in ALL_QUEUES})
    assert codes(stage.judge()) == {"MQ310"}
    stage.cast.change(TWO, properties=stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - 10_000)))
    diagnosis = stage.judge()
    assert (diagnosis.findings, {gap.code for gap in diagnosis.not_judged}) == ((), {"MQ310"})


def test_real_members_that_restart_in_turn_raise_no_alarm_at_any_moment(running: EmbeddedCluster, stage: Stage) -> None:
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="R")))

    def member(name: str) -> PushConsumer:
        consumer = PushConsumer("R", quick_client(running, instance_name=name), Heard(), quick())
        consumer.subscribe("Pay", "*")
        consumer.start()
        return consumer

    def look() -> None:
        with Cluster(running.namesrv) as whole:
            state = gather_live(whole, Deadline(60_000), now_ms=running.now_ms())
        # The scripted members of G speak of a later moment.
        accused = [item for item in diagnose(state).findings if item.subject.group == "R"]
        assert accused == []

    members = [member("one"), member("two")]
    try:
        for number in range(2):
            look()
            members[number].shutdown()
            look()
            members[number] = member(f"again-{number}")
            look()
    finally:
        for consumer in members:
            consumer.shutdown()


@pytest.mark.parametrize("parts", [{"consume_type": "CONSUME_POP"}, {"pops": True}], ids=["by type", "by table"])
def test_a_pop_group_owns_no_queues(stage: Stage, parts: dict[str, object]) -> None:
    joined(stage, "P", [f"192.0.2.{number}@pop" for number in range(1, 7)], queues={}, **parts)
    diagnosis = stage.judge()
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())


def test_lite_pull_may_assign_pause_and_take_its_time(stage: Stage) -> None:
    idle = stage.held(cached_msg_count=50, last_consume_timestamp=1, last_pull_timestamp=1)
    joined(
        stage,
        "L",
        ["192.0.2.1@lite", "192.0.2.2@lite"],
        consume_type="CONSUME_ACTIVELY",
        queues={ALL_QUEUES[0]: idle},
    )
    diagnosis = stage.judge()
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())
    # The same of a group that is pushed to is a fault.
    joined(stage, "Q", ["192.0.2.1@push"], queues=dict.fromkeys(ALL_QUEUES, idle))
    assert {"MQ307", "MQ308"} <= codes(stage.judge())


def test_broadcasting_shares_nothing_out(stage: Stage) -> None:
    everything = {queue: stage.held() for queue in ALL_QUEUES}
    names = [f"192.0.2.{number}@fixed" for number in range(1, 7)]
    joined(stage, "B", names, message_model="BROADCASTING", queues=everything)
    diagnosis = stage.judge()
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())


@pytest.mark.parametrize("group", ["CID_RMQ_SYS_X", "TOOLS_CONSUMER"])
def test_groups_of_rocketmq_itself_are_not_judged(stage: Stage, group: str) -> None:
    stage.ask("broker-a", put_group(SubscriptionGroupConfig(name=group)))
    stage.commit("broker-a", 0, group=group)
    stage.cast.join(
        stage.member("192.0.2.1@sys", group=group, topics={"Other": "a"}, queues={}),
        stage.member("192.0.2.2@sys", group=group, topics={"Pay": "b"}, queues={}),
    )
    earlier = stage.look(before_ms=LATER_MS)
    stage.send("broker-a", count=5)
    stage.commit("broker-a", 6)
    diagnosis = stage.judge(earlier)
    assert (diagnosis.findings, diagnosis.not_judged) == ((), ())
    assert all(view.group != group for broker in earlier.brokers for view in broker.memberships)


def test_the_order_of_tags_and_of_members_makes_no_difference(stage: Stage) -> None:
    stage.cast.change(ONE, topics={"Pay": "A || B"})
    stage.cast.change(TWO, topics={"Pay": "B||A"})
    assert stage.judge().findings == ()


def test_a_restart_is_over_when_its_time_is(stage: Stage) -> None:
    """The guard ends two minutes after the start, scaled with the cluster's clocks."""
    stage.cast.change(ONE, queues={})
    started = stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - 119_000))
    stage.cast.change(TWO, properties=started)
    assert stage.judge().findings == ()
    stage.cast.change(TWO, properties={**started, "PROP_CONSUMER_START_TIMESTAMP": str(stage.now_ms - 121_000)})
    assert codes(stage.judge()) == {"MQ309"}
    settled = replace(stage.look(), earlier=None)
    assert codes(diagnose(settled)) == {"MQ309"}


def test_everything_is_quiet_again_after_a_restart(stage: Stage) -> None:
    stage.cast.leave(TWO)
    wait_until(lambda: len(stage.look().members_of("G")["broker-a"].client_ids) == 1, "the broker to forget it")
    stage.cast.change(ONE, queues={queue: stage.held() for queue in ALL_QUEUES})
    assert stage.judge(stage.look(before_ms=LATER_MS)).findings == ()
