"""Masters under a controller: the controller says who is in sync with them, also of slaves that died."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.protocol.frame import RemotingCommand
from tests.client.wire_server import Peer, WireServer, closed_address, silent
from tests.conftest import Outcome
from tests.live.doctor.stage import BROKERS, Stage, staged

Mqctl = Callable[..., Outcome]
# Bodies of answers to 1006 as a controller of 5.3.3 gave them, but for the names and addresses of the brokers.
SLAVE_DEAD = (
    '{"replicasInfoTable":{"broker-a":{"inSyncReplicas":[{"alive":true,"brokerAddress":"127.0.0.1:31751","brokerId":1,'
    '"brokerName":"broker-a"}],"masterAddress":"127.0.0.1:31751","masterBrokerId":1,"masterEpoch":3,"notInSyncReplicas":'
    '[{"alive":false,"brokerAddress":"127.0.0.1:31761","brokerId":2,"brokerName":"broker-a"}],"syncStateSetEpoch":7}}}'
)
IN_SYNC = (
    '{"replicasInfoTable":{"broker-a":{"inSyncReplicas":[{"alive":true,"brokerAddress":"127.0.0.1:31751","brokerId":1,'
    '"brokerName":"broker-a"},{"alive":true,"brokerAddress":"127.0.0.1:31761","brokerId":2,"brokerName":"broker-a"}],'
    '"masterAddress":"127.0.0.1:31751","masterBrokerId":1,"masterEpoch":1,"notInSyncReplicas":[],"syncStateSetEpoch":2}}}'
)
SINGLE = (
    '{"replicasInfoTable":{"broker-a":{"inSyncReplicas":[{"alive":true,"brokerAddress":"127.0.0.1:31751","brokerId":1,'
    '"brokerName":"broker-a"}],"masterAddress":"127.0.0.1:31751","masterBrokerId":1,"masterEpoch":1,'
    '"notInSyncReplicas":[],"syncStateSetEpoch":1}}}'
)


@contextmanager
def controller(sets: str) -> Iterator[WireServer]:
    """A controller that leads, and answers every question for sync state sets alike."""

    def answer(peer: Peer, command: RemotingCommand) -> None:
        if command.code == 1005:
            leads = {"controllerLeaderId": "n0", "isLeader": "true", "controllerLeaderAddress": server.address}
            peer.send(command.answer(0, ext_fields=leads))
        else:
            assert (command.code, command.body) == (1006, b'["broker-a"]')
            peer.send(command.answer(0, body=sets.encode()))

    with WireServer(answer) as server:
        yield server


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as prepared:
        yield prepared


def judged(stage: Stage, mqctl: Mqctl, controllers: str) -> Outcome:
    stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=controllers)
    return mqctl("doctor", "-n", stage.cluster.namesrv, "--only", "MQ141", "--timeout", "5s", "-o", "json")


def test_a_master_whose_slaves_left_the_sync_state_set_is_named(stage: Stage, mqctl: Mqctl) -> None:
    with controller(SLAVE_DEAD) as leader:
        outcome = judged(stage, mqctl, f"{closed_address()};{leader.address}")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["subject"], outcome.exit_code) == ("MQ141", "broker-a", 2)
    assert "has 1 slave." in finding["what"]


@pytest.mark.parametrize("sets", [IN_SYNC, SINGLE], ids=["in sync", "single replica"])
def test_a_set_with_a_slave_and_a_master_that_never_had_one_are_fine(stage: Stage, mqctl: Mqctl, sets: str) -> None:
    with controller(sets) as leader:
        outcome = judged(stage, mqctl, leader.address)
    assert (outcome.json["findings"], outcome.json["not_judged"], outcome.exit_code) == ([], [], 0), outcome.stdout


@pytest.mark.parametrize("answer", [silent, None], ids=["silent", "gone"])
def test_a_controller_that_says_nothing_leaves_it_open(stage: Stage, mqctl: Mqctl, answer: object) -> None:
    if answer is None:
        outcome = judged(stage, mqctl, closed_address())
    else:
        with WireServer(silent) as server:
            outcome = judged(stage, mqctl, server.address)
    assert (outcome.json["findings"], outcome.exit_code) == ([], 3), outcome.stdout
    assert {gap["code"] for gap in outcome.json["not_judged"]} == {"MQ141"}


def test_ha_status_shows_the_sync_state_set_and_who_is_out_of_it(stage: Stage, mqctl: Mqctl) -> None:
    with controller(SLAVE_DEAD) as leader:
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=leader.address)
        words = ("ha", "status", "broker-a", "-n", stage.cluster.namesrv, "--timeout", "5s")
        wide, whole = mqctl(*words, "-o", "wide"), mqctl(*words, "-o", "json")
    assert "127.0.0.1:31751; out: 127.0.0.1:31761; epoch 3" in " ".join(wide.stdout.split()), wide.stdout
    assert "not elected (but with enableElectUncleanMaster): 127.0.0.1:31761 of broker-a" in " ".join(
        wide.stdout.split()
    )
    (row,) = whole.json["replicas"]
    assert (row["in_sync"], row["out_of_sync"]) == (["127.0.0.1:31751"], ["127.0.0.1:31761"])


@pytest.mark.parametrize("answer", [silent, None], ids=["silent", "gone"])
def test_controllers_that_say_nothing_are_named_and_what_brokers_tell_is_judged(
    stage: Stage, mqctl: Mqctl, answer: object
) -> None:
    """The sync state set is not known then, and nothing else: rules about slaves still speak."""
    with WireServer(silent) as server:
        controllers = server.address if answer is silent else closed_address()
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=controllers)
        words = ("doctor", "-n", stage.cluster.namesrv, "--timeout", "5s", "-o", "json")
        outcome = mqctl(*words, *(word for code in ("MQ134", "MQ139", "MQ141", "MQ142") for word in ("--only", code)))
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["confidence"], finding["evidence"]["silent_count"]) == ("MQ142", "medium", 1)
    assert controllers in finding["what"]
    assert {gap["code"] for gap in outcome.json["not_judged"]} == {"MQ141"}


def test_of_two_controllers_one_is_gone_and_one_leads(stage: Stage, mqctl: Mqctl) -> None:
    gone = closed_address()
    with controller(IN_SYNC) as leader:
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=f"{gone};{leader.address}")
        words = ("-n", stage.cluster.namesrv, "--timeout", "5s")
        outcome = mqctl("doctor", *words, "--only", "MQ142", "-o", "json")
        shown = mqctl("ha", "status", *words, "-o", "json").json["controllers"]
    (finding,) = outcome.json["findings"]
    assert (finding["severity"], outcome.exit_code) == ("warning", 1) and gone in finding["what"]
    assert sorted((item["address"], item["state"]) for item in shown) == sorted(
        [(gone, "silent"), (leader.address, "leads")]
    )


def test_controllers_without_a_leader_are_named(stage: Stage, mqctl: Mqctl) -> None:
    with WireServer(lambda peer, command: peer.send(command.answer(0, ext_fields={"isLeader": "false"}))) as server:
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=server.address)
        outcome = mqctl("doctor", "-n", stage.cluster.namesrv, "--timeout", "5s", "--only", "MQ142")
    assert "is set to have no leader" in outcome.stdout, outcome.stdout


def test_a_set_of_which_nobody_can_be_elected_is_named(stage: Stage, mqctl: Mqctl) -> None:
    dead = IN_SYNC.replace('"alive":true', '"alive":false').replace('"masterAddress":"127.0.0.1:31751",', "")
    with controller(dead) as leader:
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=leader.address)
        outcome = mqctl("doctor", "-n", stage.cluster.namesrv, "--timeout", "5s", "--only", "MQ142")
    assert "The controller has no master for broker-a" in outcome.stdout, outcome.stdout


def test_ha_status_shows_epochs_and_where_they_cut_a_slave(stage: Stage, mqctl: Mqctl) -> None:
    """Bodies as a 5.3.3 broker answered 1007, with one more epoch."""
    body = (
        '{"brokerId":0,"brokerName":"broker-a","clusterName":"DefaultCluster","epochList":[{"endOffset":9728,"epoch":1,'
        '"startOffset":0},{"endOffset":9223372036854775807,"epoch":5,"startOffset":9728}],"maxOffset":12800}'
    )
    with controller(IN_SYNC) as leader:
        stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=leader.address)
        stage.cluster.fault(1007, Answer(0, body=body.encode()), server=BROKERS[0])
        outcome = mqctl("ha", "status", BROKERS[0], "-n", stage.cluster.namesrv, "--timeout", "5s", "-o", "json")
    (row,) = outcome.json["replicas"]
    assert (row["epochs"], row["dead"], outcome.exit_code) == ("1@0, 5@9,728", [], 0), outcome.stderr


def test_ha_status_names_a_controller_that_says_nothing(stage: Stage, mqctl: Mqctl) -> None:
    gone = closed_address()
    stage.tell_settings(BROKERS[0], enableControllerMode="true", controllerAddr=gone)
    outcome = mqctl("ha", "status", "broker-a", "-n", stage.cluster.namesrv, "--timeout", "5s", "-o", "json")
    (row,) = outcome.json["replicas"]
    assert (row["in_sync"], outcome.exit_code) == (None, 69), outcome
    assert "controllers (broker-a) not read" in outcome.stderr and gone in outcome.stderr
