"""`mqctl quickstart` as a new user runs it: everything shown and told, and nothing left however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from mqctl.local.scenario_files import load_scenario
from mqctl.render.scenarios import HEALTHY, meanings
from tests.conftest import REPOSITORY, Outcome
from tests.requires import need_extra

Run = Callable[..., Outcome]
_SECONDS = 120
_TYPED = (
    "$ mqctl doctor\n",
    "$ mqctl allocation show -g settlement --room-rule prefix:-\n",
    "$ mqctl stacks dump -g billing --dumps 1\n",
    "$ mqctl report backlog -g matching --by queue --store HT-broker-a=",
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def without_spark(tmp_path: Path) -> str:
    """A Python path on which there is no pyspark."""
    directory = tmp_path / "absent"
    directory.mkdir()
    (directory / "sitecustomize.py").write_text("import sys\n\nsys.modules['pyspark'] = None\n")
    return f"{directory}:{REPOSITORY}"


@pytest.fixture
def quickstart(mqctl: Run, state: Path) -> Iterator[Run]:
    """Runs mqctl with a state directory of its own; whatever is left running is brought down."""

    def run(*words: str, **env: str) -> Outcome:
        return mqctl(*words, env={"MQCTL_STATE_DIR": str(state), "COLUMNS": "80", **env})

    yield run
    run("local", "down", "--all")


def left(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "local").iterdir() if path.suffix not in {".lock", ".log"})


def told(page: str) -> str:
    return " ".join(page.split())


@pytest.mark.long
@pytest.mark.spark
def test_every_step_is_shown_with_what_was_typed_and_what_it_means(quickstart: Run, state: Path) -> None:
    need_extra("spark", "pyspark")
    outcome = quickstart("quickstart")
    page = outcome.stdout
    assert outcome.exit_code == 0, page[-2000:] + outcome.stderr
    places = [page.index(text) for text in _TYPED]
    assert places == sorted(places)
    assert page.count("\n=> ") >= 4
    codes = [item.code for look in load_scenario("quickstart").looks for item in look.finds]
    assert all(code in page for code in codes)
    assert [text for text in (*meanings(codes), HEALTHY) if text not in told(page)] == []
    assert "charge_card(listeners.py" in page
    assert "matching  trades  CP-broker-a" in page
    assert "That did not work" not in page
    assert "Time scale 60: a minute of clients, brokers and rules is 1 s." in page
    assert left(state) == []


def test_without_spark_it_says_so_and_goes_on(quickstart: Run, state: Path, without_spark: str) -> None:
    outcome = quickstart("quickstart", PYTHONPATH=without_spark)
    page = outcome.stdout
    assert outcome.exit_code == 0, page[-2000:] + outcome.stderr
    assert "Without Spark:" in page
    assert "--no-spark" in page[page.index("Without Spark:") :]
    assert "matching  trades  CP-broker-a" in page
    assert left(state) == []


@pytest.mark.long
def test_kept_it_stays_until_it_is_brought_down(quickstart: Run, state: Path, without_spark: str) -> None:
    outcome = quickstart("quickstart", "--keep", PYTHONPATH=without_spark)
    assert outcome.exit_code == 0, outcome.stdout[-2000:] + outcome.stderr
    (cluster,) = quickstart("local", "status", "-o", "json").json["clusters"]
    assert (cluster["name"], cluster["state"]) == ("quickstart", "running")
    pids = {cluster["pid"], *(child.pid for child in psutil.Process(cluster["pid"]).children(recursive=True))}
    assert len(pids) == 8
    _, _, typed = outcome.stdout.partition("The cluster stays up:")
    commands = [line.split()[1:] for line in typed.splitlines() if line.startswith("  mqctl ")]
    assert ["doctor"] not in commands
    assert commands[-1] == ["local", "down", "--name", "quickstart"]
    for words in commands:
        assert quickstart(*words).exit_code in {0, 1, 2}, words
    again = quickstart("quickstart")
    assert again.exit_code in {0, 76}
    assert ended(pids)
    assert left(state) == []


@pytest.mark.parametrize(
    ("when", "number", "keep"),
    [
        ("Starting two brokers", signal.SIGINT, ()),
        pytest.param("Starting two brokers", signal.SIGINT, ("--keep",), marks=pytest.mark.long),
        pytest.param("1. What is wrong?", signal.SIGTERM, (), marks=pytest.mark.long),
        pytest.param("$ mqctl report backlog", signal.SIGTERM, (), marks=pytest.mark.long),
        pytest.param("$ mqctl report backlog", signal.SIGINT, ("--keep",), marks=pytest.mark.long),
    ],
)
def test_an_interruption_leaves_nothing(
    state: Path, tmp_path: Path, when: str, number: signal.Signals, keep: tuple[str, ...]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mqctl", "quickstart", *keep],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(REPOSITORY),
            "MQCTL_STATE_DIR": str(state),
        },
    )
    assert process.stdout is not None
    while when not in process.stdout.readline():
        assert process.poll() is None
    if when.startswith("Starting"):
        until(lambda: bool(psutil.Process(process.pid).children(recursive=True)))
    children = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
    assert children
    process.send_signal(number)
    _, said = process.communicate(timeout=_SECONDS)
    assert (process.returncode, "interrupted" in said, "Traceback" in said) == (130, True, False), said
    assert ended(children)
    assert left(state) == []


def until(condition: Callable[[], bool]) -> None:
    end = monotonic() + _SECONDS
    while not condition():
        assert monotonic() < end
        sleep(0.02)


def ended(pids: set[int]) -> bool:
    def alive(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    until(lambda: not any(map(alive, pids)))
    return True


@pytest.mark.quick
def test_only_what_was_found_is_told() -> None:
    assert meanings([]) == []
    assert meanings(["MQ401", "MQ203"])[0].startswith("settlement loses messages")
    assert meanings(["MQ999"]) == []
