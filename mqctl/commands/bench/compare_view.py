"""Two benches beside each other, as a table."""

from __future__ import annotations

from mqctl.model.bench_comparison import FEWEST_SECONDS, BenchComparison, BenchVerdict
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Sentence, joined, sentence

_FIGURES = (
    Column("name", "figure"),
    Column("unit", "unit"),
    Column("before", "before"),
    Column("after", "after"),
    Column("ratio", "ratio"),
    Column("ratio_low", "from", none="?"),
    Column("ratio_high", "to", none="?"),
    Column("verdict", "verdict", CellKind.WORDS),
)
_CONCLUSIONS = {
    BenchVerdict.BETTER: Sentence(
        "bench-verdict-better", "better: a figure moved by more than the noise, and none for the worse"
    ),
    BenchVerdict.WORSE: Sentence("bench-verdict-worse", "worse: a figure moved for the worse by more than the noise"),
    BenchVerdict.SAME: Sentence("bench-verdict-same", "same: no figure moved by as much as counts"),
    BenchVerdict.UNCLEAR: Sentence(
        "bench-verdict-unclear",
        "unclear: the noise is larger than what counts, or a run has fewer than {seconds} whole seconds; run both "
        "longer",
    ),
}


def comparison_document(comparison: BenchComparison) -> Document:
    """Builds the document of `bench compare`."""
    conclusion = _CONCLUSIONS[comparison.verdict](seconds=FEWEST_SECONDS)
    if comparison.differing:
        conclusion = sentence(
            "bench-unclear-other-work-measured",
            "unclear: other work was measured: {differing}",
            differing=joined("; ", comparison.differing),
        )
    counts = sentence(
        "bench-counts-where-ratio-lies",
        "what counts: {threshold_share}; from and to: where the ratio lies, 95 times of 100",
        threshold_share=comparison.threshold,
    )
    return Document(
        schema="bench.compare/1",
        value=comparison,
        records=comparison.figures,
        blocks=[Table(_FIGURES, comparison.figures), Paragraphs([conclusion, counts])],
    )
