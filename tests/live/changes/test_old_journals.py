"""Journals of before all changes had one record, `tests/changes/engine/old_journals`, are read, finished and undone."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.changes.engine.journal import Journal
from mqctl.changes.steps.delay_files import FILES
from mqctl.client.admin.broker_changes import commit_offset
from tests.conftest import REPOSITORY
from tests.live.conftest import Run, change

OLD = REPOSITORY / "tests" / "changes" / "engine" / "old_journals"
RESET, UPDATE, REPAIR = "20261122-133240-86db", "20261122-133240-9eb1", "20261122-133245-63fb"
RESEND, PUBLISHED, BY_GROUP = "20261122-133244-24ae", "20261122-133242-0394", "20261122-133243-f601"


@pytest.fixture
def old(cluster: EmbeddedCluster, tmp_path: Path) -> Path:
    """What an earlier mqctl kept, of changes made on this cluster and on the store `tmp_path / store`."""
    state = tmp_path / "mqctl_state_dir"
    copytree(OLD, state)
    places = {
        "BROKER_A": cluster.broker("broker-a").address,
        "BROKER_B": cluster.broker("broker-b").address,
        '"/store"': f'"{tmp_path / "store"}"',
    }
    for file in state.rglob("*.*json"):
        text = file.read_text()
        for name, value in places.items():
            text = text.replace(name, value)
        file.write_text(text)
    return state


def test_history_knows_them_and_how_to_take_them_back(live: Run, old: Path) -> None:
    listed = {item["id"]: item for item in live("history", "-o", "json").json["changes"]}
    changes = {name: (item["kind"], item["subject"], item["state"], item["back"]) for name, item in listed.items()}
    store = str(old.parent / "store")
    assert changes == {
        RESET: ("offset-reset", "G", "confirmed", f"mqctl undo {RESET}"),
        BY_GROUP: ("replay-group", "H", "confirmed", f"mqctl undo {BY_GROUP}"),
        UPDATE: ("topic-update", "Pay", "confirmed", f"mqctl undo {UPDATE}"),
        RESEND: ("dlq-resend", "G", "sent", None),
        PUBLISHED: ("replay-publish", "Again", "complete", None),
        REPAIR: ("delay-repair", store, "confirmed", f"mqctl delay repair --undo {REPAIR}"),
    }
    listed = {item["id"]: item for item in live("replay", "status", "-o", "json").json["replays"]}
    replays = {name: (item["kind"], item["state"]) for name, item in listed.items()}
    assert replays == {PUBLISHED: ("publish", "complete"), BY_GROUP: ("group", "unknown")}


def test_offsets_and_settings_go_back(live: Run, old: Path, cluster: EmbeddedCluster) -> None:
    for name in ("broker-a", "broker-b"):
        change(cluster, name, commit_offset("G", "Pay", 0, 5))  # as that reset left them
    assert live("topic", "update", "-t", "Pay", "--perm", "R", "--execute", "--confirm", "Pay").exit_code == 0
    undone = live("undo", RESET, "--execute", "--confirm", "G", "-o", "json")
    assert (undone.exit_code, undone.json["undoes"]) == (0, RESET), undone.stderr
    assert {row["found"] for row in undone.json["queues"]} == {3}
    undone = live("undo", UPDATE, "--execute", "--confirm", "Pay", "-o", "json")
    assert (undone.exit_code, undone.json["undoes"]) == (0, UPDATE), undone.stderr
    assert {step["found"]["perm"] for step in undone.json["steps"]} == {"6"}


def test_a_repair_goes_back(live: Run, old: Path, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / "store" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "store" / name).write_text('{\n\t"offsetTable":{1:3,2:3,3:3,4:3\n\t}\n}')
    undone = live("undo", REPAIR, "--execute", "--confirm", "store", "-o", "json")
    assert (undone.exit_code, undone.json["undoes"]) == (0, REPAIR), undone.stderr
    assert "{1:9," in (tmp_path / "store" / FILES[0]).read_text()


def test_what_is_complete_is_not_done_again(live: Run, old: Path) -> None:
    resume = live("replay", "resume", PUBLISHED, "--execute", "--confirm", "Again")
    assert (resume.exit_code, "is complete" in resume.stderr) == (76, True), resume.stderr
    rest = live("offset", "reset", "--resume", RESET, "--execute", "--confirm", "G")
    assert (rest.exit_code, "is complete" in rest.stderr) == (76, True), rest.stderr


def test_a_reset_that_was_cut_off_is_finished(live: Run, old: Path) -> None:
    file = old / "journal" / f"{RESET}.json"
    file.write_text(file.read_text().replace('"confirmed"', '"planned"').replace('"ended": true', '"ended": false'))
    done = live("offset", "reset", "--resume", RESET, "--execute", "--confirm", "G", "-o", "json")
    assert (done.exit_code, {row["found"] for row in done.json["queues"]}) == (0, {5}), done.stderr
    undone = live("undo", RESET, "--execute", "--confirm", "G", "-o", "json")
    assert (undone.exit_code, {row["found"] for row in undone.json["queues"]}) == (0, {3}), undone.stderr


def test_a_resend_that_was_cut_off_keeps_what_was_sent(live: Run, old: Path) -> None:
    """Its lines say `sent` for what is `confirmed` now, and `sending` for what is `sent` now."""
    file = old / "journal" / "resends" / f"{RESEND}.ndjson"
    head, *lines = file.read_bytes().split(b"\n\n")
    file.write_bytes(b"\n\n".join([head, *lines[:3]]))
    states = [part.state for part in Journal(old).resends.read(RESEND).parts]
    assert states == ["confirmed", "sent", "planned", "planned"]
    (entry,) = [item for item in live("history", "-o", "json").json["changes"] if item["id"] == RESEND]
    assert (entry["state"], entry["back"]) == ("interrupted", f"mqctl dlq resend -g G --resume {RESEND}")
