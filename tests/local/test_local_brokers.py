"""One broker of a local cluster stopped, killed and started again, and who notices that it is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig
from tests.conftest import Outcome
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]


@pytest.fixture
def run(mqctl: Run, tmp_path: Path) -> Iterator[Run]:
    """Runs mqctl with a state directory of its own, in which a cluster of two brokers was started that nobody has
    looked at."""
    environment = {name: str(tmp_path / name.lower()) for name in ("MQCTL_STATE_DIR", "MQCTL_CONFIG_DIR")}

    def command(*words: object, lang: str = "en") -> Outcome:
        return mqctl(*words, env={**environment, "MQCTL_LANG": lang})

    up = command("local", "up", "--memory", "--brokers", "2", "-o", "json")
    assert up.exit_code == 0, up.stderr
    address = up.json["clusters"][0]["brokers"][0]["address"]
    with Peer(address) as peer, Links() as links:
        assert peer.call(send("orders"), b"x").code == 0
        for question in (
            put_group(SubscriptionGroupConfig(name="shipping")),
            commit_offset("shipping", "orders", 0, 0),
        ):
            links.ask(address, question, Deadline(60_000))
    yield command
    command("local", "down")


def test_a_broker_that_is_killed_before_anybody_looked_is_missed(run: Run) -> None:
    killed = run("local", "stop", "broker-b", "--kill")
    assert (killed.exit_code, "broker-a, broker-b (down)" in killed.stdout) == (0, True), killed
    assert "start it again with: mqctl local start broker-b" in killed.stderr
    status = run("local", "status", "-o", "json")
    (cluster,) = status.json["clusters"]
    assert (status.exit_code, cluster["state"]) == (1, "degraded")
    assert [(item["name"], item["state"]) for item in cluster["brokers"]] == [
        ("broker-a", "running"),
        ("broker-b", "down"),
    ]
    doctor = run("doctor", "-o", "json", "--only", "MQ617")
    (finding,) = doctor.json["findings"]
    assert (doctor.exit_code, finding["subject"], finding["severity"]) == (2, "broker-b", "error")
    assert "which is part of local cluster default" in run("doctor", "--only", "MQ617").stdout
    listed = run("broker", "list")
    assert "not registered: part of local cluster default" in listed.stdout, listed
    assert "broker-b (127.0.0.1:" in listed.stderr
    assert "1 master, 0 slaves; 1 missing" in run("cluster", "describe").stdout


def test_checks_and_metrics_do_not_call_a_cluster_fine_whose_broker_is_gone(run: Run) -> None:
    words = ("check", "--group", "*", "--max-lag", "1000")
    assert run(*words).exit_code == 0
    assert run("local", "stop", "broker-b", "--kill").exit_code == 0
    held = run(*words, "-o", "json")
    states = {(item["subject"], item["check"]): item["state"] for item in held.json["results"]}
    assert held.exit_code == 2, held
    assert (states["broker broker-b", "registered"], states["group shipping", "lag"]) == ("error", "unknown")
    shown = run(*words).stdout
    assert "broker broker-b is not registered: the backlog of its queues is not known" in shown
    assert "next: mqctl playbook run broker-down -p broker=broker-b" in shown
    assert "playbook run backlog" not in shown
    metrics = run("export", "prometheus", "--once").stdout
    assert 'mqctl_group_lag_messages{cluster="DefaultCluster",group="shipping",topic="orders"} NaN' in metrics
    assert 'mqctl_unknown_parts{broker="broker-b",part="queues"} 1.0' in metrics
    assert 'mqctl_broker_up{broker="broker-b",broker_id="0",cluster="DefaultCluster"} 0.0' in metrics
    assert 'mqctl_broker_up{broker="broker-a",broker_id="0",cluster="DefaultCluster"} 1.0' in metrics
    assert 'mqctl_brokers_expected{cluster="DefaultCluster"} 2.0' in metrics


def test_lag_without_a_broker_is_part_of_the_lag(run: Run) -> None:
    whole = run("group", "lag", "shipping", "-o", "json")
    assert (whole.exit_code, whole.json["groups"][0]["lag_count"], "unavailable" in whole.json) == (0, 1, False)
    behind = run("group", "lag", "shipping", "--until", "lag=1", "--timeout", "30s")
    assert behind.exit_code == 0, behind
    assert run("local", "stop", "broker-b", "--kill").exit_code == 0
    shown = run("group", "lag", "shipping")
    assert (shown.exit_code, "incomplete, not read: consumer-offsets (broker-b)" in shown.stdout) == (3, True), shown
    assert "QUEUES SEEN  LAG AT LEAST  LAG TIME AT LEAST" in shown.stdout
    chinese = run("group", "lag", "shipping", lang="zh")
    assert "看到的队列  积压不少于  延迟时间不少于" in chinese.stdout
    assert "未读取 消费位点、队列（broker-b）：broker broker-b 没有注册：不知道它的队列里有多少" in chinese.stderr
    gaps = {(gap["broker"], gap["part"], gap["cause"]) for gap in run("group", "lag", "-o", "json").json["unavailable"]}
    assert gaps == {("broker-b", part, "unregistered") for part in ("consumer-offsets", "queues")}
    for condition in ("lag<=1", "lag=1", "lag(shipping)<100 and lag_time<1d"):
        until = run("group", "lag", "shipping", "--until", condition, "--timeout", "2s", "--every", "1s")
        assert (until.exit_code, f"not known whether {condition} holds" in until.stderr) == (3, True), until
    advised = run("group", "lag", "shipping", "--advise", "--window", "1s")
    assert (advised.exit_code, "incomplete, not read: queues (broker-b)" in advised.stdout) == (3, True), advised
    assert run("group", "lag", "--until", "lag>=1", "--timeout", "30s").exit_code == 0  # what is seen suffices


def test_a_group_whose_offsets_may_be_with_a_gone_broker_is_not_denied(run: Run) -> None:
    assert run("local", "stop", "broker-a", "--kill").exit_code == 0
    for words in (("shipping",), ()):
        lag = run("group", "lag", *words)
        assert (lag.exit_code, "never committed" in lag.stderr) == (3, False), lag
        assert "unknown: not everything could be asked" in lag.stdout
        assert "queues (broker-a)" in lag.stdout


@pytest.mark.parametrize(
    ("before", "told"),
    [(("doctor", "-g", "shipping"), "4 queues."), (("doctor",), "4 queues, from which 1 group consumes.")],
)
def test_what_a_gone_broker_had_is_remembered_by_any_look(run: Run, before: tuple[str, ...], told: str) -> None:
    run(*before)
    assert run("local", "stop", "broker-a", "--kill").exit_code == 0
    assert f"Out of reach with it: {told}" in run("doctor", "--only", "MQ617").stdout


def test_who_subscribes_what_a_gone_broker_had_counts_as_its_consumer(run: Run) -> None:
    (cluster,) = run("local", "status", "-o", "json").json["clusters"]
    with Peer(cluster["brokers"][0]["address"]) as peer:
        assert heartbeat(peer, "one", group="billing", subscriptions={"orders": "*"}).code == 0
        run("doctor", "--timeout", "5s")
        assert run("local", "stop", "broker-a", "--kill").exit_code == 0
    assert "4 queues, from which 2 groups consume." in run("doctor", "--only", "MQ617").stdout
    assert "它的 4 个队列取不到，涉及 2 个消费组" in run("doctor", "--only", "MQ617", lang="zh").stdout


def test_allocation_and_subscriptions_name_a_broker_that_is_gone(run: Run) -> None:
    assert run("allocation", "show", "-g", "shipping").exit_code == 0
    assert run("local", "stop", "broker-b", "--kill").exit_code == 0
    for noun in ("allocation", "lock"):
        shown = run(noun, "show", "-g", "shipping")
        assert (shown.exit_code, "incomplete, not read: queues (broker-b)" in shown.stdout) == (3, True), shown
    checked = run("subscription", "check")
    assert "subscription-groups (broker-b) not read: broker broker-b is not registered" in checked.stderr, checked


def test_a_broker_is_stopped_and_started_again_on_its_port(run: Run) -> None:
    before = run("broker", "list", "-o", "json").json["brokers"]
    assert run("local", "stop", "broker-b").exit_code == 0
    assert run("local", "stop", "broker-b").exit_code == 0  # it stays so
    started = run("local", "start", "broker-b")
    assert (started.exit_code, "broker-b is running" in started.stderr) == (0, True), started
    assert run("local", "status").exit_code == 0
    after = run("broker", "list", "-o", "json")
    assert [item["address"] for item in after.json["brokers"]] == [item["address"] for item in before]
    assert (after.exit_code, after.stderr) == (0, "")
    wrong = run("local", "stop", "broker-c")
    assert (wrong.exit_code, "did you mean broker-a" in wrong.stderr or "known: broker-a" in wrong.stderr) == (66, True)
    guess = run("local", "kill", "broker-b")
    assert (guess.exit_code, "next: mqctl local stop broker-b --kill" in guess.stderr) == (64, True), guess.stderr
