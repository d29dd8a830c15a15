"""The report files of a playbook's run."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from mqctl.commands.playbook.run_view import markdown, run_document
from mqctl.errors import StorageError, UsageError
from mqctl.model.lang import Lang
from mqctl.model.playbook_run import PlaybookRun
from mqctl.store.own_files import write_named
from mqctl.text import sentence

_FORMS = (".md", ".json")


def check_reports(files: Sequence[Path]) -> None:
    """Refuses files that could not be written, before anything runs. Raises UsageError, StorageError."""
    for file in files:
        if file.suffix not in _FORMS:
            raise UsageError(
                sentence("playbook-cannot-write-report", "cannot write a report to {file}", file=file),
                remedy=sentence("playbook-name-file-ends-md", "name a file that ends with .md or .json"),
            )
        if not file.parent.is_dir():
            raise StorageError(
                sentence("playbook-cannot-write-report", "cannot write a report to {file}", file=file),
                reason=sentence("directory-not-exist", "its directory does not exist"),
            )


def write_reports(run: PlaybookRun, lang: Lang, files: Sequence[Path]) -> None:
    """Writes the report to each file, in the form that its name tells. Raises StorageError."""
    for file in files:
        try:
            write_named(file, _text(run, lang, file).encode())
        except OSError as error:
            raise StorageError(
                sentence(
                    "playbook-ran-report-could-not-written",
                    "the playbook ran, and its report could not be written to {file}",
                    file=file,
                ),
                reason=error.strerror or str(error),
                remedy=sentence(
                    "playbook-did-stdout-ended-see",
                    "what it did is on stdout, and it ended with {exit_code:d}; see mqctl history",
                    exit_code=run.ending.exit_code,
                ),
            ) from error


def _text(run: PlaybookRun, lang: Lang, file: Path) -> str:
    if file.suffix == ".md":
        return markdown(run, lang)
    from mqctl.render.machine import write_json

    stream = StringIO()
    write_json(run_document(run, lang), stream)
    return stream.getvalue()
