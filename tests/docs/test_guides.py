"""The Python of the guides runs as it stands, as a test module of somebody who has installed mqctl."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs import markdown

GUIDES = [  # those in Chinese have the same blocks: test_site.py
    guide for guide in sorted((REPOSITORY / "docs" / "guides").glob("*.md")) if not guide.name.endswith(".zh.md")
]
MODULES = [block for guide in GUIDES for block in markdown.blocks(guide) if block.info == "python"]


def test_there_is_a_guide_for_each_user() -> None:
    assert {guide.stem for guide in GUIDES} >= {"on-call", "ci", "developer", "spark-analyst"}
    index = (REPOSITORY / "README.md").read_text()
    assert all(f"docs/guides/{guide.name}" in index for guide in GUIDES)


@pytest.mark.parametrize("block", MODULES, ids=lambda block: f"{block.file.name}:{block.line}")
def test_a_module_of_a_guide_passes(block: markdown.Block, tmp_path: Path) -> None:
    module = tmp_path / "test_as_shown.py"
    module.write_text(block.text)
    installed = entry_points(group="pytest11", name="embedded_broker")
    plugin = () if installed else ("-p", "embedded_broker.testing.pytest_plugin")
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "-W", "error", str(module)]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{block.text.count('def test_')} passed" in done.stdout
