"""The commands that read a broker's store, on one that the embedded broker wrote and closed, or was writing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]
MESSAGES, DELAYED_EVERY, WAITING = 200, 10, 7


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a broker that took keyed and delayed messages and was stopped."""
    data_dir = tmp_path_factory.mktemp("written")
    cluster = EmbeddedCluster(data_dir=data_dir, virtual_time=True, version=request.param)
    with cluster, Peer(cluster.broker().address) as peer:
        for number in range(MESSAGES):
            delay = {"DELAY": "2"} if number % DELAYED_EVERY == 0 else {}
            properties = {"KEYS": f"k{number} order", "UNIQ_KEY": f"{number:032X}", "TAGS": "TagA", **delay}
            assert peer.call(send("T", queue_id=number % 4, properties=properties), b"%d" % number).code == 0
        cluster.advance(7_000)
        for number in range(WAITING):
            assert peer.call(send("T", queue_id=0, properties={"DELAY": "18"}), b"%d" % number).code == 0
        assert peer.call(pull("T", 0, queue_id=1, commit=20)).code == 0
    return data_dir / "broker-a"


def test_store_verify_finds_nothing(root: Path, mqctl: Run) -> None:
    outcome = mqctl("store", "verify", "--store", root, "-o", "json")
    assert (outcome.exit_code, outcome.stderr, outcome.json["deviations"]) == (0, "", [])
    stored = MESSAGES + MESSAGES // DELAYED_EVERY + WAITING
    assert (outcome.json["summary"]["record_count"], outcome.json["summary"]["queue_entry_count"]) == (stored, stored)


def test_the_doctor_finds_nothing(root: Path, mqctl: Run) -> None:
    outcome = mqctl("doctor", "--store", root, "-o", "json")
    assert (outcome.exit_code, outcome.json["findings"]) == (0, [])


def test_delay_check_counts_who_waits(root: Path, mqctl: Run) -> None:
    outcome = mqctl("delay", "check", "--store", root, "-o", "json")
    assert outcome.exit_code == 0
    levels = {level["level"]: level for level in outcome.json["levels"]}
    assert levels[2]["recorded_offset"] == MESSAGES // DELAYED_EVERY
    assert levels[18]["waiting_count"] == WAITING


def test_a_message_is_shown_by_its_key(root: Path, mqctl: Run) -> None:
    outcome = mqctl("store", "cat", "--store", root, "--topic", "T", "--key", "k33", "-o", "json")
    assert outcome.exit_code == 0
    assert [message["queue_id"] for message in outcome.json["messages"]] == [1]


def test_a_running_broker_s_store_shows_that_it_runs(tmp_path: Path, mqctl: Run) -> None:
    with EmbeddedCluster(data_dir=tmp_path) as cluster, Peer(cluster.broker().address) as peer:
        for number in range(50):
            assert peer.call(send("T", queue_id=number % 4), b"x").code == 0
        outcome = mqctl("store", "verify", "--store", tmp_path / "broker-a", "-o", "json")
    assert outcome.exit_code in {0, 1}
    assert not [one for one in outcome.json["deviations"] if one["grade"] == "damage"]
