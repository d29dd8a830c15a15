"""`drill check --spark` comes to the verdict of one process, wherever the file is cut for the workers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from mqctl.drill import at_large
from mqctl.drill.checker import Checker
from mqctl.drill.history import HistoryFile
from mqctl.errors import BadInputError
from mqctl.model.drill_verdict import DrillState
from tests.conftest import Outcome
from tests.drill.test_against_naive import random_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.mark.spark
def test_the_verdict_is_that_of_one_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_large, "_SPLIT_BYTES", 2_000)
    path = random_history(Random(7), "orderly", 300).file(tmp_path)
    local = Checker(path, 3).judge()
    assert local.state is DrillState.VIOLATED
    assert len({each.promise for each in local.breaches}) > 4, "a history with faults of many kinds"
    assert at_large.judge_at_large(spark, path, 3) == local
    with path.open("ab") as stream:
        stream.write(b"d 12 torn")
    assert at_large.judge_at_large(spark, path, 3).cut_bytes == 9
    path.write_bytes(path.read_bytes().replace(b"\nd ", b"\nx ", 1))
    with pytest.raises(BadInputError) as alone:
        Checker(path, 3).judge()
    with pytest.raises(BadInputError) as shared:
        at_large.judge_at_large(spark, path, 3)
    assert str(shared.value) == str(alone.value)


def test_stretches_are_whole_lines_and_all_of_them(tmp_path: Path) -> None:
    path = random_history(Random(3), "concurrent", 40).file(tmp_path)
    whole = path.read_bytes()
    for torn in (b"", b"a 1 2", b"o"):
        path.write_bytes(whole + torn)
        for size in (1, 7, 100, 5_000, 1 << 20):
            file = HistoryFile(path)
            splits = list(file.splits(size))
            texts = [file.text(begin, end) for _, begin, end in splits]
            assert b"".join(texts) == whole[whole.index(b"\n") + 1 :], (torn, size)
            assert all(text.endswith(b"\n") for text in texts)
            assert [number for number, *_ in splits] == list(range(len(splits)))
            assert file.cut_bytes == len(torn)


def test_masters_are_for_spark(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    path = random_history(Random(3), "concurrent", 5).file(tmp_path)
    outcome = mqctl("drill", "check", path, "--master", "spark://nobody:1")
    assert (outcome.exit_code, "--master and --conf are for --spark" in outcome.stderr) == (64, True), outcome.stderr
