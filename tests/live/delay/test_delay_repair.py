"""`mqctl delay repair`: plans change nothing, both files are written, undo restores them, lost messages come once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.message_record import decode_messages
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run
from tests.live.delay.test_delay import Standing, codes, standing
from tests.snapshot.test_delay_faults import GOOD, RECOVERED, Offsets, record

__all__ = ["standing"]
_SENDS = {10, 310, 320}
FILES = ("config/delayOffset.json", "config/delayOffset.json.bak")


@pytest.fixture
def state(mqctl: Run, tmp_path: Path) -> Run:
    """Runs mqctl with a journal of its own."""
    return lambda *words, **more: mqctl(*words, env={"MQCTL_STATE_DIR": str(tmp_path / "state"), **more.get("env", {})})


def texts(root: Path) -> list[str | None]:
    return [(root / name).read_text() if (root / name).exists() else None for name in FILES]


def planned(outcome: Outcome) -> dict[str, tuple[Any, Any]]:
    return {step["subject"]: (step["old"], step["new"]) for step in outcome.json["steps"]}


CASES: dict[str, tuple[Offsets | None, dict[str, tuple[Any, Any]]]] = {
    "D1 beyond": (GOOD | {1: 9}, {"level 1": ("9", "3")}),
    "D2 below": (GOOD | {1: -4}, {"level 1": ("-4", "3")}),
    "D3 level missing": ({2: 3, 3: 3, 4: 3}, {"level 1": (None, "3")}),
    "D4 file lost": (None, {f"level {level}": (None, "3") for level in (1, 2, 3, 4)}),
    "D6 stale": (GOOD | {1: 1, 3: 2}, {"level 1": ("1", "3"), "level 3": ("2", "3")}),
    "no level": (GOOD | {"x": 4}, {"key x": ("x", None)}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_repaired_store_is_fine_and_undo_brings_the_files_back(
    state: Run, store_copy: Callable[[str], Path], name: str
) -> None:
    offsets, expected = CASES[name]
    root = record(store_copy(RECOVERED), offsets or GOOD)
    if offsets is None:
        for file in FILES:
            (root / file).unlink()
    before = texts(root)
    words = ("delay", "repair", "--store", root, "-o", "json")
    plan = state(*words)
    assert (plan.exit_code, plan.json["state"], planned(plan)) == (0, "planned", expected), plan.stderr
    assert state(*words, "--execute").exit_code == 76
    assert state(*words, "--execute", "--confirm", "other").exit_code == 64
    assert texts(root) == before
    done = state(*words, "--execute", "--confirm", root.name)
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    main, backup = texts(root)
    assert main == backup == '{\n\t"offsetTable":{1:3,2:3,3:3,4:3\n\t}\n}'
    assert state("delay", "check", "--store", root).exit_code == 0
    assert state(*words).json["state"] == "nothing-to-do"
    undone = state("delay", "repair", "--undo", done.json["id"], "--execute", "--confirm", root.name, "-o", "json")
    assert (undone.exit_code, undone.json["undoes"], texts(root)) == (0, done.json["id"], before), undone.stderr


def test_the_backup_alone_becomes_the_file_again(state: Run, store_copy: Callable[[str], Path]) -> None:
    root = record(store_copy(RECOVERED), GOOD)
    (root / FILES[0]).write_text('{"offsetTable":{1:')
    done = state("delay", "repair", "--store", root, "--execute", "--confirm", root.name, "-o", "json")
    assert planned(done).keys() == {FILES[0]}
    assert texts(root)[0] == texts(root)[1]


def test_a_wish_is_taken_and_tells_what_it_loses(state: Run, tmp_path: Path) -> None:
    from tests.snapshot.test_delay_faults import START, scheduled

    root = scheduled(tmp_path / "store", [7_200_000] * 5, recorded={18: 0}, level=18)
    words = ("delay", "repair", "--store", root, "--at", START + 1_000)
    plan = state(*words, "--set", "18=4", "-o", "json")
    assert planned(plan) == {"level 18": ("0", "4")}
    assert "4 messages never delivered" in plan.json["steps"][0]["effect"]
    for words_, code in ((("--set", "18=9"), 64), (("--set", "77=0"), 64), (("--set", "x"), 64)):
        assert state(*words, *words_).exit_code == code


def test_a_store_in_use_is_not_written(state: Run, tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path / "data") as cluster:
        root = cluster.broker().store
        plan = state("delay", "repair", "--store", root)
        assert (plan.exit_code, "is using this store" in plan.stderr) == (0, True)
        refused = state("delay", "repair", "--store", root, "--execute", "--confirm", root.name)
        assert (refused.exit_code, "stop that broker" in refused.stderr) == (76, True)


def test_undo_refuses_what_a_broker_has_written_since(state: Run, store_copy: Callable[[str], Path]) -> None:
    root = record(store_copy(RECOVERED), GOOD | {1: 1})
    done = state("delay", "repair", "--store", root, "--execute", "--confirm", root.name, "-o", "json")
    record(root, GOOD | {1: 2})
    undone = state("delay", "repair", "--undo", done.json["id"], "--execute", "--confirm", root.name)
    assert (undone.exit_code, "has changed since: a broker ran" in undone.stderr) == (65, True)
    assert state("delay", "repair", "--undo", "nothing").exit_code == 66


def delivered(cluster: EmbeddedCluster) -> list[bytes]:
    with Peer(cluster.broker().address) as peer:
        answer = peer.call(pull("Pay", 0))
        return [message.body for message in decode_messages(answer.body)] if answer.code == 0 else []


@pytest.mark.parametrize("reached", [0, 1, 2])
def test_undo_takes_a_repair_back_that_was_killed(
    state: Run, store_copy: Callable[[str], Path], tmp_path: Path, reached: int
) -> None:
    """The record says before the first file what both will hold; of a killed repair one may be new and one old."""
    root = record(store_copy(RECOVERED), GOOD | {1: 9})
    before = texts(root)
    done = state("delay", "repair", "--store", root, "-o", "json", "--execute", "--confirm", root.name)
    (journal,) = (tmp_path / "state" / "journal" / "delay-repair").glob("*.json")
    change = json.loads(journal.read_text())
    change |= {"ended": False, "parts": [{**part, "state": "planned", "found": None} for part in change["parts"]]}
    journal.write_text(json.dumps(change))
    for name, text in list(zip(FILES, before, strict=True))[: 2 - reached]:  # the backup is written first
        (root / name).write_text(text or "")
    (entry,) = state("history", "-o", "json").json["changes"]
    assert (entry["state"], entry["back"]) == ("interrupted", f"mqctl delay repair --undo {done.json['id']}")
    undone = state("delay", "repair", "--undo", done.json["id"], "--execute", "--confirm", root.name)
    assert (undone.exit_code, texts(root)) == (0 if reached else 76, before), undone.stderr


@pytest.mark.both_releases
def test_messages_on_a_level_that_is_gone_are_sent_again_once(standing: Standing, state: Run) -> None:
    standing.delayed(18, 3)
    standing.set_clock(standing.cluster.now_ms() - 3 * 3_600_000)
    standing.delayed(17, 1)
    standing.levels("1s 5s")
    standing.cluster.record_requests()
    env = {"MQCTL_NAMESRV": standing.cluster.namesrv}
    words = ("delay", "repair", "--resend", "--level", "17", "-o", "json")
    plan = state(*words, env=env)
    (step,) = plan.json["steps"]
    assert (plan.exit_code, step["new"]) == (0, "sent to Pay, at once")
    assert [item for item in standing.cluster.requests() if item.code in _SENDS] == []
    done = state(*words, "--execute", "--confirm", "broker-a", env=env)
    assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
    assert delivered(standing.cluster) == [b"later"]
    again = state(*words, "--execute", "--confirm", "broker-a", env=env)
    assert [item["reason"] for item in again.json["steps"]] == ["a delivered copy exists"]
    rest = state("delay", "repair", "--resend", "-o", "json", env=env).json["steps"]
    five = standing.cluster.spec.version.startswith("5")
    assert [item["state"] for item in rest] == ["impossible", *(["planned"] * 3 if five else ["impossible"] * 3)]


def test_messages_of_a_backup_are_sent_to_a_cluster(standing: Standing, state: Run) -> None:
    standing.delayed(2, 4)
    standing.cluster.broker().stop()
    with EmbeddedCluster() as other:
        env = {"MQCTL_NAMESRV": other.namesrv}
        words = ("--level", "2", "--from", "1", "--until", "3", "--execute", "--confirm", "broker-a", "-o", "json")
        done = state("delay", "repair", "--resend", "--store", standing.cluster.broker().store, *words, env=env)
        assert (done.exit_code, len(done.json["steps"])) == (1, 2), "the topic is not there: named, nothing sent"
        with Peer(other.broker().address) as peer:
            from tests.embedded_broker.messages import send

            peer.call(send("Pay", properties={"UNIQ_KEY": "first"}), b"first")
        done = state("delay", "repair", "--resend", "--store", standing.cluster.broker().store, *words, env=env)
        assert (done.exit_code, done.json["state"]) == (0, "confirmed"), done.stderr
        assert codes(state("delay", "check", "-o", "json", env=env)) == []


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("config/delayOffset.json.mqctl", False),
        ("config/delayOffset.json", True),
        ("config/delayOffset.json.bak", True),
        ("lock", True),
        ("config", True),
    ],
)
def test_a_planted_link_is_never_written_through(
    state: Run, store_copy: Callable[[str], Path], tmp_path: Path, name: str, refused: bool
) -> None:
    """Whoever owns a store must not have the operator, root above all, write, make or chmod a file elsewhere."""
    root = record(store_copy(RECOVERED), GOOD | {1: 9})
    (root / "lock").unlink(missing_ok=True)
    elsewhere = tmp_path / "elsewhere"
    if name == "config":
        (root / name).rename(elsewhere)
    elif refused and name != "lock":
        (root / name).replace(elsewhere)
    elif name != "lock":
        elsewhere.write_text("precious")
    (root / name).symlink_to(elsewhere)
    if elsewhere.is_file():
        elsewhere.chmod(0o600)

    def look() -> list[tuple[str, int, bytes]]:
        files = [elsewhere, *sorted(elsewhere.iterdir())] if elsewhere.is_dir() else [elsewhere]
        return [(one.name, one.stat().st_mode, one.read_bytes()) for one in files if one.is_file()]

    before = look()
    outcome = state("delay", "repair", "--store", root, "--execute", "--confirm", root.name)
    assert (outcome.exit_code != 0) is refused, outcome
    assert "Traceback" not in outcome.stderr and "bug" not in outcome.stderr, outcome
    assert look() == before
    assert (root / name).is_symlink()
