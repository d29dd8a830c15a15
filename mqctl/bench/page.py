"""The page of a run, with its charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mqctl.cli.emit import Output, emit, note
from mqctl.model.bench import BenchRun, BenchSecond
from mqctl.render.document import Document
from mqctl.text import sentence

_SECOND_MS = 1_000


def emit_run(document: Document, output: Output, file: Path | None) -> None:
    """Shows a run or its plan, and writes the page that was asked for; a plan has none. Raises StorageError."""
    emit(document, output)
    _write_page(document, file)


def _write_page(document: Document, file: Path | None) -> None:
    run = document.value
    if file is None or not isinstance(run, BenchRun):
        return
    from mqctl.cli.text_files import write_text
    from mqctl.render.reports.html import document_page

    write_text(file, document_page(f"bench {run.kind}: {run.topic}", document, charts(run)))
    note(sentence("bench-charts-figures", "charts and figures are in {file}", file=file))


def charts(run: BenchRun) -> Mapping[str, str]:
    """Draws what happened second by second, by title."""
    from mqctl.render.reports.drawing import Series, lines

    def line(name: str, value: Callable[[BenchSecond], float | None]) -> Series:
        seconds = [(second.second, number) for second in run.series if (number := value(second)) is not None]
        times_ms = [run.began_ms + second * _SECOND_MS for second, _ in seconds]
        return Series(name, times_ms, [number for _, number in seconds])

    drawn = {
        "Messages a second": lines(
            "Messages a second", [line("messages", lambda second: second.message_count)], "messages/s", _SECOND_MS
        ),
        "Latency": lines(
            "Latency",
            [
                line("p50", lambda second: second.p50_ms),
                line("p99", lambda second: second.p99_ms),
                line("longest", lambda second: second.max_ms),
            ],
            "ms",
            _SECOND_MS,
        ),
    }
    if any(second.error_count for second in run.series):
        errors = [line("errors", lambda second: second.error_count)]
        drawn["Errors a second"] = lines("Errors a second", errors, "requests/s", _SECOND_MS)
    return drawn
