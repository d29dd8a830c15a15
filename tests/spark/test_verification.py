"""`store verify` and `doctor --store` on Spark: the findings of one process, whatever is wrong with the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.errors import NotFoundError, UsageError
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.conftest import Outcome
from tests.requires import need_extra
from tests.spark.test_command import NO_HOME
from tests.store.test_verify_windows import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]
Run = Callable[..., Outcome]


def damaged(root: Path) -> Path:
    """A store of several log files with a record that lies, a torn one, and entries that lead nowhere."""
    files = [path for path in made(root) if path.is_file()]
    for number, path in enumerate(files):
        data = bytearray(path.read_bytes())
        data[(97 * number + 130) % len(data)] ^= 1 + number
        path.write_bytes(data)
    return root


def test_a_damaged_store_has_the_same_findings(spark: SparkSession, tmp_path: Path) -> None:
    from mqctl.spark.verification import verify_on_spark

    store = StoreDirectory.open(damaged(tmp_path))
    assert len(store.commit_log.files) > 4
    plain = verify(store)
    assert len({damage.code for damage in plain.damages}) > 5
    assert verify_on_spark(spark, str(tmp_path), store) == plain
    assert verify_on_spark(spark, f"file://{tmp_path}", store) == plain


def test_commands_say_the_same(mqctl: Run, tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    root = damaged(tmp_path)
    here = mqctl("store", "verify", "--store", root, "-o", "json")
    there = mqctl("store", "verify", "--store", root, "--spark", "-o", "json", env=NO_HOME)
    judged = mqctl("doctor", "--store", root, "--master", "local[2]", "-o", "json", env=NO_HOME)
    assert (there.exit_code, there.stderr) == (here.exit_code, "") == (2, "")
    assert json.loads(there.stdout) == json.loads(here.stdout)
    plain = mqctl("doctor", "--store", root, "-o", "json")
    assert json.loads(judged.stdout)["findings"] == json.loads(plain.stdout)["findings"]


def test_a_worker_that_cannot_read_names_host_and_file(spark: SparkSession, tmp_path: Path) -> None:
    from mqctl.spark.verification import verify_on_spark

    store = StoreDirectory.open(damaged(tmp_path))
    with pytest.raises(NotFoundError, match="could not open the store /nowhere") as caught:
        verify_on_spark(spark, "/nowhere", store)
    assert "on " in caught.value.reason


def test_a_store_that_is_being_written_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from mqctl.spark.verification import verify_on_spark

    with EmbeddedCluster(data_dir=tmp_path) as cluster:
        root = tmp_path / cluster.broker().name
        with pytest.raises(UsageError, match="a broker has it open"):
            verify_on_spark(spark, str(root), StoreDirectory.open(root))


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("store", "verify", "--conf", "spark.a=b"), "add --spark, or --master URL"),
        (("store", "verify", "--spark", "--conf", "a=b"), "--conf a=b is not a Spark setting"),
        (("doctor", "--master", "local[2]", "--quick"), "--quick verifies nothing"),
    ],
)
def test_settings_without_spark_are_refused(mqctl: Run, tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    outcome = mqctl(*words, "--store", damaged(tmp_path))
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert reason in outcome.stderr


@pytest.mark.quick
def test_a_master_without_a_store_is_refused(mqctl: Run) -> None:
    outcome = mqctl("doctor", "--master", "local[2]")
    assert outcome.exit_code == 64
    assert "say where a store is verified" in outcome.stderr
