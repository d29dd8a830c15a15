"""Every rule about members, owners, order and offsets names its fault in a running cluster, and is silent otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.allocation.rooms import room_rule
from mqctl.client.admin.broker_changes import put_group
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.gap import Part
from mqctl.model.origin import OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus, SubscriptionData
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.bodies_stats import TopicOffset, TopicStatsTable
from mqctl.rules import RULES, Settings
from tests.live.doctor import test_faults_of_addresses as addresses
from tests.live.doctor import test_faults_of_brokers as brokers
from tests.live.doctor import test_faults_of_settings as settings
from tests.live.doctor.stage import BROKERS, LATER_MS, NEARBY, ONE, TWO, Act, Fault, Stage, all_of, prove, staged

BY_LETTER = Settings(room_rule=room_rule("regex:-([ab])$"))
IN_ONE_ROOM = Settings(
    room_rule=room_rule("map", {"broker-a": "a", "broker-b": "b", "192.0.2.1": "a", "192.0.2.2": "a"})
)


def change(client: str = TWO, **parts: Any) -> Act:
    return lambda stage: stage.cast.change(client, **parts)


def saying(client: str = TWO, **said: str) -> Act:
    return lambda stage: stage.cast.change(client, properties=stage.said(**said))


def holding(**parts: int) -> Act:
    """The second member's first queue; `ago` of a time is milliseconds before the look."""

    def act(stage: Stage) -> None:
        values = {name: stage.now_ms - value if name.endswith("timestamp") else value for name, value in parts.items()}
        stage.holds(TWO, **values)

    return act


def orderly(**parts: int) -> Act:
    def act(stage: Stage) -> None:
        stage.in_order(ONE, TWO)
        renewed = {"locked": 1, "last_lock_timestamp": 0}
        properties = {
            name: bool(value) if name == "locked" else stage.now_ms - value if name.endswith("timestamp") else value
            for name, value in {**renewed, **parts}.items()
        }
        first = stage.held(**properties)
        second = stage.held(locked=True, last_lock_timestamp=stage.now_ms)
        stage.cast.change(
            TWO, queues={MessageQueue("Pay", BROKERS[1], 0): first, MessageQueue("Pay", BROKERS[1], 1): second}
        )

    return act


def joining(client: str, brokers: tuple[str, ...] = BROKERS, **parts: object) -> Act:
    return lambda stage: stage.cast.join(
        replace(stage.member(client, queues={}), **parts),  # type: ignore[arg-type]
        brokers=brokers,
    )


def waiting(count: int, lag: int, broker: str = "broker-a") -> Act:
    """Puts messages into the first queue and leaves the group so far behind, in memory and as committed."""

    def act(stage: Stage) -> None:
        stage.send(broker, count=count)
        end = stage.look().brokers[BROKERS.index(broker)].queue_index()["Pay", 0].max_offset
        stage.commit(broker, end - lag)
        stage.holds(ONE, commit_offset=end - lag, cached_msg_count=min(lag, 9))

    return act


def rates(ok: float, failed: float) -> Act:
    return change(ONE, rates={"Pay": ConsumeStatus(consume_ok_tps=ok, consume_failed_tps=failed)})


def lost_history(stage: Stage) -> None:
    """The first messages of a queue are gone, and the group has never committed there."""
    bounds = TopicOffset(min_offset=5, max_offset=9, last_update_timestamp=stage.now_ms)
    table = TopicStatsTable(
        offset_table={
            MessageQueue("Pay", "broker-a", 0): bounds,
            MessageQueue("Pay", "broker-a", 1): TopicOffset(max_offset=1, last_update_timestamp=stage.now_ms),
        }
    )
    stage.cluster.fault(202, Answer(0, body=table.to_bytes()), server="broker-a", where={"topic": "Pay"})


def fifo(stage: Stage) -> None:
    """A broker tells that the topic is a FIFO one, as 5.x does."""
    pay = TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2, attributes={"message.type": "FIFO"})
    topics = {"Pay": pay, "%RETRY%G": replace(pay, name="%RETRY%G", attributes={})}
    body = TopicConfigTable(topic_config_table=topics).to_bytes(is_v5=True)
    stage.cluster.fault(21, Answer(0, body=body), server="broker-a")


def without_settings(stage: Stage) -> None:
    """A broker that creates no groups has lost the settings of all."""
    stage.tell_settings("broker-a", autoCreateSubscriptionGroup="false")
    stage.cluster.fault(201, Answer(0, body=SubscriptionGroupTable().to_bytes()), server="broker-a")


def newcomer(stage: Stage) -> None:
    lost_history(stage)
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="N")))
    queues = {MessageQueue("Pay", broker, number): stage.held() for broker in BROKERS for number in (0, 1)}
    stage.cast.join(stage.member("192.0.2.9@new", group="N", queues=queues))


def broadcasting(stage: Stage) -> None:
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="B", consume_broadcast_enable=True)))
    stage.cast.join(stage.member("192.0.2.9@4711", group="B", message_model="BROADCASTING"))


def unwanted(stage: Stage) -> None:
    """The only group of a topic wants tag A, and a message with tag B lies there as well."""
    queues = {MessageQueue("Tagged", broker, 0): stage.held() for broker in BROKERS}
    for broker in BROKERS:
        stage.topic(broker, "Tagged", 1)
        stage.topic(broker, "%RETRY%F", 1)
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="F")))
        stage.send(broker, "Tagged")
        stage.commit(broker, 1, topic="Tagged", group="F")
    stage.send("broker-a", "Tagged", tag="B")
    stage.commit("broker-a", 2, topic="Tagged", group="F")
    stage.cast.join(stage.member("192.0.2.9@f", group="F", topics={"Tagged": "A"}, queues=queues))


SQL = SubscriptionData(topic="Pay", expression_type="SQL92", sub_string="a > 1", sub_version=1)
AVG = saying(ONE, allocateMessageQueueStrategy="AVG")
CONFIG = all_of(saying(ONE, allocateMessageQueueStrategy="CONFIG"), saying(TWO, allocateMessageQueueStrategy="CONFIG"))
OWNERS = frozenset({"MQ309", "MQ310", "MQ302", "MQ303", "MQ313"})
BEHIND = frozenset({"MQ401", "MQ410", "MQ414"})

FAULTS: dict[str, Fault] = {
    "MQ202": Fault(inject=change(topics={"Other": "*"}), beside=OWNERS | {"MQ625"}, says={"differing_count": 1}),
    "MQ203": Fault(inject=change(topics={"Pay": "B"}), says={"sampled_count": 4, "lost_count": 2}),
    "MQ204": Fault(inject=change(topics={"Pay": SQL}), beside=frozenset({"MQ214"})),
    "MQ205": Fault(inject=joining(TWO), beside=OWNERS, says={"connection_count": 2}),
    "MQ206": Fault(inject=joining("192.0.2.3@three", BROKERS[:1]), beside=OWNERS, says={"broker_count": 1}),
    "MQ207": Fault(inject=broadcasting, says={"changing_count": 1}),
    "MQ208": Fault(inject=saying(messageModel="BROADCASTING")),
    "MQ209": Fault(inject=brokers.speaking_another_language, beside=OWNERS),
    "MQ210": Fault(inject=saying(PROP_NAMESERVER_ADDR="192.0.2.77:9876;"), beside=frozenset({"MQ624"})),
    "MQ211": Fault(inject=brokers.abandoned, says={"lag_count": 4}, beside=BEHIND),
    "MQ213": Fault(
        inject=without_settings, beside=frozenset({"MQ201", "MQ641"}), says={"broker_count": 1, "member_count": 2}
    ),
    "MQ214": Fault(
        inject=all_of(change(ONE, topics={"Pay": SQL}), change(TWO, topics={"Pay": SQL})), says={"broker_count": 2}
    ),
    "MQ215": Fault(inject=fifo, beside=frozenset({"MQ640"}), says={"member_count": 2}),
    "MQ212": Fault(inject=all_of(AVG, saying(TWO, allocateMessageQueueStrategy="CONSISTENT_HASH"))),
    "MQ216": Fault(inject=unwanted, says={"unwanted_count": 1, "group_count": 1}),
    "MQ302": Fault(
        inject=all_of(*(joining(f"192.0.2.{number}@x") for number in (3, 4, 5))), says={"idle_count": 1}, beside=OWNERS
    ),
    "MQ303": Fault(inject=joining("192.0.2.3@x"), says={"doubled_count": 1}, beside=OWNERS),
    "MQ304": Fault(
        inject=all_of(holding(cached_msg_count=1_000), saying(consumeThreadMax="64")),
        beside=frozenset({"MQ306"}),
        says={"cached_count": 1_000},
    ),
    "MQ305": Fault(inject=orderly(cached_msg_count=1_000), beside=frozenset({"MQ306"}), says={"thread_count": 20}),
    "MQ306": Fault(inject=holding(cached_msg_count=9, cached_msg_size_in_mib=120), says={"cached_bytes": 120 << 20}),
    "MQ307": Fault(
        inject=holding(cached_msg_count=7, last_consume_timestamp=180_000), says={"cached_count": 7, "idle_ms": 180_000}
    ),
    "MQ315": Fault(
        inject=all_of(
            holding(cached_msg_count=7, last_consume_timestamp=180_000),
            saying(PROP_THREADPOOL_CORE_SIZE="1"),
            change(TWO, rates={"Pay": ConsumeStatus(consume_ok_tps=0.5, consume_rt=2_000.0)}),
        ),
        says={"thread_count": 1, "cached_count": 7, "idle_ms": 180_000},
    ),
    "MQ308": Fault(inject=holding(last_pull_timestamp=180_000), says={"idle_ms": 180_000}),
    "MQ309": Fault(
        inject=all_of(waiting(3, 3), change(ONE, queues={})),
        says={"orphan_count": 2, "waiting_count": 3},
        beside=BEHIND,
    ),
    "MQ310": Fault(
        inject=lambda stage: stage.cast.change(
            TWO, queues={**stage.member(TWO).queues, MessageQueue("Pay", "broker-a", 0): stage.held()}
        ),
        says={"double_count": 1},
    ),
    "MQ313": Fault(
        inject=all_of(
            lambda stage: stage.cast.change(ONE, queues={**stage.member(ONE).queues, **stage.member(TWO).queues}),
            change(TWO, queues={}),
        ),
        says={"idle_count": 1, "queue_count": 4},
    ),
    "MQ401": Fault(inject=waiting(3, 3), settings=Settings(lag_warning_ms=0), says={"lag_count": 3}),
    "MQ402": Fault(inject=lost_history, says={"lost_count": 4, "min_offset": 5}, beside=BEHIND),
    "MQ404": Fault(inject=lambda stage: stage.commit("broker-a", 55), says={"beyond_count": 54}),
    "MQ405": Fault(inject=brokers.retry_waiting, settings=Settings(retry_waiting_ms=0), says={"lag_count": 2}),
    "MQ406": Fault(inject=brokers.dead_letter(6), says={"dead_letter_count": 1}),
    "MQ407": Fault(
        inject=brokers.dead_letter(2), beside=frozenset({"MQ406"}), says={"dead_letter_count": 1, "perm": 2}
    ),
    "MQ408": Fault(
        inject=lambda stage: stage.ask("broker-a", put_group(SubscriptionGroupConfig(name="G", consume_enable=False)))
    ),
    "MQ410": Fault(
        before=waiting(5, 5), inject=waiting(3, 8), beside=BEHIND, says={"arrived_count": 3, "lag_count": 8}
    ),
    "MQ411": Fault(before=waiting(5, 0), inject=waiting(0, 4), beside=BEHIND, says={"repeated_count": 4}),
    "MQ412": Fault(inject=rates(90.0, 10.0), says={"failed_share": 0.1}),
    "MQ413": Fault(
        before=brokers.dead_letter(6), inject=brokers.dead_letter(6), beside=frozenset({"MQ406"}), says={"new_count": 1}
    ),
    "MQ414": Fault(
        before=waiting(5, 5), inject=waiting(20, 23), beside=BEHIND, says={"lag_count": 23, "drain_ms": None}
    ),
    "MQ415": Fault(inject=newcomer, says={"skipped_count": 4, "queue_count": 1}, beside=frozenset({"MQ402"})),
    "MQ501": Fault(inject=orderly(locked=0), says={"queue_count": 1}),
    "MQ502": Fault(inject=orderly(transaction_msg_count=1, last_consume_timestamp=120_000), says={"idle_ms": 120_000}),
    "MQ503": Fault(
        before=orderly(cached_msg_count=5, commit_offset=1),
        inject=change(TWO, rates={"Pay": ConsumeStatus(consume_ok_tps=999.0, consume_failed_tps=1.0)}),
        says={"queue_offset": 1, "cached_count": 5},
    ),
    "MQ504": Fault(inject=orderly(last_lock_timestamp=60_000), says={"idle_ms": 60_000}),
    "MQ505": Fault(inject=brokers.ordered, says={"concurrent_count": 2}),
    "MQ611": Fault(inject=joining("192.0.2.3@nowhere"), settings=BY_LETTER, beside=OWNERS | {"MQ612"}),
    "MQ612": Fault(
        inject=all_of(*(saying(one, allocateMessageQueueStrategy=NEARBY) for one in (ONE, TWO))),
        settings=IN_ONE_ROOM,
        says={"queue_count": 2, "member_count": 2},
    ),
    "MQ613": Fault(
        inject=all_of(joining("192.0.2.3@x-b"), joining("192.0.2.4@y-b")),
        settings=BY_LETTER,
        says={"queues_per_client": 2.0},
    ),
    "MQ616": Fault(inject=all_of(CONFIG, change(TWO, queues={})), beside=OWNERS, says={"missing_count": 2}),
}


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


def test_a_healthy_group_is_silent_once_and_twice(stage: Stage) -> None:
    once = stage.judge()
    assert (once.findings, once.not_judged) == ((), ())
    usual = {
        code
        for code, rule in RULES.items()
        if rule.applies_to(OriginKind.LIVE) and not {Part.STACKS, Part.PROBE, Part.PAST} & {*rule.needs}
    }
    assert set(once.rules_run) == {code for code in usual if RULES[code].least_window is None}
    twice = stage.judge(stage.look(before_ms=LATER_MS))
    assert (twice.findings, twice.not_judged) == ((), ())
    assert set(twice.rules_run) == usual


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_a_fault_in_a_running_cluster_is_named(stage: Stage, code: str) -> None:
    prove(stage, code, FAULTS[code])


def test_every_rule_that_a_live_cluster_supports_has_a_fault_here_or_beside() -> None:
    # What only weeks of a recording show is not on a live cluster.
    live = {code for code, rule in RULES.items() if rule.applies_to(OriginKind.LIVE) and Part.PAST not in rule.needs}
    # What is sent, what is looked at several times, what takes hours to grow old (MQ123, MQ403),
    # stacks, replication, delay levels, transactions, pops and access have their own faults in tests of their own.
    own = (
        "MQ120",
        "MQ123",
        "MQ13",
        "MQ140",
        "MQ141",
        "MQ142",
        "MQ145",
        "MQ220",
        "MQ403",
        "MQ628",
        "MQ32",
        "MQ416",
        "MQ417",
        "MQ420",
        "MQ421",
        "MQ422",
        "MQ425",
        "MQ428",
        "MQ429",
        "MQ63",
        "MQ646",
        "MQ647",
        "MQ7",
    )
    elsewhere = {code for code in live if code.startswith(own) and code not in {*brokers.FAULTS, *settings.FAULTS}}
    proven = FAULTS.keys() | brokers.FAULTS.keys() | addresses.FAULTS.keys() | settings.FAULTS.keys()
    assert proven == live - elsewhere
