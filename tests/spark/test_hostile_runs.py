"""Saved runs of somebody else: what a small file unpacks to is bounded, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqctl.errors import BadInputError
from mqctl.spark.runs import load_run, save_run
from tests.each import each

_FIGURES = pa.map_(pa.string(), pa.float64())


def table(count: int, text: str) -> Any:
    texts = pa.array([text], pa.string()).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), texts.dictionary)
    figures = pa.array([[("count", 1.0)]] * count, _FIGURES)
    return pa.table({"report": column, "section": column, "subject": column, "figures": figures})


BOMBS: dict[str, tuple[Any, str]] = {
    "rows": (lambda: table((1 << 20) + 1, "x"), "the limit is 1,048,576"),
    "texts": (lambda: table(200, "x" * (2 << 20)), "unpacks to more than 256 MiB"),
}


@each("what", BOMBS)
def test_what_a_small_file_unpacks_to_is_bounded(tmp_path: Path, what: str) -> None:
    make, reason = BOMBS[what]
    file = tmp_path / f"{what}.parquet"
    pq.write_table(make(), file, use_dictionary=True, compression="zstd")
    assert file.stat().st_size < 16 << 20
    with pytest.raises(BadInputError) as refused:
        load_run(file)
    assert reason in (refused.value.reason or "")


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to("/dev/zero")
    with pytest.raises(BadInputError) as refused:
        load_run(tmp_path / "run")
    assert "256 MiB" in (refused.value.reason or "")


def test_a_run_is_read_as_it_was_saved(tmp_path: Path) -> None:
    save_run({}, tmp_path / "run")
    assert load_run(tmp_path / "run") == {}
