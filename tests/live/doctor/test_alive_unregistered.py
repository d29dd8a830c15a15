"""A broker that runs and whose registrations get lost: it is told from a dead one, and is asked by its address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.route import AddressAnswer, SeenBroker
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.missed import try_addresses
from tests.client.consuming import wait_until
from tests.client.wire_server import Answer, WireServer, answering, closed_address, silent
from tests.each import each
from tests.live.conftest import Run


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2) as cluster:
        yield cluster


@pytest.fixture
def asked(mqctl: Run, running: EmbeddedCluster, tmp_path: Path) -> Run:
    places = {"MQCTL_NAMESRV": running.namesrv, "MQCTL_STATE_DIR": str(tmp_path)}
    return lambda *words, **more: mqctl(*words, env={**places, **more.get("env", {})})


@pytest.fixture
def lost(running: EmbeddedCluster, asked: Run) -> Iterator[str]:
    """The address of broker-b, which was seen, runs, and is registered nowhere."""
    assert asked("doctor").exit_code == 0
    running.fault(103, Drop(), where={"brokerName": "broker-b"})
    running.broker("broker-b").restart()
    wait_until(lambda: not _lists(running, "broker-b"), "broker-b is listed nowhere")
    yield running.broker("broker-b").address
    running.clear_faults()
    running.broker("broker-b").restart()
    wait_until(lambda: _lists(running, "broker-b"), "broker-b is listed again")


def _lists(running: EmbeddedCluster, name: str) -> bool:
    with Cluster(running.namesrv) as cluster:
        return name in {item.broker_name for item in cluster.brokers()}


def test_it_runs_and_its_registrations_do_not_count(asked: Run, running: EmbeddedCluster, lost: str) -> None:
    outcome = asked("doctor", "--only", "MQ617", "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["subject"], finding["severity"]) == (2, "broker-b", "error")
    assert f"it answers at {lost} as broker-b: it runs and its registrations do not count." in finding["what"]
    assert "namesrvAddr" in finding["advice"] and "broker.log" in finding["advice"]
    shown = finding["evidence"]
    assert (shown["answered_name"], shown["answered_id"]) == ("broker-b", 0)
    assert "它在运行，只是注册没有生效" in asked("doctor", "--only", "MQ617", "--lang", "zh").stdout
    running.broker("broker-b").kill()
    dead = asked("doctor", "--only", "MQ617", "-o", "json")
    running.broker("broker-b").start()
    (finding,) = dead.json["findings"]
    assert "it was registered at 20" in finding["what"] and "are alive" in finding["advice"]
    assert lost in finding["evidence"]["answer_problem"]


def test_it_is_asked_by_its_address(asked: Run, lost: str) -> None:
    outcome = asked("broker", "describe", lost, "-o", "json")
    row = outcome.json["broker"]
    assert (outcome.exit_code, row["name"], row["broker_id"], row["registered"]) == (0, "broker-b", 0, False)
    assert (row["problem"], bool(outcome.json["raw"])) == ("not registered: no name server lists it", True)
    reached = asked("broker", "reach", lost, "-o", "json")
    ports = [(port["role"], port["broker"], port["state"]) for port in reached.json["ports"]]
    assert (reached.exit_code, ("broker", "broker-b", "answers") in ports) == (0, True), reached
    said = f"{lost} is not registered: no name server lists broker-b (id 0), which answers there"
    for words in (("stats", "--key", "put*"), ("config", "--key", "namesrvAddr")):
        answered = asked("broker", *words[:1], lost, "broker-a", *words[1:], "-o", "json")
        assert {item["broker"] for item in answered.json["settings"]} == {"broker-a", "broker-b"}, answered
        assert (answered.exit_code, said in answered.stderr) == (0, True), answered.stderr
    assert said in outcome.stderr and said in reached.stderr
    assert f"{lost} 未注册" in asked("broker", "describe", lost, env={"MQCTL_LANG": "zh"}).stderr


@each("verb", ["describe", "config", "stats", "reach"])
def test_an_address_at_which_nobody_answers_is_said_with_what_was_tried(asked: Run, verb: str) -> None:
    address = closed_address()
    outcome = asked("broker", verb, address)
    assert outcome.exit_code == 69, outcome
    shown = outcome.stderr + outcome.stdout
    assert (shown.count(address) > 1, "onnection refused" in shown, address in outcome.stderr) == (True,) * 3, shown


@each("verb", ["describe", "config", "stats", "reach"])
@each("name", ["broker-z", "10.0.0.1", "10.0.0.1:", ":10911", "10.0.0.1:port", "a:70000"])
def test_a_name_that_is_no_address_is_unknown(asked: Run, verb: str, name: str) -> None:
    outcome = asked("broker", verb, name)
    assert (outcome.exit_code, "known: broker-a, broker-b" in outcome.stderr) == (66, True), outcome.stderr


def test_a_registered_broker_by_another_address_of_it_is_listed(asked: Run, running: EmbeddedCluster) -> None:
    address = running.broker("broker-a").address
    other = f"localhost:{address.rpartition(':')[2]}"
    outcome = asked("broker", "describe", other, "-o", "json")
    assert (outcome.json["broker"]["registered"], outcome.json["broker"]["problem"]) == (True, None)
    assert f"broker-a (id 0), which answers there, is listed as {address}" in outcome.stderr


def _properties(name: str, broker_id: int) -> Answer:
    return answering(body=f"brokerName={name}\nbrokerId={broker_id}\nnamesrvAddr=192.0.2.1:9876\n".encode())


@each(
    "answer, expected",
    [
        (_properties("own", 1), AddressAnswer(name="own", broker_id=1, namesrv="192.0.2.1:9876")),
        (_properties("other", 0), AddressAnswer(name="other", broker_id=0, namesrv="192.0.2.1:9876")),
        (answering(body=b""), AddressAnswer()),
        (answering(16, remark="no"), "no"),
        (silent, "no answer within"),
    ],
)
def test_whoever_answers_at_an_address_is_told(
    running: EmbeddedCluster, answer: Answer, expected: AddressAnswer | str
) -> None:
    with WireServer(answer) as server, Cluster(running.namesrv) as cluster:
        places = {"own": server.address, "gone": closed_address(), "unknown": None}
        missed = [SeenBroker(cluster="C", name=name, address=address) for name, address in places.items()]
        own, gone, unknown = try_addresses(Asking(cluster, Deadline(60_000)), missed)()
    assert own.answer is not None and gone.answer is not None
    if isinstance(expected, str):
        assert expected in str(own.answer.problem) and own.answer.name is None
    else:
        assert own.answer == expected
    assert (gone.answer.name, str(places["gone"]) in str(gone.answer.problem)) == (None, True)
    assert unknown.answer is None
