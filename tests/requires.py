"""What tests need beyond the README's test command: packages of further extras, programs of the system.

A test that lacks one is skipped and says what it needs; MQCTL_TEST_ALL=1 fails it instead. CI runs the README's command
with `-p tests.requires --left-out FILE`, installs what is missing, and runs `pytest @FILE`: what was left out, no more.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

_LEFT_OUT = "left out: "


def need_extra(extra: str, *modules: str) -> None:
    """Skips a test, or at the top of a module all of its tests, unless these modules of an extra are installed."""
    __tracebackhide__ = True  # the place of the skip is the caller's: xdist reports one skip of a place and a reason
    missing = [module for module in modules if not _is_installed(module)]
    if missing:
        leave_out(f"it needs {', '.join(missing)}: pip install -e '.[dev,{extra}]'")


def need_program(program: str) -> None:
    """Skips a test unless a program is on the PATH."""
    __tracebackhide__ = True
    if shutil.which(program) is None:
        leave_out(f"it needs {program}, which is not installed")


def leave_out(reason: str) -> NoReturn:
    """Skips a test for what this machine lacks; with MQCTL_TEST_ALL it fails."""
    __tracebackhide__ = True
    if os.environ.get("MQCTL_TEST_ALL"):
        pytest.fail(reason)
    pytest.skip(_LEFT_OUT + reason, allow_module_level=True)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


# As a plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--left-out", type=Path, metavar="FILE", help="write the ids of tests that lack something to FILE")


def pytest_configure(config: pytest.Config) -> None:
    file: Path | None = config.getoption("left_out", None)
    if file is not None and not hasattr(config, "workerinput"):  # of all processes the one that hears of all tests
        config.pluginmanager.register(_LeftOut(file))


class _LeftOut:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._ids: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look_at(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look_at(report)

    def _look_at(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]:
            self._ids[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("".join(f"{name}\n" for name in self._ids), encoding="utf-8")
