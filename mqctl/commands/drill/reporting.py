"""A verdict on the screen, in the words of CI, and as a page."""

from __future__ import annotations

import sys
from pathlib import Path

from mqctl.cli.emit import Output, emit, note
from mqctl.cli.language import spoken
from mqctl.commands.drill.view import verdict_document, verdict_exit, verdict_formatted
from mqctl.drill.scratch import remove_abandoned
from mqctl.errors import ExitCode
from mqctl.model.drill_verdict import DrillVerdict
from mqctl.render.checks import CheckFormat
from mqctl.text import sentence


def clear_away() -> None:
    """Removes what drills that were killed left in the directory for temporary files, and says so."""
    for each in remove_abandoned():
        note(sentence("removed-drill-killed-left", "removed {each}, which a drill that was killed left", each=each))


def refuse_page(page: Path | None) -> None:
    """Refuses a page that could not be written, before the drill. Raises StorageError."""
    if page is not None:
        from mqctl.cli.text_files import refuse_unwritable

        refuse_unwritable(page)


def report_verdict(verdict: DrillVerdict, form: CheckFormat | None, page: Path | None, output: Output) -> ExitCode:
    """Shows a verdict, and returns the exit code that it means. Raises StorageError: the page cannot be written."""
    document = verdict_document(verdict)
    if form is not None:
        sys.stdout.write(verdict_formatted(verdict, form, spoken()))
    else:
        emit(document, output)
    if page is not None:
        from mqctl.cli.text_files import write_text
        from mqctl.render.reports.html import document_page
        from mqctl.render.spoken_document import spoken_document

        shown = spoken_document(document, spoken())
        write_text(
            page, document_page(sentence("drill-topic", "drill: {topic}", topic=verdict.topic), shown, {}, spoken())
        )
        note(sentence("drill-verdict", "the verdict is in {page}", page=page))
    return verdict_exit(verdict)
