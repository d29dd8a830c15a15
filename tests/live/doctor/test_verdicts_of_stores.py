"""Verdicts about stores: what stops a broker is named by file, and what a running one leaves is no damage."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded_broker import EmbeddedBroker
from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Storage
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_storage import put
from tests.embedded_broker.wire import Peer

Mqctl = Callable[..., Outcome]


def codes(outcome: Outcome) -> list[str]:
    return [item["code"] for item in outcome.json["findings"]]


def judged(mqctl: Mqctl, store: Path) -> Outcome:
    """MQ121 is left out: whether the directory of temporary files lies in memory is this machine's matter."""
    return mqctl("doctor", "--store", store, "--skip", "MQ121", "-o", "json")


@pytest.fixture
def store(store_copy: Callable[[str], Path]) -> Path:
    return store_copy("store-clean")


@pytest.fixture
def sound(mqctl: Mqctl, store: Path) -> set[str]:
    """What is found in the store as it was recorded."""
    return set(codes(judged(mqctl, store)))


@pytest.mark.quick
def test_a10_a_consume_queue_file_of_another_size_than_the_others_is_named(
    mqctl: Mqctl, store: Path, sound: set[str]
) -> None:
    files = sorted((store / "consumequeue").glob("*/*/" + "0" * 20))
    assert len({file.stat().st_size for file in files}) == 1 < len(files)
    victim = files[0]
    with victim.open("r+b") as opened:
        opened.truncate(victim.stat().st_size // 20 // 20 * 20)
    outcome = judged(mqctl, store)
    (finding,) = [item for item in outcome.json["findings"] if item["code"] not in sound]
    assert (finding["code"], finding["names"]["kind"]) == ("MQ104", "wrong_file_size")
    assert finding["subject"].endswith(victim.relative_to(store).as_posix())
    assert mqctl("store", "verify", "--store", store).exit_code == 2


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("topics.json", lambda table: {**table, "dataVersion": {"counter": "many", "timestamp": 1}}),
        ("subscriptionGroup.json", lambda table: {**table, "dataVersion": {"counter": [1], "timestamp": 1}}),
        ("consumerFilter.json", lambda table: {"filterDataByTopic": {"Pay": {"bornTime": float("inf")}}}),
    ],
)
def test_a11_the_file_that_no_broker_can_load_is_named(
    mqctl: Mqctl, store: Path, sound: set[str], name: str, spoil: Callable[[dict[str, object]], object]
) -> None:
    file = store / "config" / name
    text = json.dumps(spoil({})).replace("Infinity", "1e999")
    file.write_text(text)
    file.with_name(f"{name}.bak").unlink(missing_ok=True)
    verified = mqctl("store", "verify", "--store", store, "-o", "json")
    assert verified.exit_code == 2
    assert f"config/{name}" in {
        item["file"] for item in verified.json["deviations"] if item["code"] == "config_unparsable"
    }
    if name != "consumerFilter.json":
        assert "MQ106" in set(codes(judged(mqctl, store))) - sound


def test_a12_what_is_no_file_of_the_log_and_a_checkpoint_before_1970_are_named(
    mqctl: Mqctl, store: Path, sound: set[str]
) -> None:
    (store / "commitlog" / "old").mkdir()
    data = bytearray((store / "checkpoint").read_bytes())
    struct.pack_into(">qqq", data, 0, -5, -5, -5)
    (store / "checkpoint").write_bytes(data)
    outcome = judged(mqctl, store)
    new = {item["code"]: item for item in outcome.json["findings"] if item["code"] not in sound}
    assert new.keys() == {"MQ104", "MQ102"}
    assert (new["MQ104"]["names"]["kind"], new["MQ104"]["subject"]) == ("foreign_entry", "commitlog/old")


def test_a13_files_that_a_release_set_aside_without_a_note_stay_a_finding(
    mqctl: Mqctl, store: Path, sound: set[str]
) -> None:
    aside = store / "commitlog.set-aside"
    aside.mkdir()
    (aside / "00000000000000000000").write_bytes(b"x")
    outcome = judged(mqctl, store)
    (finding,) = [item for item in outcome.json["findings"] if item["code"] not in sound]
    assert (finding["code"], finding["severity"], finding["evidence"]["file_count"]) == ("MQ108", "error", 1)
    assert "commitlog.set-aside" in finding["what"]


@pytest.mark.quick
def test_a13_what_a_recovery_cuts_is_set_aside_and_stays_a_finding_until_it_is_acknowledged(
    mqctl: Mqctl, tmp_path: Path
) -> None:
    """64 bad bytes in the middle of the log: everything behind them is out of the log, and all of it is still there."""
    settings = StoreSettings(mapped_file_size_commit_log=1 << 16)
    clock = VirtualClock(1_795_218_000_000)
    broken = Storage(tmp_path, settings, clock)
    broken.open()
    for number in range(600):
        put(broken, f"body {number}".encode().ljust(300, b"."), queue_id=number % 2)
    broken.flush()
    victim = broken.message_at(broken.entries("TopicTest", 0, 50, 1)[0][0])
    at = broken.entries("TopicTest", 0, 50, 1)[0][0]
    broken.abandon()
    assert victim is not None
    log = sorted((tmp_path / "commitlog").iterdir())
    assert len(log) > 3
    with log[0].open("r+b") as file:
        file.seek(at)
        file.write(bytes(range(64)))
    (tmp_path / "checkpoint").unlink()
    lost = {path.name: path.read_bytes() for path in log[1:]}

    storage = Storage(tmp_path, settings, clock)
    recovery = storage.open()
    storage.close()

    place = tmp_path / "commitlog.set-aside" / f"{at:020d}"
    assert (recovery.log_end, recovery.set_aside, recovery.sound_record_count) == (at, str(place), 600 - 101)
    assert {path.name: path.read_bytes() for path in sorted((place / "commitlog").iterdir())[1:]} == lost
    note = json.loads((place / "note.json").read_text())
    assert (note["reason"], note["at_ms"], note["sound_record_count"]) == ("cut", clock.now_ms(), 499)

    def found() -> list[str]:
        return [item["what"] for item in judged(mqctl, tmp_path).json["findings"] if item["code"] == "MQ108"]

    (finding,) = found()
    assert "499 sound records" in finding and f"commitlog.set-aside/{at:020d}" in finding
    shown = mqctl("store", "cat", "--store", place, "-t", "TopicTest", "-q", "0", "--offset", "51", "--count", "1")
    assert "body 102" in shown.stdout

    command = ("store", "acknowledge", "--store", tmp_path)
    assert mqctl(*command).exit_code == 0
    assert len(found()) == 1
    done = mqctl(*command, "--execute", "--confirm", tmp_path.name)
    assert (done.exit_code, found()) == (0, [])
    assert mqctl(*command, "--execute", "--confirm", tmp_path.name).exit_code == 0
    assert mqctl("undo", "--last", "--execute", "--confirm", tmp_path.name).exit_code == 0
    assert len(found()) == 1


def test_f2_the_store_of_a_running_broker_is_no_damage(mqctl: Mqctl) -> None:
    with EmbeddedBroker() as broker:
        with Peer(broker.address) as peer:
            for _ in range(20):
                assert peer.call(send("TBW102", properties={}), b"x").code == 0
        outcome = judged(mqctl, broker.store)
        (finding,) = [item for item in outcome.json["findings"] if item["severity"] != "info"] or [None]
        assert finding is None, finding
        assert outcome.exit_code == 0, outcome.json["not_judged"]
        (runs,) = [item for item in outcome.json["findings"] if item["code"] == "MQ101"]
        assert (runs["names"]["pid"] > 0, runs["evidence"]["started_time_ms"] > 0) == (True, True)
        broker.kill()
        (killed,) = [item for item in judged(mqctl, broker.store).json["findings"] if item["code"] == "MQ101"]
        assert killed["severity"] == "warning"
