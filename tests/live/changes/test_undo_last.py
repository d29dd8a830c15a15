"""`undo --last`: which change it means, that it is named before anything happens, and what it does not guess."""

from __future__ import annotations

from pathlib import Path

from tests.live.changes.test_topic_changes import sure
from tests.live.conftest import Run


def test_the_last_change_is_named_planned_and_undone_then_the_one_before(live: Run) -> None:
    topic = live("topic", "update", "-t", "Pay", "--queues", "4", *sure())
    reset = live("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", *sure("G"))
    plan = live("undo", "--last")
    assert plan.exit_code == 0
    assert plan.stderr.startswith(f"mqctl: the newest change is {reset.json['id']}, offset-reset of G on ")
    assert [item["id"] for item in live("history", "-o", "json").json["changes"]] == [
        reset.json["id"],
        topic.json["id"],
    ]
    (of_group,) = live("history", "-g", "G", "-o", "json").json["changes"]
    assert (of_group["id"], of_group["queues"]) == (reset.json["id"], reset.json["queues"])
    unsettled = live("undo", topic.json["id"], "--settle", "0s", *sure())
    assert (unsettled.exit_code, "--settle is for a change of offsets" in unsettled.stderr) == (64, True)
    undone = live("undo", "--last", *sure("G"))
    assert (undone.exit_code, undone.json["undoes"]) == (0, reset.json["id"]), undone.stderr
    before = live("undo", "--last", *sure())
    assert (before.exit_code, before.json["undoes"]) == (0, topic.json["id"]), before.stderr
    taken_back = [item["undone_by"] for item in live("history", "-o", "json").json["changes"]]
    assert taken_back == [None, None, undone.json["id"], before.json["id"]]
    assert "UNDONE BY" in live("history", "-o", "table").stdout
    nothing = live("undo", "--last", "--execute")
    assert (nothing.exit_code, "no change can be undone" in nothing.stderr) == (66, True), nothing.stderr


def test_one_of_id_and_last_is_given(live: Run) -> None:
    assert live("undo").exit_code == 64
    both = live("undo", "20261121-091500-3fa2", "--last")
    assert (both.exit_code, "cannot be combined" in both.stderr) == (64, True)


def test_a_record_that_cannot_be_read_may_be_the_newest(live: Run, tmp_path: Path) -> None:
    done = live("topic", "update", "-t", "Pay", "--queues", "4", *sure())
    (record,) = (tmp_path / "mqctl_state_dir").rglob(f"*{done.json['id']}*.json")
    record.with_name(record.name.replace(done.json["id"][:4], "2999")).write_text("{")
    refused = live("undo", "--last", *sure())
    assert (refused.exit_code, "cannot determine which change is the newest" in refused.stderr) == (76, True), (
        refused.stderr
    )
    assert live("undo", done.json["id"], *sure()).exit_code == 0
