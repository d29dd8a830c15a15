"""Commands on a store that cannot be written: mounted read-only, where the machine allows a mount."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

# In a mount namespace of its own: nothing is left mounted behind.
_SCRIPT = """
mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" || exit 100
touch "$2/probe" 2>/dev/null && exit 101
shift
store=$1; shift
exec "$@" --store "$store"
"""


def run_read_only(store: Path, mount_point: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs `mqctl` on `store` as seen through a read-only bind mount."""
    command = ["unshare", "-m", "bash", "-c", _SCRIPT, "-", str(store), str(mount_point), sys.executable, "-m", "mqctl"]
    return subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TZ": "UTC"},
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["doctor"], 1),
        (["store", "verify"], 1),
        (["group", "lag"], 0),
        (["delay", "check"], 0),
        (["store", "describe"], 0),
    ],
)
def test_a_read_only_mount_is_enough(
    store_copy: Callable[[str], Path], tmp_path: Path, words: list[str], expected: int
) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: a private mount namespace cannot be made")
    mount_point = tmp_path / "mounted"
    mount_point.mkdir()
    outcome = run_read_only(store_copy("store-killed"), mount_point, *words)
    if outcome.returncode == 100 or "unshare" in outcome.stderr:
        pytest.skip(f"this machine allows no bind mount: {outcome.stderr.strip()}")
    assert (outcome.returncode, outcome.stderr) == (expected, "")
    assert outcome.stdout
