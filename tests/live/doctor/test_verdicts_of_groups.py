"""Verdicts about groups are earned: nobody online, strategies, order, POP and a time scale are evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_broker_settings, put_group
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.queue import MessageQueue
from mqctl.playbook.places import load_playbook, slugs
from mqctl.protocol.bodies_client import ConsumeStatus, SubscriptionData
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo
from mqctl.protocol.bodies_pop import MessageRequestMode, MessageRequestModes
from mqctl.protocol.bodies_stats import ConsumeTimeSpan, ConsumeTimeSpans
from mqctl.protocol.codes import RequestCode
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.doctor.stage import BROKERS, HOUR_MS, NEARBY, ONE, TWO, Stage, staged

AVERAGE = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@405209d4"


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def running(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        # Members are seen by the command line at the clock of the machine.
        built.now_ms = running.now_ms()
        for client in (ONE, TWO):
            built.cast.say(built.member(client))
        yield built


@pytest.fixture
def asked(mqctl: Run, stage: Stage, tmp_path: Path) -> Run:
    env = {"MQCTL_NAMESRV": stage.cluster.namesrv, "MQCTL_STATE_DIR": str(tmp_path)}
    return lambda *words: mqctl(*words, env=env)


def codes(outcome: Outcome) -> list[str]:
    return [item["code"] for item in outcome.json["findings"]]


def leave(stage: Stage) -> None:
    stage.cast.leave(ONE)
    stage.cast.leave(TWO)


def test_a3_a_question_about_members_of_whom_nobody_is_online_is_not_answered(asked: Run, stage: Stage) -> None:
    assert asked("doctor", "-g", "G", "--only", "MQ203").exit_code == 0
    leave(stage)
    for words in (("-g", "G", "--only", "MQ203"), ("-g", "G"), ("--only", "MQ203")):
        outcome = asked("doctor", *words, "-o", "json")
        assert (outcome.exit_code, codes(outcome), outcome.json["verdict"]) == (3, [], "unknown"), words
        assert {"MQ203"} <= {gap["code"] for gap in outcome.json["not_judged"]}
    whole = asked("doctor", "-o", "json")
    assert (whole.exit_code, whole.json["covered"]) == (
        0,
        [
            {
                "kind": "group",
                "name": "G",
                "judged": "partly",
                "reason": "no member of the group is online",
                "rules_left_out": whole.json["covered"][0]["rules_left_out"],
                "consume_mode": None,
                "reason_key": "not-judged-nobody-online",
                "reason_values": {},
            }
        ],
    )
    answer = asked("doctor", "-g", "G").stdout
    assert answer.count("no member of the group is online") == 1  # one line for all the rules


def test_a3_the_playbook_of_lost_tags_takes_it_for_unknown(asked: Run, stage: Stage) -> None:
    leave(stage)
    outcome = asked("playbook", "run", "tag-loss", "-p", "group=G", "-p", "topic=Pay")
    assert "Nothing is skipped any more" not in outcome.stdout + outcome.stderr
    assert "want the same now" not in outcome.stdout + outcome.stderr


def test_a6_rooms_that_nobody_told_are_not_judged(asked: Run, stage: Stage) -> None:
    for client in (ONE, TWO):
        stage.cast.change(client, properties=stage.said(allocateMessageQueueStrategy=NEARBY))
    outcome = asked("doctor", "-o", "json")
    assert (outcome.exit_code, codes(outcome)) == (3, [])
    assert {(gap["code"], gap["subject"]) for gap in outcome.json["not_judged"]} == {
        (code, "G") for code in ("MQ611", "MQ612", "MQ613")
    }
    assert all("--room-rule" in gap["reason"] for gap in outcome.json["not_judged"])


def test_f1_rooms_are_nothing_to_a_group_that_shares_out_evenly(asked: Run, stage: Stage) -> None:
    wrong = ("--room-rule", "prefix:_")
    for client in (ONE, TWO):
        stage.cast.change(client, properties=stage.said(allocateMessageQueueStrategy=AVERAGE))
    assert codes(asked("doctor", *wrong, "-o", "json")) == []
    for client in (ONE, TWO):  # a client that does not tell, and holds what AVG gives it
        stage.cast.change(client, properties=stage.said())
    assert codes(asked("doctor", *wrong, "-o", "json")) == []
    for client in (ONE, TWO):
        stage.cast.change(client, properties=stage.said(allocateMessageQueueStrategy=NEARBY))
    assert "MQ611" in codes(asked("doctor", *wrong, "-o", "json"))


def test_f3_queues_of_a_killed_orderly_consumer_are_locked_for_a_known_time(asked: Run, stage: Stage) -> None:
    stage.in_order(ONE)
    stage.cast.leave(TWO)
    outcome = asked("doctor", "-g", "G", "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["severity"], finding["confidence"]) == ("MQ309", "warning", "medium")
    left_ms = finding["evidence"]["over_time_ms"] - outcome.json["observed_at_ms"]
    assert left_ms == 80_000
    assert "resolves itself" in finding["what"]
    stage.cast.say(stage.member(ONE))
    (finding,) = asked("doctor", "-g", "G", "-o", "json").json["findings"]
    assert (finding["code"], finding["severity"]) == ("MQ309", "fatal")


def test_f4_an_orderly_group_that_fails_is_not_told_of_dead_letters(asked: Run, stage: Stage) -> None:
    failing = {"Pay": ConsumeStatus(consume_ok_tps=1.0, consume_failed_tps=9.0)}
    stage.cast.change(ONE, rates=failing)
    (finding,) = asked("doctor", "-g", "G", "-o", "json").json["findings"]
    assert "dead letter" in finding["what"]
    stage.in_order(ONE, TWO)
    (finding,) = asked("doctor", "-g", "G", "-o", "json").json["findings"]
    assert finding["code"] == "MQ412"
    assert "dead letter" not in finding["what"]
    assert "in place" in finding["what"]


@pytest.mark.both_releases
def test_f5_what_is_consumed_by_pop_has_no_owners(asked: Run, stage: Stage) -> None:
    if stage.cluster.spec.version.startswith("4"):
        pytest.skip("POP came with 5.0")
    for client in (ONE, TWO):
        stage.cast.change(client, queues={})
    assert "MQ309" in codes(asked("doctor", "-g", "G", "-o", "json"))
    mode = MessageRequestMode(consumer_group="G", topic="Pay", mode="POP")
    body = MessageRequestModes(message_request_mode_map={"Pay": {"G": mode}}).to_bytes()
    stage.cluster.fault(402, Answer(0, body=body))
    outcome = asked("doctor", "-g", "G", "-o", "json")
    assert (outcome.exit_code, codes(outcome)) == (0, []), outcome.json["not_judged"]
    shown = asked("allocation", "show", "-g", "G", "-o", "json").json
    assert {(row["marks"], row["expected"], row["holders"]) for row in shown["queues"]} == {("pop", None, None)}
    assert {item["strategy"] for item in shown["instances"]} == {"POP"}


@pytest.mark.parametrize("running", ["4.9.8"], indirect=True)
def test_a4_a_group_that_brokers_refuse_is_named_without_settings_and_offsets(asked: Run, stage: Stage) -> None:
    """Brokers of 5.x do not take the heartbeats of such a group: there nobody knows its name."""
    for broker in BROKERS:
        stage.ask(broker, put_broker_settings({"autoCreateSubscriptionGroup": "false"}))
    stage.cast.join(stage.member("192.0.2.9@refused", group="Refused", queues={}))
    for words in ((), ("-g", "Refused")):
        outcome = asked("doctor", *words, "-o", "json")
        assert "MQ213" in codes(outcome), outcome.json
        assert outcome.exit_code == 2
    checked = asked("subscription", "check", "-g", "Refused", "-o", "json")
    assert (checked.exit_code, checked.json["refused_by"]) == (2, list(BROKERS)), checked.stderr
    answer = asked("subscription", "check", "--all", "-o", "json")
    assert (answer.exit_code, {row["group"]: row["verdict"] for row in answer.json["groups"]}["Refused"]) == (
        2,
        "refused",
    )
    shown = asked("group", "members", "-g", "Refused", "-o", "json")
    assert (shown.exit_code, shown.json["refused_by"]) == (0, list(BROKERS)), shown.stderr
    for words in (("subscription", "check"), ("group", "members")):
        text = asked(*words, "-g", "Refused").stdout
        assert "every pull of Refused is refused" in " ".join(text.split()), text
        assert "autoCreateSubscriptionGroup=false" in text
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="Refused"), is_v5=False))
    assert asked("subscription", "check", "-g", "Refused", "-o", "json").json["refused_by"] == []
    assert asked("group", "describe", "-g", "Refused", "-o", "json").json["refused_by"] == []
    assert asked("group", "members", "-g", "Refused", "-o", "json").json["refused_by"] == []


def test_a5_sql_subscriptions_that_brokers_refuse_are_named(asked: Run, stage: Stage) -> None:
    sql = SubscriptionData(topic="Pay", sub_string="a > 1", expression_type="SQL92", sub_version=9)
    for broker in BROKERS:
        stage.tell_settings(broker, enablePropertyFilter="true")
    stage.cast.join(stage.member("192.0.2.9@sql", group="Sql", topics={"Pay": sql}))
    assert "MQ214" not in codes(asked("doctor", "-g", "Sql", "-o", "json"))
    stage.cluster.clear_faults()
    stage.tell_settings("broker-a", enablePropertyFilter="false")
    (finding,) = [
        item for item in asked("doctor", "-g", "Sql", "-o", "json").json["findings"] if item["code"] == "MQ214"
    ]
    assert "enablePropertyFilter" in finding["advice"]


def shown_group(asked: Run) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = asked("group", "describe", "-g", "G", "-o", "json").json["brokers"]
    return rows


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
def test_a15_a_fifo_topic_that_is_consumed_without_order_is_named(asked: Run, stage: Stage) -> None:
    for broker in BROKERS:
        stage.topic(broker, "Pay", attributes={"message.type": "FIFO"})
    assert codes(asked("doctor", "-g", "G", "--skip", "MQ640", "-o", "json")) == ["MQ215"]
    described = asked("topic", "describe", "-t", "Pay", "-o", "json").json
    assert {row["message_type"] for row in described["brokers"]} == {"FIFO"}
    assert " FIFO" in asked("topic", "describe", "-t", "Pay").stdout
    assert {row["consume_message_orderly"] for row in shown_group(asked)} == {False}
    for broker in BROKERS:
        stage.ask(broker, put_group(SubscriptionGroupConfig(name="G", consume_message_orderly=True), is_v5=True))
    assert codes(asked("doctor", "-g", "G", "--skip", "MQ640", "-o", "json")) == []
    assert {row["consume_message_orderly"] for row in shown_group(asked)} == {True}
    assert "IN ORDER" in asked("group", "describe", "-g", "G").stdout


def test_a14_one_broker_under_two_names_is_named(asked: Run, stage: Stage) -> None:
    one, two = (stage.cluster.broker(name).address for name in BROKERS)
    table = {
        name: BrokerData(cluster="DefaultCluster", broker_name=name, broker_addrs={0: address})
        for name, address in (("broker-a", one), ("broker-b", two), ("old-a", one))
    }
    info_changed = ClusterInfo(broker_addr_table=table, cluster_addr_table={"DefaultCluster": tuple(sorted(table))})
    stage.cluster.fault(106, Answer(0, body=info_changed.to_bytes()))
    outcome = asked("doctor", "--only", "MQ619", "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["names"]["names"]) == (2, "broker-a, old-a")


@pytest.mark.parametrize("running", ["4.9.8"], indirect=True)
def test_f6_messages_that_the_group_filters_out_are_no_backlog(asked: Run, stage: Stage) -> None:
    def judged(*words: str) -> Outcome:
        return asked("doctor", "-g", "G", "--only", "MQ401", *words)

    old = ConsumeTimeSpan(delay_time=2 * HOUR_MS, message_queue=MessageQueue("Pay", "broker-a", 0))
    body = ConsumeTimeSpans(consume_time_span_set=(old,)).to_bytes()
    stage.cluster.fault(RequestCode.QUERY_CONSUME_TIME_SPAN, Answer(0, body=body), server="broker-a")
    stage.send("broker-a", count=4, tag="B")
    (whole,) = judged("-o", "json").json["findings"]
    assert (whole["evidence"]["lag_count"], "wanted_count" in whole["evidence"]) == (4, False)
    for client in (ONE, TWO):
        stage.cast.join(stage.member(client, topics={"Pay": "C"}, version_ms=5))
    # The sample holds all that lies there, and none of it is the group's.
    assert judged("-o", "json").json["findings"] == []
    stage.send("broker-a", count=4, tag="C")
    (finding,) = judged("-o", "json").json["findings"]
    numbers = finding["evidence"]
    assert (finding["severity"], finding["confidence"]) == ("error", "medium")
    assert (numbers["lag_count"], numbers["wanted_count"], numbers["sampled_count"]) == (8, 4, 9)
    assert "about 4 have a tag that it subscribes" in finding["what"]
    assert "其余会被过滤" in "".join(judged("--lang", "zh").stdout.split())


@pytest.mark.parametrize("running", ["4.9.8"], indirect=True)
def test_f7_lost_tags_are_told_of_the_present_filter_and_not_of_the_past(asked: Run, stage: Stage) -> None:
    def told(*words: str) -> str:
        return " ".join(asked("doctor", "-g", "G", "--only", "MQ203", *words).stdout.split())

    stage.send("broker-a", count=2, tag="B")
    stage.cast.join(stage.member(ONE, topics={"Pay": "A"}, version_ms=5))
    stage.cast.join(stage.member(TWO, topics={"Pay": "B"}, version_ms=6))
    first = told()
    stage.cast.join(stage.member(ONE, topics={"Pay": "A"}, version_ms=7))
    second = told()
    # Nothing was sent between the two, so nothing else can have been lost: only the filter is another one.
    assert "now filters by B" in first
    assert "now filters by A" in second
    for text in (first, second):
        assert re.search(r"Of the newest 6 messages, this filter would skip \d \([AB]\) although a member", text), text
        assert re.search(r"\d more would pass it and be dropped by the member that owns their queue", text), text
        assert "what was skipped earlier depends on the filter and the owners at that time" in text
        assert re.search(r"\b(are|were|have been) skipped", text) is None, text
    chinese = told("--lang", "zh")
    assert "按目前的过滤条件" in chinese
    assert "取决于当时的过滤条件" in chinese
    stage.cast.join(stage.member(TWO, topics={"Pay": "A || B"}, version_ms=8))
    stage.cast.join(stage.member(ONE, topics={"Pay": "A"}, version_ms=7))
    wider = told()
    # A filter that lets a tag pass skips none of it: the owner of the queue does.
    assert "2 of the newest 6 messages would pass this filter and be dropped by the member" in wider, wider
    assert f"({ONE}: B)" in wider and "would skip" not in wider
    (line,) = (row for row in asked("subscription", "check").stdout.splitlines() if row.startswith("G "))
    assert line.split()[-2:] == ["2", "6"]


# What each playbook must be told besides; all of one group and topic.
ABOUT_MEMBERS = {
    "cluster-mixup": (),
    "stuck-consumer": ("window=1s",),
    "tag-loss": (),
    "unconsumed-queue": (),
}


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
@pytest.mark.parametrize("slug", sorted(ABOUT_MEMBERS))
def test_point_1_no_playbook_calls_a_group_well_that_is_offline(asked: Run, stage: Stage, slug: str) -> None:
    options = [word for item in ("group=G", *ABOUT_MEMBERS[slug]) for word in ("-p", item)]
    leave(stage)
    outcome = asked("playbook", "run", slug, *options, "-o", "json")
    assert outcome.json["ending"] != "done", outcome.stdout


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
@pytest.mark.parametrize("slug", sorted(set(slugs()) - {"damaged-store", "promise-drill"}))
def test_point_1_no_playbook_calls_a_cluster_well_that_has_no_brokers(asked: Run, stage: Stage, slug: str) -> None:
    stage.cluster.fault(106, Answer(0, body=ClusterInfo().to_bytes()))
    names = {item.name for item in load_playbook(slug).parameters}
    options = [("-p", f"{name}={value}") for name, value in (("group", "G"), ("topic", "Pay")) if name in names]
    outcome = asked("playbook", "run", slug, *(word for pair in options for word in pair), "-o", "json")
    assert outcome.exit_code != 0, outcome.stdout


@pytest.mark.parametrize("running", ["5.3.3"], indirect=True)
@pytest.mark.parametrize("slug", ["delay-late", "transaction-pending"])
def test_point_1_no_playbook_calls_a_cluster_well_of_which_a_broker_tells_nothing(
    asked: Run, stage: Stage, slug: str
) -> None:
    for code in (21, 28, 43):
        stage.cluster.fault(code, Answer(2, "busy"), server=BROKERS[1])
    outcome = asked("playbook", "run", slug, "-o", "json")
    assert (outcome.exit_code, outcome.json["ending"]) == (1, "attention")
