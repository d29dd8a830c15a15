"""The report files of a playbook's run."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from mqctl.errors import StorageError, UsageError
from mqctl.model.lang import Lang
from mqctl.model.playbook_run import PlaybookRun
from mqctl.render.playbook_runs import markdown, run_document

_FORMS = (".md", ".json")


def check_reports(files: Sequence[Path]) -> None:
    """Refuses files that could not be written, before anything runs. Raises UsageError, StorageError."""
    for file in files:
        if file.suffix not in _FORMS:
            raise UsageError(f"cannot write a report to {file}", remedy="name a file that ends with .md or .json")
        if not file.parent.is_dir():
            raise StorageError(f"cannot write a report to {file}", reason="its directory does not exist")


def write_reports(run: PlaybookRun, lang: Lang, files: Sequence[Path]) -> None:
    """Writes the report to each file, in the form that its name tells. Raises StorageError."""
    for file in files:
        try:
            file.write_text(_text(run, lang, file), encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"the playbook ran, and its report could not be written to {file}",
                reason=error.strerror or str(error),
                remedy=f"what it did is on stdout, and it ended with {run.ending.exit_code:d}; see mqctl history",
            ) from error


def _text(run: PlaybookRun, lang: Lang, file: Path) -> str:
    if file.suffix == ".md":
        return markdown(run, lang)
    from mqctl.render.machine import write_json

    stream = StringIO()
    write_json(run_document(run, lang), stream)
    return stream.getvalue()
