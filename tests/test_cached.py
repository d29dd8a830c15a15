"""What is fetched or built for tests is made once, whole or not at all, and what stands in its way is named."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from tests.cached import UnavailableError, cache, made, ran


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQCTL_REAL_CACHE", str(tmp_path / "cache"))


def sh(directory: Path, script: str, *, seconds: float = 60) -> None:
    ran(["sh", "-c", script], "build it", log=directory / "log", seconds=seconds, directory=directory)


class Source:
    """One source file, and how often something was made of it."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "source"
        self.file.write_text("one")
        self.count = 0

    def made(self, script: str = "cp main made", *, versions: str = "1") -> Path:
        def make(directory: Path) -> None:
            self.count += 1
            sh(directory, script)

        return made("thing", {"main": self.file}, make, seconds=1, versions=versions)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path)


def test_it_is_made_once_for_the_same_sources_and_versions(source: Source) -> None:
    first = source.made()
    assert (first / "made").read_text() == "one"
    assert source.made() == first and source.count == 1
    source.file.write_text("two")
    assert (source.made() / "made").read_text() == "two"
    assert source.made(versions="2") not in (first, source.made()) and source.count == 3
    source.file.write_text("one")
    assert source.made() == first and source.count == 3


def test_few_builds_stay(source: Source) -> None:
    for number in range(6):
        source.file.write_text(str(number))
        newest = source.made()
    kept = [path for path in (cache() / "made").glob("thing-*") if path.is_dir()]
    assert newest in kept and len(kept) == 3


def test_what_was_left_half_made_is_made_again(source: Source) -> None:
    with pytest.raises(UnavailableError):
        source.made("echo half >made; exit 1")
    assert (source.made("cat made >>main; cp main made") / "made").read_text() == "one"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-tool"], r"^could not build it: no-such-tool is not installed$"),
        (
            ["sh", "-c", "echo first; echo 'no such package' >&2; exit 3"],
            r"(?s)^sh could not build it \(exit code 3\):\n.*no such package$",
        ),
    ],
)
def test_why_it_is_not_made_is_said(tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(UnavailableError, match=said):
        ran(words, "build it", log=tmp_path / "log", seconds=60)


def test_a_tool_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"^sh did not build it within 1 s; log: .*log$"):
        sh(tmp_path, "sleep 600 & echo $! >pid; wait", seconds=1)
    pid = int((tmp_path / "pid").read_text())
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_another_process_that_makes_it_for_too_long_is_said(source: Source) -> None:
    source.made()
    source.file.write_text("two")
    with (
        FileLock(cache() / "made" / "thing.lock"),
        pytest.raises(UnavailableError, match="another process has been making thing for 1 s"),
    ):
        source.made()
