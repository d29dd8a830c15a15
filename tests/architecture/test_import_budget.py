"""What must not be imported to answer fast. The figures behind the budget are in `benchmarks/startup.py`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.cli import catalog_options
from tests.conftest import REPOSITORY

_HEAVY = {"rich", "asyncio", "logging", "pyspark", "pandas", "pyarrow", "yaml", "dateparser", "psutil", "zoneinfo"}


def imported(words: list[str]) -> set[str]:
    """Runs a command line in a fresh interpreter and returns the top-level and mqctl modules it imported."""
    probe = (
        "import sys; from mqctl.__main__ import run; sys.argv = ['mqctl', *sys.argv[1:]]; code = run();"
        "sys.stderr.write('\\n'.join(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("words", [["--version"], ["__complete", "group", "lag", "--st"]])
def test_the_version_and_a_static_tab_come_before_typer(words: list[str]) -> None:
    catalog_options.table()  # the first Tab in a checkout writes it
    modules = imported(words)
    assert not modules & (_HEAVY | {"typer", "numpy", "msgspec", "enum"})


def test_help_imports_no_command(golden_store: Callable[[str], Path]) -> None:
    modules = imported(["--help"])
    assert not modules & (_HEAVY | {"numpy"})
    assert not any(name.startswith("mqctl.commands.") for name in modules)


def test_a_store_command_imports_only_what_it_needs(golden_store: Callable[[str], Path]) -> None:
    modules = imported(["group", "lag", "--store", str(golden_store("store-clean"))])
    assert not modules & (_HEAVY | {"msgspec", "numpy.ma"})
    unused = ("mqctl.diagnosis", "mqctl.store.verify", "mqctl.spark", "mqctl.client", "mqctl.snapshot.live")
    assert [name for name in modules if name.startswith(unused)] == []


def test_asking_a_cluster_costs_neither_asyncio_nor_logging() -> None:
    probe = "import sys, mqctl.client.admin.cluster, mqctl.client.admin.broker_queries; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    modules = set(done.stdout.splitlines())
    assert not modules & (_HEAVY | {"numpy", "msgspec", "http.client", "concurrent.futures", "typer"})
