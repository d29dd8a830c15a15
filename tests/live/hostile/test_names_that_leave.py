"""Names and ids on the command line that would lead out of the directory where such files are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.live.conftest import Run

OUT = "../../evil"
NAMES: tuple[tuple[str, ...], ...] = (
    ("undo", OUT),
    ("undo", "../evil"),
    ("replay", "resume", OUT),
    ("replay", "status", "../evil"),
    ("local", "up", "--name", OUT),
    ("local", "down", "--name", OUT),
    ("local", "logs", "--name", OUT),
    ("local", "scenario", "run", OUT),
    ("playbook", "show", OUT),
    ("playbook", "run", OUT),
    ("profile", "add", OUT, "--namesrv", "127.0.0.1:9876"),
    ("profile", "use", OUT),
)


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_nothing_outside_is_read_or_written(live: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    state = tmp_path / "mqctl_state_dir"
    for name in ("journal/settings", "journal/resends", "replays", "local"):
        (state / name).mkdir(parents=True)
    for place in (tmp_path, state, state / "journal"):
        for suffix in ("json", "ndjson", "yaml", "log", "plan.json"):
            (place / f"evil.{suffix}").write_text("not to be read")
    before = sorted(tmp_path.rglob("*evil*"))
    outcome = live(*words)
    assert outcome.exit_code in (64, 65, 66), outcome
    assert "not to be read" not in outcome.stdout + outcome.stderr
    assert "could not read" not in outcome.stderr
    assert sorted(tmp_path.rglob("*evil*")) == before
    shutil.rmtree(state)
