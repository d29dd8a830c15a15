"""Saved runs: every row of every report in one Parquet file, and what differs between two of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.model.report_rows_state import ReportChange
from mqctl.spark.saving import sections
from mqctl.store.own_files import write_named
from mqctl.store.plain_files import read_named
from mqctl.text import sentence

_SCHEMA = pa.schema(
    [
        ("report", pa.string()),
        ("section", pa.string()),
        ("subject", pa.string()),
        ("figures", pa.map_(pa.string(), pa.float64())),
    ]
)
SUBJECTS = (
    "store", "group", "producer_group", "topic", "queue_id", "tag", "key", "born_host", "by", "level", "from_bytes",
    "from_ms", "attempt", "value",
)  # fmt: skip
"""Columns that say what a row is about; all other numbers of it are figures."""
_LEFT_OUT = {"times", "periods", "windows", "buckets", "due", "flow", "arrivals", "pending"}
"""Sections over time: two runs have other times, not changed ones."""
_MOST_ROWS, _MOST_BYTES, _BATCH_ROWS = 1 << 20, 256 << 20, 4_096
Figures = dict[tuple[str, str, str], dict[str, float]]


def save_run(reports: Mapping[str, object], path: Path) -> None:
    """Writes all rows of all reports.

    Raises:
        StorageError: the file cannot be written.
    """
    rows = [
        {"report": name, "section": section, "subject": json.dumps(subject), "figures": list(figures.items())}
        for name, report in reports.items()
        for section, subject, figures in _rows(report)
    ]
    try:
        packed = BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), packed)
        write_named(path, packed.getvalue())
    except OSError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=path), reason=error.strerror or str(error)
        ) from error


def _rows(report: object) -> Iterator[tuple[str, dict[str, object], dict[str, float]]]:
    for section, rows in sections(report).items():
        for row in rows:
            if not is_dataclass(row) or isinstance(row, type):
                continue
            values = asdict(row)
            subject = {name: values[name] for name in SUBJECTS if values.get(name) is not None}
            figures = {
                name: float(value)
                for name, value in values.items()
                if name not in SUBJECTS and isinstance(value, int | float) and not isinstance(value, bool)
            }
            yield section, subject, figures


def load_run(path: Path) -> Figures:
    """Reads a saved run.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: it is no saved run, or larger than any.
    """
    try:
        rows = _rows_in(read_named(path))
    except FileNotFoundError:
        raise NotFoundError(
            sentence("spark-no-saved-run", "there is no saved run {path}", path=path),
            remedy=sentence("spark-save-report-run", "save one with `mqctl report run --save FILE`"),
        ) from None
    except (OSError, pa.ArrowException, ValueError) as error:
        raise BadInputError(
            sentence("spark-could-not-read-saved", "could not read {path} as a saved run", path=path),
            reason=(getattr(error, "strerror", None) or str(error)).splitlines()[0],
        ) from error
    return {(row["report"], row["section"], row["subject"]): dict(row["figures"]) for row in rows}


def _rows_in(data: bytes) -> list[dict[str, Any]]:
    """Unpacks a run. Raises ValueError beyond the limits, and what Arrow raises."""
    texts = [field.name for field in _SCHEMA if field.type == pa.string()]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=[*texts, "figures.key_value.key"])
    if file.metadata.num_rows > _MOST_ROWS:
        raise ValueError(
            sentence(
                "file-too-many-rows",
                "it has {count:row}, the limit is {most:,}",
                count=file.metadata.num_rows,
                most=_MOST_ROWS,
            )
        )
    rows: list[dict[str, Any]] = []
    left = _MOST_BYTES
    for batch in file.iter_batches(_BATCH_ROWS):
        table = pa.Table.from_batches([batch]).select(_SCHEMA.names)
        # A dictionary's values take their room once, and as rows each time.
        left -= sum(_text_bytes(table.column(name)) for name in texts) + table.column("figures").nbytes
        if left < 0:
            raise ValueError(
                sentence("snapshot-unpacks-to-more", "it unpacks to more than {limit_bytes}", limit_bytes=_MOST_BYTES)
            )
        rows += table.cast(_SCHEMA).to_pylist()
    return rows


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Returns the bytes of all texts of a column of dictionary codes, each as often as it stands there."""
    sizes = [pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() for part in column.chunks]
    return sum(size or 0 for size in sizes)


def run_changes(before: Figures, after: Figures) -> Sequence[ReportChange]:
    """Returns the figures that differ, by section; a row that only one run has differs in all of its figures."""
    changes = []
    for where in sorted(before.keys() | after.keys()):
        report, section, subject = where
        if section in _LEFT_OUT:
            continue
        left, right = before.get(where, {}), after.get(where, {})
        for figure in sorted(left.keys() | right.keys()):
            old, new = left.get(figure), right.get(figure)
            if old is not None and new is not None and math.isclose(old, new, rel_tol=1e-9):
                continue
            changes.append(
                ReportChange(
                    report=report,
                    section=section,
                    subject=", ".join(f"{name} {value}" for name, value in json.loads(subject).items()),
                    figure=figure,
                    before=old,
                    after=new,
                    change=new - old if old is not None and new is not None else None,
                )
            )
    return changes
