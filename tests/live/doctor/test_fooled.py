"""What a newcomer tries on doctor: all-clears that nothing had earned, and alarms that were false."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, delete_topic, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeStatus
from mqctl.protocol.bodies_pop import MessageRequestMode, MessageRequestModes
from mqctl.protocol.bodies_stats import ConsumeTimeSpan, ConsumeTimeSpans
from mqctl.protocol.codes import Language, RequestCode
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.doctor.stage import BROKERS, ONE, TWO, Stage, staged


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        built.now_ms = running.now_ms()
        for client in (ONE, TWO):
            built.cast.say(built.member(client))
        yield built


@pytest.fixture
def asked(mqctl: Run, stage: Stage, tmp_path: Path) -> Run:
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path)}
    return lambda *words: mqctl("doctor", *words, "-o", "json", env=env)


def found(outcome: Outcome) -> list[tuple[str, str]]:
    return [(item["code"], item["confidence"]) for item in outcome.json["findings"]]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--only", "mq410"), "it needs two samples"),
        (("--only", "MQ410", "--window", "1s"), "it needs two samples"),
        (("--only", "MQ41[03]"), "it needs two samples"),
        (("--only", "MQ101"), "only a broker's files show it"),
        (("--only", "MQ32*"), "no stacks were taken"),
        (("-g", "G", "--only", "MQ216"), "ask without -g"),
        (("--broker", BROKERS[0], "--only", "MQ216"), "ask without -g"),
        (("-g", "TOOLS_CONSUMER"), ": not judged"),
        (("-t", "RMQ_SYS_TRANS_HALF_TOPIC"), ": not judged"),
    ],
)
def test_what_nothing_was_looked_at_for_is_not_well(asked: Run, words: tuple[str, ...], reason: str) -> None:
    outcome = asked(*words)
    assert (outcome.exit_code, outcome.json["verdict"], found(outcome)) == (3, "unknown", [])
    assert reason in outcome.json["not_judged"][0]["reason"]


def test_a_group_that_consumed_nothing_between_two_looks_is_not_well(asked: Run, stage: Stage) -> None:
    stage.send(BROKERS[0], count=30)
    # Eight seconds at the pace of this cluster: from then on a queue that does not move is told as stalled.
    outcome = asked("-g", "G", "--window", "1s", "--time-scale", "10")
    assert [item["movement"] for item in outcome.json["movements"]] == ["stalled"]
    assert (outcome.exit_code, outcome.json["verdict"]) == (3, "unknown")
    assert "none of the backlog was consumed" in outcome.json["not_judged"][0]["reason"]


def test_a_window_too_short_to_tell_whether_a_backlog_moves_is_not_well(asked: Run, stage: Stage) -> None:
    stage.send(BROKERS[0], count=5)
    assert asked("-g", "G", "--window", "1s").exit_code == 0  # it has only just come
    old = ConsumeTimeSpan(delay_time=30_000, message_queue=MessageQueue("Pay", BROKERS[0], 0))
    body = ConsumeTimeSpans(consume_time_span_set=(old,)).to_bytes()
    stage.cluster.fault(RequestCode.QUERY_CONSUME_TIME_SPAN, Answer(0, body=body), server=BROKERS[0])
    outcome = asked("-g", "G", "--window", "1s")
    assert [item["movement"] for item in outcome.json["movements"]] == ["unknown"]
    assert (outcome.exit_code, outcome.json["verdict"]) == (3, "unknown")
    assert "--window 15s" in outcome.json["not_judged"][0]["reason"]


def test_a_window_of_nothing_is_refused(asked: Run) -> None:
    assert asked("--window", "0s").exit_code == 64


def test_a_window_on_files_is_refused_and_not_passed_over(mqctl: Run, golden_store: object, tmp_path: Path) -> None:
    store = golden_store("store-5.3.3")  # type: ignore[operator]
    outcome = mqctl("doctor", "--store", store, "--window", "5s")
    assert (outcome.exit_code, "--window needs a live cluster" in outcome.stderr) == (64, True)


def test_queues_of_a_member_that_broadcasts_are_no_double_owners(asked: Run, stage: Stage) -> None:
    everything = {**stage.member(ONE).queues, **stage.member(TWO).queues}
    said = stage.said(messageModel="BROADCASTING")
    stage.cast.change(TWO, queues=everything, properties=said)
    assert [code for code, _ in found(asked("-g", "G"))] == ["MQ208"]


def test_queues_that_were_not_copied_are_unknown_and_not_empty(mqctl: Run, stage: Stage, tmp_path: Path) -> None:
    shutil.copytree(stage.cluster.broker(BROKERS[0]).store / "config", tmp_path / "copy" / "config")
    outcome = mqctl("doctor", "--store", tmp_path / "copy", "--only", "MQ404", "-o", "json")
    assert (outcome.exit_code, found(outcome)) == (3, [])
    assert "no consumequeue directory" in outcome.json["not_judged"][0]["reason"]


def test_instances_without_queues_that_have_only_just_come_are_looked_at_again(asked: Run, stage: Stage) -> None:
    new = {f"192.0.2.{number}@x": stage.said(PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms)) for number in (3, 4, 5)}
    for client, said in new.items():
        stage.cast.join(stage.member(client, queues={}, properties=said))
    outcome = asked("--only", "MQ302")
    assert (outcome.exit_code, found(outcome)) == (3, [])
    assert "1 instance has no queue" in outcome.json["not_judged"][0]["reason"]
    for client in new:
        stage.cast.change(client, properties=stage.said())
    assert found(asked("--only", "MQ302")) == [("MQ302", "high")]


def test_one_rule_is_one_rule(mqctl: Run, stage: Stage) -> None:
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv}
    assert "from 1 rule, " in mqctl("doctor", "--only", "MQ610", env=env).stdout


def test_leaving_out_every_rule_is_no_question(asked: Run) -> None:
    outcome = asked("--skip", "MQ*")
    assert outcome.exit_code == 64
    assert "no rule is left" in outcome.stderr


def test_rules_of_a_live_cluster_are_not_judged_from_files(mqctl: Run, golden_store: object) -> None:
    store = golden_store("store-5.3.3")  # type: ignore[operator]
    for code in ("MQ309", "MQ411"):
        outcome = mqctl("doctor", "--store", store, "--only", code, "-o", "json")
        assert (outcome.exit_code, outcome.json["not_judged"][0]["reason"]) == (3, "only a live cluster shows it")


def test_a_topic_that_is_gone_on_one_broker_only_is_named(asked: Run, stage: Stage) -> None:
    stage.ask(BROKERS[1], delete_topic("Pay"))
    outcome = asked("-g", "G")
    assert ("MQ627", "high") in found(outcome)
    assert outcome.exit_code == 2


def test_a_dead_name_server_is_a_finding(mqctl: Run, stage: Stage) -> None:
    servers = f"{stage.cluster.namesrv};127.0.0.1:1"
    outcome = mqctl("doctor", "--namesrv", servers, "-o", "json")
    assert (outcome.exit_code, found(outcome)) == (1, [("MQ626", "high")])
    assert "Name server 127.0.0.1:1 does not answer" in outcome.json["findings"][0]["what"]


def test_queues_of_a_member_that_left_a_moment_ago_are_no_certain_loss(asked: Run, stage: Stage) -> None:
    stage.cast.leave(TWO)
    assert found(asked("-g", "G", "--only", "MQ309")) == [("MQ309", "medium")]


def test_a_client_whose_clock_is_behind_may_be_well(asked: Run, stage: Stage) -> None:
    old = stage.now_ms - 300_000
    late = stage.held(cached_msg_count=5, last_consume_timestamp=old, last_pull_timestamp=old)
    stage.cast.change(ONE, queues={MessageQueue("Pay", BROKERS[0], number): late for number in (0, 1)})
    assert found(asked("-g", "G")) == [("MQ307", "medium"), ("MQ308", "medium")]
    pulling = stage.held(cached_msg_count=5, last_consume_timestamp=old)
    stage.cast.change(ONE, queues={MessageQueue("Pay", BROKERS[0], number): pulling for number in (0, 1)})
    assert found(asked("-g", "G")) == [("MQ307", "high")]


@pytest.mark.parametrize(
    ("threads", "consumed_tps", "rt_ms", "code"),
    [
        (1, 0.5, 2_000.0, "MQ315"),
        (20, 10.0, 2_000.0, "MQ315"),
        (20, 9.5, 2_000.0, "MQ307"),  # one of twenty is missing from those at work
        (1, 0.5, 500.0, "MQ307"),  # it has time to spare
        (
            1,
            100.0,
            10.0,
            "MQ307",
        ),  # full caches take 20 seconds at that rate
    ],
)
def test_a_queue_whose_threads_work_elsewhere_waits_and_is_not_stuck(
    asked: Run, stage: Stage, threads: int, consumed_tps: float, rt_ms: float, code: str
) -> None:
    stage.holds(ONE, cached_msg_count=5, last_consume_timestamp=stage.now_ms - 180_000)
    stage.cast.change(
        ONE,
        properties=stage.said(PROP_THREADPOOL_CORE_SIZE=str(threads)),
        rates={"Pay": ConsumeStatus(consume_ok_tps=consumed_tps, consume_rt=rt_ms)},
    )
    assert found(asked("-g", "G", "--only", "MQ307", "--only", "MQ315")) == [(code, "high")]


def test_times_that_a_client_does_not_tell_are_no_ages(asked: Run, stage: Stage) -> None:
    silent = stage.held(cached_msg_count=5, locked=True, last_lock_timestamp=0, last_consume_timestamp=0)
    queues = {MessageQueue("Pay", BROKERS[0], number): silent for number in (0, 1)}
    stage.in_order(ONE, TWO)
    stage.cast.change(ONE, queues=queues)
    assert found(asked("-g", "G")) == []


def test_a_group_of_orderly_and_concurrent_members_is_named(asked: Run, stage: Stage) -> None:
    stage.in_order(TWO)
    outcome = asked("-g", "G")
    assert (outcome.exit_code, found(outcome)) == (1, [("MQ505", "high")])
    assert f"1 instance in order, 1 concurrently ({ONE})" in outcome.json["findings"][0]["what"]


def test_a_rolling_change_of_the_listener_is_not_judged_while_it_rolls(asked: Run, stage: Stage) -> None:
    stage.in_order(TWO)
    started = stage.said(PROP_CONSUMEORDERLY="true", PROP_CONSUMER_START_TIMESTAMP=str(stage.now_ms - 10_000))
    stage.cast.change(TWO, properties=started)
    outcome = asked("-g", "G", "--only", "MQ505")
    assert (outcome.exit_code, found(outcome)) == (3, [])
    assert "look again in two minutes" in outcome.json["not_judged"][0]["reason"]


def test_a_group_that_consumes_dead_letters_is_judged_where_it_is_asked_for(asked: Run, stage: Stage) -> None:
    stage.topic(BROKERS[0], "%DLQ%G", 1)
    stage.send(BROKERS[0], "%DLQ%G", count=3)
    stage.ask(BROKERS[0], put_group(SubscriptionGroupConfig(name="H")))
    idle = replace(stage.member(ONE), client_id="192.0.2.3@three", group="H", topics={"%DLQ%G": "*"}, queues={})
    stage.cast.join(idle)
    assert found(asked("-g", "H")) == [("MQ309", "medium")]


def test_a_topic_of_another_broker_is_there_even_if_that_broker_is_not_asked(asked: Run, stage: Stage) -> None:
    stage.topic(BROKERS[1], "Only")
    for client in (ONE, TWO):
        stage.cast.change(client, topics={"Pay": "*", "Only": "*"})
    assert "MQ625" not in dict(found(asked("--broker", BROKERS[0])))


def test_a_list_of_ids_that_contradicts_the_connections_leaves_owners_open(asked: Run, stage: Stage) -> None:
    stage.cluster.fault(38, Answer(1, "no consumer for this group"))
    assert found(asked("-g", "G")) == []


def test_a_list_of_producers_that_is_refused_costs_the_rule_about_producers_only(asked: Run, stage: Stage) -> None:
    stage.cluster.fault(328, Answer(1, "no"))
    outcome = asked("-g", "G")
    assert {item["code"] for item in outcome.json["not_judged"]} <= {"MQ615"}


@pytest.mark.parametrize("command", [("allocation", "show"), ("lock", "show")])
def test_owners_are_shown_whole_without_the_list_of_producers(
    mqctl: Run, stage: Stage, command: tuple[str, str]
) -> None:
    stage.cluster.fault(328, Answer(1, "no"))
    outcome = mqctl(*command, "-g", "G", "--namesrv", stage.cluster.namesrv)
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_a_group_is_covered_wholly_only_where_all_its_rules_were_judged(asked: Run, stage: Stage) -> None:
    stage.cluster.fault(105, Answer(1, "no"))
    (covered,) = asked("-g", "G").json["covered"]
    assert (covered["judged"], covered["reason"].partition(" ")[0]) == ("partly", "routes")


def test_a_client_that_is_connected_to_two_brokers_is_named_once(asked: Run, stage: Stage) -> None:
    client = "192.0.2.3@cpp"
    stage.cast.join(stage.member(client, queues={}), language=Language.CPP)
    (finding,) = (item for item in asked("-g", "G").json["findings"] if item["code"] == "MQ209")
    assert finding["what"].count(client) == 1


def test_a_topic_that_was_made_smaller_after_it_was_consumed_lost_nothing(asked: Run, stage: Stage) -> None:
    """Brokers list the bounds of the queues that are left; offsets in the others are no offsets beyond the end."""
    stage.topic(BROKERS[0], "Pay", 1)
    outcome = asked("-g", "G", "--only", "MQ404", "--only", "MQ601", "-o", "json")
    assert (outcome.exit_code, found(outcome), outcome.json["not_judged"]) == (0, [], [])


@pytest.mark.parametrize("verb", [("skip",), ("reset", "--to-earliest")])
@pytest.mark.parametrize("hangs", [True, False])
def test_a_plan_for_members_that_hang_says_that_offsets_free_no_thread(
    mqctl: Run, stage: Stage, verb: tuple[str, ...], hangs: bool
) -> None:
    silent_ms = 180_000 if hangs else 20_000
    held = stage.held(cached_msg_count=5, last_consume_timestamp=stage.now_ms - silent_ms)
    stage.cast.change(ONE, queues={MessageQueue("Pay", BROKERS[0], number): held for number in (0, 1)})
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv}
    shown = mqctl("offset", *verb, "-g", "G", "-t", "Pay", env=env)
    assert shown.exit_code == 0, shown.stderr
    assert (f"{ONE} has finished no message for 3 min" in shown.stdout) is hangs
    assert (f"mqctl stacks dump -g G --client {ONE}" in shown.stdout) is hangs


@pytest.mark.parametrize("left", [1, 2, 3])
def test_queues_that_were_removed_are_counted_nowhere(mqctl: Run, stage: Stage, left: int) -> None:
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv}
    stage.topic(BROKERS[0], "Pay", 4)
    for number in range(4):
        stage.send(BROKERS[0], queue_id=number, count=2)
        stage.ask(BROKERS[0], commit_offset("G", "Pay", number, 3 if number < 2 else 2))
    stage.topic(BROKERS[0], "Pay", left)
    lag = mqctl("group", "lag", "-g", "G", "-t", "Pay", "-o", "json", env=env).json
    (total,) = lag["groups"]
    states = [row["state"] for row in lag["queues"] if row["broker_name"] == BROKERS[0]]
    assert states == [*["caught-up"] * left, *["removed"] * (4 - left)]
    assert (total["queue_count"], total["lag_count"]) == (len(lag["queues"]) - (4 - left), 0)
    shown = mqctl("group", "lag", "-g", "G", "-t", "Pay", env=env).stdout
    assert f"offsets remain in {4 - left} removed queue" in shown and " ? " not in shown.partition("offsets remain")[0]
    scraped = mqctl("export", "prometheus", "--once", "--by-queue", env=env).stdout
    gauges = [line for line in scraped.splitlines() if 'topic="Pay"' in line and f'broker="{BROKERS[0]}"' in line]
    assert {line.partition('queue="')[2][0] for line in gauges if 'queue="' in line} == set("0123"[:left])
    assert not [line for line in gauges if "NaN" in line]


def test_what_is_wrong_with_another_topic_is_nothing_to_a_group_that_was_named(asked: Run, stage: Stage) -> None:
    stage.topic(BROKERS[0], "Else", perm=0)
    assert ("MQ603", "high") in found(asked())
    assert (asked("-g", "G").exit_code, found(asked("-g", "G"))) == (0, [])


def test_what_is_wrong_with_another_group_is_nothing_to_a_topic_that_was_named(asked: Run, stage: Stage) -> None:
    for broker in BROKERS:
        stage.topic(broker, "Else")
    stage.holds(ONE, last_pull_timestamp=stage.now_ms - 180_000)
    assert ("MQ308", "high") in found(asked("-t", "Pay"))
    assert (asked("-t", "Else").exit_code, found(asked("-t", "Else"))) == (0, [])


def test_members_that_have_committed_nothing_are_said_to_have_committed_nothing(mqctl: Run, stage: Stage) -> None:
    stage.cast.join(stage.member("192.0.2.9@new", group="New", queues={}))
    answer = mqctl("doctor", "-g", "New", env={"MQCTL_NAMESRV": stage.cluster.namesrv}).stdout
    assert "New on Pay: queues without a committed offset: 4; messages stored there: 4" in answer


def test_a_mode_of_consumption_that_only_one_broker_has_is_named(asked: Run, stage: Stage) -> None:
    mode = MessageRequestMode(consumer_group="G", topic="Pay", mode="POP")
    body = MessageRequestModes(message_request_mode_map={"Pay": {"G": mode}}).to_bytes()
    stage.cluster.fault(402, Answer(0, body=body), server=BROKERS[0])
    (finding,) = asked("-g", "G").json["findings"]
    assert (finding["code"], finding["names"]["brokers"]) == ("MQ422", BROKERS[1])
    assert "another one each time" in finding["what"]


def test_queues_that_only_producers_know_are_named_before_anything_lies_in_them(asked: Run, stage: Stage) -> None:
    stage.topic(BROKERS[0], "Pay", 2, write_queue_count=4)
    outcome = asked("-t", "Pay")
    assert (outcome.exit_code, ("MQ601", "high") in found(outcome)) == (2, True)
    assert "empty so far (2, 3); the next sends go there" in outcome.json["findings"][0]["what"]


def test_a_topic_that_nobody_can_send_to_is_named_and_one_broker_may_be_drained(asked: Run, stage: Stage) -> None:
    stage.topic(BROKERS[0], "Pay", 2, write_queue_count=0)
    assert "MQ629" not in dict(found(asked("-t", "Pay")))
    stage.topic(BROKERS[1], "Pay", 2, write_queue_count=0)
    outcome = asked("-t", "Pay")
    assert (outcome.exit_code, found(outcome)[0]) == (1, ("MQ629", "high"))
    for broker in BROKERS:
        stage.topic(broker, "None", 0)
    (none,) = asked("-t", "None").json["findings"]
    assert "neither read nor write queues on 2 brokers" in none["what"]


def test_a_group_that_was_given_up_and_closed_is_no_alarm(asked: Run, stage: Stage) -> None:
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="Old", consume_enable=False)))
    outcome = asked()
    assert (outcome.exit_code, {item["severity"] for item in outcome.json["findings"]}) == (0, {"info"})
    assert outcome.json["findings"][0]["effect"].endswith("Messages waiting there: 0.")
    stage.commit(BROKERS[0], 0, group="Old")
    assert asked().exit_code == 2  # a message waits for it


def test_a_client_of_a_proxy_leaves_nothing_open_of_rules_that_are_not_for_it(asked: Run, stage: Stage) -> None:
    """Nobody can ask a gRPC client what it does; who owns its queues is no question."""
    stage.ask(BROKERS[0], put_group(SubscriptionGroupConfig(name="P")))
    stage.cast.join(stage.member("192.0.2.5@4711@0@1a2b3c4d5e", group="P", queues={}, silent=True))
    codes = {item["code"] for item in asked("--only", "MQ2*", "--only", "MQ3*", "--only", "MQ5*").json["not_judged"]}
    assert "MQ202" in codes
    assert not codes & {"MQ302", "MQ307", "MQ308", "MQ309", "MQ310", "MQ501"}


def test_one_cause_of_pending_transactions_is_one_finding(asked: Run, stage: Stage) -> None:
    half = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "0A0B"}
    with Peer(stage.cluster.broker(BROKERS[0]).address) as peer:
        assert peer.call(send("Pay", properties=half, sys_flag=4), b"x").code == 0
    outcome = asked("--only", "MQ72*")
    assert found(outcome) == [("MQ725", "high")]
    assert "1 transaction of producer group PG (Pay) pending, the oldest for " in outcome.json["findings"][0]["what"]
    assert found(asked("--only", "MQ720")) == [("MQ720", "high")]


def test_a_topic_that_was_made_smaller_too_early_keeps_messages_from_its_groups(asked: Run, stage: Stage) -> None:
    stage.send(BROKERS[0], queue_id=1, count=3)
    stage.ask(BROKERS[0], put_topic(TopicConfig(name="Pay", read_queue_count=0, write_queue_count=0)))
    outcome = asked("-g", "G", "--only", "MQ404", "--only", "MQ601", "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["code"], finding["names"]["queues"]) == (2, "MQ601", "1")
    assert finding["evidence"]["message_count"] == 4
    assert finding["next_command"].startswith("mqctl topic describe ")
