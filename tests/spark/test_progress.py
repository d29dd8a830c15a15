"""Reports on a terminal: how far they are, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from mqctl.cli.terminal.progress import StepProgress
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Query
from mqctl.spark.selection import Selection
from mqctl.spark.watching import progress_words
from tests.conftest import REPOSITORY
from tests.requires import need_extra
from tests.store.builder import StoreBuilder, message

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 MB in two commit log files: two splits."""
    builder = StoreBuilder(commit_log_file_bytes=48 << 20)
    body = b"x" * 3_800
    for number in range(20_000):
        builder.append(message("Orders", number % 4, body, {"KEYS": f"k{number % 500}"}))
    return builder.write(tmp_path_factory.mktemp("progress") / "store")


def on_terminal(words: Sequence[object], home: Path, interrupt_at: str = "") -> tuple[int, str, list[psutil.Process]]:
    """Runs mqctl in the foreground of a terminal; returns exit code, what it wrote there, and processes it had."""
    ours, theirs = pty.openpty()
    environ = {"PYTHONPATH": str(REPOSITORY), "TERM": "xterm", "COLUMNS": "160", "LC_ALL": "C.UTF-8"}
    environ |= {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    environ["TMPDIR"] = str(home)
    # A session's leader that opens a terminal is in its foreground: Ctrl-C goes to it and to all that it starts.
    opening = ["sh", "-c", 'exec <"$0" && exec "$@"', os.ttyname(theirs)]
    process = subprocess.Popen(
        [*opening, sys.executable, "-m", "mqctl", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        cwd=home,
        start_new_session=True,
    )
    os.close(theirs)
    seen, children = "", []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the last process has closed the terminal
            break
        if not part:
            break
        seen += ESCAPES.sub("", part.decode())
        if interrupt_at and interrupt_at in seen:
            children = psutil.Process(process.pid).children(recursive=True)
            os.write(ours, b"\x03")
            interrupt_at = ""
    os.close(ours)
    return process.wait(120), seen, children


@pytest.mark.spark
@pytest.mark.parametrize("report", ["skew", pytest.param("order", marks=pytest.mark.long)])
def test_a_single_report_shows_stages_bytes_and_time_left(report: str, store: Path, tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    words = ["report", report, *(["--store", store] * 3), "--master", "local[1]", "--no-color"]
    code, seen, _ = on_terminal(words, tmp_path)
    assert code == 0, seen[-2_000:]
    table = "counts" if report == "skew" else "order"
    assert re.search(rf"{table}, \d+ of \d+ MB: stage 1, \d+ of \d+ tasks", seen), seen[-2_000:]
    # A job that ends before its first task has nothing to reckon the time left from, and shows dashes for it.
    assert re.search(r"\d+:\d\d:\d\d|-:--:--", seen), "the time left"
    assert "Orders" in seen


@pytest.mark.spark
def test_ctrl_c_ends_report_job_and_jvm(store: Path, tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    words = ["report", "order", *(["--store", store] * 10), "--master", "local[1]"]
    code, seen, children = on_terminal(words, tmp_path, interrupt_at="stage 1")
    assert code == 130, seen[-2_000:]
    assert "Traceback" not in seen
    assert children, "the JVM ran"
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
    assert [path for path in tmp_path.iterdir() if path.name.startswith("mqctl-")] == []


@pytest.mark.quick
def test_reading_in_this_process_tells_its_shares(store: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    engine = PlainEngine(progress=lambda *values: steps.append(values))
    engine.rows("counts", Selection((str(store), str(store))), Query(()))
    engine.rows("order", Selection((str(store),)), Query(()))
    counts = [each for each in steps if each[0].startswith("counts")]
    assert counts[0] == (f"counts: share 1 of {len(counts)}", 0, len(counts))
    assert [done for _, done, _ in counts] == list(range(len(counts)))
    assert any(what.startswith("order") for what, _, _ in steps)


def test_a_step_stands_before_its_parts() -> None:
    steps_seen: list[tuple[str, int, int]] = []
    steps = StepProgress(lambda *values: steps_seen.append(values))
    steps.step("counting messages", 1, 6)
    steps.part(progress_words("counts", 3, 4, 8_000_000), 3, 4)
    assert steps_seen == [("2/6 counting messages", 0, 0), ("2/6 counting messages: counts, 6 of 8 MB", 3, 4)]
    assert progress_words("lags", 1, 2, 0) == "lags"
