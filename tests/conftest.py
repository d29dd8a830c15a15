"""Fixtures shared by the whole suite: recorded stores, and the command line as a user runs it."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests import rings, rooms_entered
from tests.forked_commands import ForkedCommands, possible

rooms_entered.install()

# A build in the background has Ctrl-C ignored, and the processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Some environments forbid bytecode, containers above all: each worker would compile 700 modules anew, every time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long an example takes, or takes to be made up, says how busy the machine is: no test fails for that.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A build must not fail by the luck of the draw: what is found elsewhere becomes an example of its own.
settings.register_profile("ci", settings.get_profile("house"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "house")

_EACH_BY_ITSELF = {"tests/local/test_playbooks.py"}
# Rooms whose tests take longest begin, so that no worker is left with a long one when the others have ended.
_FIRST = ("spark", "local", "reliability", "interop", "docs", "live", "embedded_broker")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", help="run the K-th of N shares of the tests; CI deals out the long ones")


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts each test into its ring: one release of two first, and the first test of each module is a quick one, unless
    the module has marked others or is marked as slow."""
    rings.leave_one_release(items)
    if config.option.markexpr == "quick":
        config.option.markexpr = "quick and not long"
    if share := config.getoption("--share"):
        items[:], others = rings.share_of(items, share)
        config.hook.pytest_deselected(items=others)
    marked = {item.path for item in items if item.get_closest_marker("quick") or item.get_closest_marker("slow")}
    for item in items:
        if item.path not in marked and not item.get_closest_marker("long"):
            item.add_marker("quick")
            marked.add(item.path)
    items.sort(key=lambda item: _FIRST.index(room) if (room := _room(item)) in _FIRST else len(_FIRST))


def pytest_collection(session: pytest.Session) -> None:
    """Has each worker that collects everything begin with other modules: in a new checkout each compiles a share for
    all, where all of them would compile everything side by side."""
    if session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    number, count = (int(os.environ[f"PYTEST_XDIST_WORKER{name}"].removeprefix("gw")) for name in ("", "_COUNT"))
    for file in sorted((REPOSITORY / "tests").rglob("test_*.py"))[number::count]:
        with suppress(Exception, pytest.skip.Exception):  # the collection says it, in its place
            importlib.import_module(".".join(file.relative_to(REPOSITORY).with_suffix("").parts))


def _room(item: pytest.Item) -> str:
    return item.nodeid.split("/")[1]


@cache
def _has(module: str, pattern: str) -> bool:
    return re.search(pattern, (REPOSITORY / module).read_text(encoding="utf-8")) is not None


def unit_of(nodeid: str) -> str:
    """Returns what a test is dealt out with: its module, which shares its clusters; all modules with the Spark session,
    so that there is one; all that search the sources, which are parsed once; nothing where each test waits for a
    cluster of its own."""
    module = nodeid.partition("::")[0]
    if module in _EACH_BY_ITSELF:
        return nodeid
    if module.startswith("tests/spark/") and _has(module, r"\b(spark: SparkSession|engine: Engine)\b"):
        return "spark"
    return "sources" if _has(module, r"\bimport .*\bin_every_module\b") else module


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Has each worker take units. (Marks of groups do nothing here: xdist 3.8 cannot tell pytest 9.2 of them.)"""
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = unit_of
    return scheduling


GOLDEN = Path(__file__).parent / "golden"
RECORDED = GOLDEN / "recorded"
"""Of each release that `python -m tests.real record` recorded, a directory."""
REPOSITORY = Path(__file__).resolve().parents[1]
FULL_GOLDEN = REPOSITORY.parent / "shared" / "golden"


def extract_store(name: str, target: Path) -> Path:
    """Unpacks the recorded store `name` into `target` and returns the store's root directory."""
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(GOLDEN / "stores" / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")
    (root,) = target.iterdir()
    return root


@pytest.fixture(autouse=True)
def _no_language() -> None:
    """Command lines of other tests, parsed in this process, may have asked for one."""
    from mqctl.cli import language

    language._asked.clear()


@pytest.fixture(scope="session")
def golden_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the directory of a recorded store, unpacked once per worker. Tests must not change it."""
    base = tmp_path_factory.mktemp("stores")
    unpacked: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in unpacked:
            unpacked[name] = extract_store(name, base / name)
        return unpacked[name]

    return find


@pytest.fixture
def store_copy(tmp_path: Path) -> Callable[[str], Path]:
    """Gives a private copy of a recorded store that the test may damage."""

    def copy(name: str) -> Path:
        return extract_store(name, tmp_path / "copy-of" / name)

    return copy


@pytest.fixture(scope="session")
def without_rocksdict(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Gives an environment in which the library that reads RocksDB is not installed."""
    directory = tmp_path_factory.mktemp("without")
    (directory / "rocksdict.py").write_text("raise ImportError('not installed')\n")
    return {"PYTHONPATH": str(directory)}


@pytest.fixture(scope="session")
def full_golden() -> Path:
    """Gives the directory with all recordings; tests that need it say so when it is absent."""
    if not FULL_GOLDEN.is_dir():
        pytest.skip(f"the full recordings are not beside this checkout ({FULL_GOLDEN.name} missing)")
    return FULL_GOLDEN


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the command line left behind."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def environment_of(home: Path) -> dict[str, str]:
    """The environment of a user whose home is empty, and who has the checkout on the path of Python."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        **rooms_entered.environment(),
    }


def whole_processes(home: Path) -> Callable[..., Outcome]:
    """Returns what runs `python -m mqctl` as a user would, in an empty home and away from the checkout."""

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        command = [sys.executable, "-m", "mqctl", *map(str, words)]
        settings = {**environment_of(home), **(env or {})}
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", env=settings, cwd=home, timeout=600, check=False
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def whole_mqctl(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outcome]:
    """Runs `python -m mqctl` as a user would, in an empty home and away from the checkout."""
    return whole_processes(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def mqctl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Outcome]]:
    """Runs mqctl as `whole_mqctl` does, each run forked from a process that has imported what commands stand on; where
    that cannot be, in whole processes."""
    home = tmp_path_factory.mktemp("home")
    whole = whole_processes(home)
    if not possible():
        yield whole
        return
    commands = ForkedCommands(home, environment_of(home))

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        if any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or ()):  # read when an interpreter starts
            return whole(*words, env=env)
        return Outcome(*commands.run([str(word) for word in words], {**environment_of(home), **(env or {})}))

    yield run
    commands.close()
