"""Saved runs: every row of every report in one Parquet file, and what differs between two of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.model.report_rows_state import ReportChange
from mqctl.spark.saving import sections
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
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), path)
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
        BadInputError: it is no saved run.
    """
    if not path.exists():
        raise NotFoundError(
            sentence("no-saved-run", "there is no saved run {path}", path=path),
            remedy=sentence("save-one-mqctl-report-run-save", "save one with `mqctl report run --save FILE`"),
        )
    try:
        rows = pq.read_table(path, schema=_SCHEMA).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInputError(
            sentence("could-not-read-saved-run", "could not read {path} as a saved run", path=path),
            reason=str(error).splitlines()[0],
        ) from error
    return {(row["report"], row["section"], row["subject"]): dict(row["figures"]) for row in rows}


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
