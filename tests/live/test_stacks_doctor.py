"""Stacks in a diagnosis: taken with the snapshot, judged from it, live or saved."""

from __future__ import annotations

from pathlib import Path

from mqctl.snapshot.archive import load
from tests.live.conftest import Consume, Run


def test_a_snapshot_carries_stacks_and_what_they_were_later(live: Run, consume: Consume, tmp_path: Path) -> None:
    consume("sleep")
    file = tmp_path / "with.snap"
    assert live("snapshot", "save", file, "--stacks").exit_code == 0
    (info,) = load(file).running
    assert info.stacks is not None
    texts = [info.stacks, *(item.text for item in info.later_stacks)]
    assert len(texts) == 3
    assert all("stack_states.py" in text and "ConsumeMessageThread_G_1" in text for text in texts)
    first, second = (item.taken_at_ms for item in info.later_stacks)
    assert second > first
    plain = tmp_path / "without.snap"
    assert live("snapshot", "save", plain).exit_code == 0
    assert [item.stacks for item in load(plain).running] == [None]
    refused = live("doctor", "--snapshot", file, "--stacks")
    assert (refused.exit_code, "--stacks belongs to a live cluster" in refused.stderr) == (64, True)
