"""The limit on subjects of commits, as the hook and CI hold it; and hooks that need no network."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY

SCRIPT = REPOSITORY / ".ci" / "subject.py"
FITS, TOO_LONG = "x" * 72, "x" * 73

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Git in a new repository with one commit, whose subject is too long; settings of the machine are left out."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where a hook of git runs the tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")

    def run(*words: str, at: Path = tmp_path / "here") -> str:
        at.mkdir(exist_ok=True)
        return subprocess.run(["git", *words], cwd=at, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "--quiet")
    run("commit", "--allow-empty", "-m", TOO_LONG)
    return run


def check(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], cwd=at, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (FITS, 0),
        (TOO_LONG, 1),
        (f"{FITS}\n\n{TOO_LONG} in the body", 0),
        (f"{FITS}\nand a second line without a blank one between", 1),
        (f"\n# {TOO_LONG}\n{FITS}\n# a comment", 0),
        ("題" * 72, 0),
        (f"fixup! squash! {FITS}", 0),
        (f"fixup! {TOO_LONG}", 1),
    ],
)
def test_a_message_is_held_to_its_first_paragraph(git: Git, tmp_path: Path, message: str, code: int) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    assert check(str(file), at=tmp_path / "here").returncode == code


def test_commits_since_a_revision_are_held_and_earlier_ones_are_not(git: Git, tmp_path: Path) -> None:
    here = tmp_path / "here"
    first = git("rev-parse", "HEAD")
    git("commit", "--allow-empty", "-m", FITS)
    assert check("--since", first, at=here).returncode == 0
    git("commit", "--allow-empty", "-m", TOO_LONG, "-m", "A body.")
    git("commit", "--allow-empty", "-m", FITS)
    held = check("--since", first, at=here)
    assert held.returncode == 1
    assert held.stderr.startswith(f"{git('rev-parse', '--short', 'HEAD~1')}: its subject has 73 characters")
    assert len(held.stderr.splitlines()) == 1


def test_a_revision_that_is_not_there_is_an_error_but_in_a_shallow_clone(git: Git, tmp_path: Path) -> None:
    here, shallow = tmp_path / "here", tmp_path / "shallow"
    first = git("rev-parse", "HEAD")
    git("commit", "--allow-empty", "-m", FITS)
    git("clone", "--quiet", "--depth", "1", here.as_uri(), str(shallow), at=tmp_path)
    assert check("--since", "f" * 40, at=here).returncode == 2
    assert check("--since", first, at=shallow).returncode == 0
    git("commit", "--allow-empty", "-m", TOO_LONG, at=shallow)
    assert check("--since", first, at=shallow).returncode == 1


def test_hooks_download_nothing() -> None:
    repositories = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    assert {hook["language"] for hook in repositories[0]["hooks"]} == {"system"}
