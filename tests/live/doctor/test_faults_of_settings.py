"""Rules about settings, writes and progress that is not seen name their faults in a running cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_group
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import TopicConfigTable
from mqctl.protocol.bodies_stats import ConsumeTimeSpan, ConsumeTimeSpans
from mqctl.protocol.codes import RequestCode
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_pop import pop, popped
from tests.embedded_broker.wire import Peer
from tests.live.doctor.stage import BROKERS, HOUR_MS, ONE, TWO, Act, Fault, Stage, all_of, prove, staged

SPREAD = "[<=0ms]:90 [0~10ms]:5 [500ms~1s]:4 [1~2s]:1 "


def telling(**values: str) -> Act:
    def act(stage: Stage) -> None:
        stage.cluster.clear_faults()  # of two the first would speak
        stage.tell_runtime("broker-a", **values)

    return act


def set_to(**values: str) -> Act:
    return lambda stage: stage.tell_settings("broker-a", **values)


def saying(client: str, **changes: str) -> Act:
    return lambda stage: stage.cast.change(client, properties=stage.said(**changes))


def typed(kind: str) -> Act:
    """A broker tells that the topic is of this kind."""

    def act(stage: Stage) -> None:
        pay = TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2, attributes={"message.type": kind})
        retry = TopicConfig(name="%RETRY%G", read_queue_count=1, write_queue_count=1)
        body = TopicConfigTable(topic_config_table={"Pay": pay, "%RETRY%G": retry}).to_bytes(is_v5=True)
        stage.cluster.fault(21, Answer(0, body=body), server="broker-a")

    return act


def resting(stage: Stage) -> None:
    stage.send("broker-a", count=80)
    saying(ONE, pullInterval="1000", pullBatchSize="32")(stage)


def committed(offset: int) -> Act:
    def act(stage: Stage) -> None:
        stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="H")))
        stage.send("broker-a", count=5)
        stage.commit("broker-a", offset, group="H")

    return act


def popping(stage: Stage) -> None:
    with Peer(stage.cluster.broker("broker-a").address, version=479) as peer:
        assert len(popped(pop(peer, "Pay", "H", queue_id=0, max_msg_nums=4, invisible_time=HOUR_MS))) == 4


def broadcasting(stage: Stage) -> None:
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="B", consume_broadcast_enable=False)))
    stage.cast.join(stage.member("192.0.2.9@shop", group="B", message_model="BROADCASTING"))


def connecting_anew(stage: Stage) -> None:
    stage.cast.leave(TWO)
    stage.cast.join(stage.member(TWO))


def sending(topic: str, count: int = 1, **parts: object) -> Act:
    """Messages as a client sends them, with what it says of them."""

    def act(stage: Stage) -> None:
        with Peer(stage.cluster.broker("broker-a").address) as peer:
            for _ in range(count):
                assert peer.call(send(topic, **parts), b"x").code == 0  # type: ignore[arg-type]

    return act


def from_tomorrow(stage: Stage) -> None:
    sending("Pay", born_ms=stage.cluster.now_ms() + HOUR_MS)(stage)
    stage.commit("broker-a", 2)


def giving_up(stage: Stage) -> None:
    stage.topic("broker-a", "%DLQ%G", 1)
    sending("%DLQ%G", properties={"DELAY": "18", "UNIQ_KEY": "0A0B"})(stage)


def store_nothing(stage: Stage) -> None:
    """A member is at the end of a queue whose messages came a minute ago, and its broker stores nothing of it."""
    stage.send(BROKERS[0], count=3)
    waiting = ConsumeTimeSpan(delay_time=60_000, message_queue=MessageQueue("Pay", BROKERS[0], 0))
    body = ConsumeTimeSpans(consume_time_span_set=(waiting,)).to_bytes()
    stage.cluster.fault(RequestCode.QUERY_CONSUME_TIME_SPAN, Answer(0, body=body), server=BROKERS[0])
    stage.holds(ONE, commit_offset=4, last_consume_timestamp=stage.now_ms - 60_000)


FAULTS: dict[str, Fault] = {
    "MQ117": Fault(inject=telling(putMessageDistributeTime=SPREAD), says={"slow_count": 5, "write_count": 100}),
    "MQ118": Fault(
        before=telling(putMessageFailedTimes="2"), inject=telling(putMessageFailedTimes="9"), says={"failed_count": 7}
    ),
    "MQ217": Fault(
        inject=lambda stage: stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="G", retry_max_times=3))),
        says={"broker_count": 2, "value_count": 2},
    ),
    "MQ218": Fault(inject=broadcasting, beside=frozenset({"MQ207"}), says={"broker_count": 2}),
    "MQ219": Fault(before=lambda stage: None, inject=connecting_anew, says={"remade_count": 1, "moved_count": 0}),
    "MQ311": Fault(inject=resting, beside=frozenset({"MQ401"}), says={"interval_ms": 1_000, "limit_tps": 64.0}),
    "MQ312": Fault(
        inject=all_of(saying(ONE, maxReconsumeTimes="16"), saying(TWO, maxReconsumeTimes="3")), says={"value_count": 2}
    ),
    "MQ314": Fault(
        inject=all_of(saying(ONE, pollNameServerInterval="3600000"), saying(TWO, pollNameServerInterval="3600000")),
        says={"member_count": 2, "limit_ms": 300_000},
    ),
    "MQ426": Fault(
        inject=lambda stage: stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="G", retry_queue_count=0))),
        says={"queue_count": 0},
    ),
    "MQ418": Fault(
        before=committed(1),
        inject=popping,
        beside=frozenset({"MQ401", "MQ410", "MQ414"}),
        says={"consumed_count": 4},
    ),
    "MQ419": Fault(
        inject=store_nothing,
        says={"ahead_count": 3},
    ),
    "MQ424": Fault(
        inject=lambda stage: stage.holds(ONE, cached_msg_count=3, cached_msg_min_offset=0, cached_msg_max_offset=2),
        says={"below_count": 1, "cached_count": 3},
    ),
    "MQ422": Fault(
        inject=lambda stage: stage.cast.change(ONE, pops=True, queues={}),
        says={"popping_count": 1, "pulling_count": 1, "member_count": 2},
    ),
    "MQ423": Fault(
        inject=sending("%RETRY%G", 3, properties={"UNIQ_KEY": "0A0B"}, reconsume_times=1),
        beside=frozenset({"MQ405"}),
        says={"copy_count": 3, "tries_count": 1},
    ),
    "MQ650": Fault(inject=from_tomorrow),
    "MQ427": Fault(
        inject=sending("%RETRY%G", properties={"DELAY": "18", "UNIQ_KEY": "0A0B"}, reconsume_times=5),
        says={"tries_count": 4, "level_count": 1},
    ),
    "MQ728": Fault(inject=giving_up, says={"topic_count": 1}),
    "MQ640": Fault(inject=all_of(set_to(timerWheelEnable="false"), typed("DELAY")), beside=frozenset({"MQ641"})),
    "MQ641": Fault(inject=set_to(fileReservedTime="48"), says={"broker_count": 2, "value_count": 2}),
    "MQ642": Fault(
        inject=set_to(authenticationEnabled="true", authorizationEnabled="false"), beside=frozenset({"MQ630"})
    ),
    "MQ644": Fault(inject=set_to(traceTopicEnable="true"), beside=frozenset({"MQ641"})),
    "MQ645": Fault(
        inject=set_to(rocksdbCQDoubleWriteEnable="true", combineCQUseRocksdbForLmq="false"), beside=frozenset({"MQ641"})
    ),
    "MQ651": Fault(inject=telling(brokerVersionDesc="V4_9_7"), says={"release_count": 2}),
    "MQ730": Fault(
        inject=all_of(telling(brokerVersionDesc="V4_9_7"), typed("DELAY")),
        beside=frozenset({"MQ651"}),
        says={"waiting_count": 0, "broker_count": 1},
    ),
    "MQ643": Fault(
        inject=set_to(brokerRole="SYNC_MASTER", inSyncReplicas="2"), says={"process_count": 1, "wanted_count": 2}
    ),
}


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_a_fault_in_a_running_cluster_is_named(stage: Stage, code: str) -> None:
    prove(stage, code, FAULTS[code])
