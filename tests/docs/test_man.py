"""The man pages: one for each first word, complete, and sound to the programs that show them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from mqctl.cli import catalog
from mqctl.main import load_command
from tests.each import each
from tests.requires import need_program

NAMES = ("mqctl", *(f"mqctl-{word}" for word in catalog.children(())))


def test_there_is_a_page_for_each_first_word(references: Path) -> None:
    assert {page.stem for page in (references / "man").iterdir()} == set(NAMES)


@each("name", NAMES)
def test_mandoc_has_nothing_to_object(references: Path, name: str) -> None:
    need_program("mandoc")
    page = references / "man" / f"{name}.1"
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@each("name", NAMES)
def test_man_shows_every_command_and_option(references: Path, name: str) -> None:
    need_program("man")
    page = references / "man" / f"{name}.1"
    env = {"PATH": os.environ["PATH"], "MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "MAN_DISABLE_SECCOMP": "1"}
    done = subprocess.run(
        ["man", "--warnings=w", "-P", "cat", "-l", page], capture_output=True, text=True, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for entry in catalog.ENTRIES:
        if page.stem != f"mqctl-{entry.path[0]}":
            continue
        built: Any = load_command(entry.path)
        assert f"mqctl {' '.join(entry.path)} [options]" in shown
        for name in (name for parameter in built.params for name in parameter.opts if name.startswith("-")):
            assert name in shown, name
        for example in built.examples:
            assert " ".join(example.split()) in shown
