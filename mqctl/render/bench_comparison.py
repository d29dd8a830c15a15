"""Two benches beside each other, as a table."""

from __future__ import annotations

from mqctl.model.bench_comparison import FEWEST_SECONDS, BenchComparison, BenchVerdict
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.render.units import share

_FIGURES = (
    Column("name", "figure"),
    Column("unit", "unit"),
    Column("before", "before"),
    Column("after", "after"),
    Column("ratio", "ratio"),
    Column("ratio_low", "from", none="?"),
    Column("ratio_high", "to", none="?"),
    Column("verdict", "verdict"),
)
_SAID = {
    BenchVerdict.BETTER: "better: a figure moved by more than the noise, and none for the worse",
    BenchVerdict.WORSE: "worse: a figure moved for the worse by more than the noise",
    BenchVerdict.SAME: "same: no figure moved by as much as counts",
    BenchVerdict.UNCLEAR: "unclear: the noise is larger than what counts, or a run has fewer than "
    f"{FEWEST_SECONDS} whole seconds; run both longer",
}


def comparison_document(comparison: BenchComparison) -> Document:
    """Builds the document of `bench compare`."""
    said = _SAID[comparison.verdict]
    if comparison.differing:
        said = f"unclear: other work was measured: {'; '.join(comparison.differing)}"
    counts = f"what counts: {share(comparison.threshold)}; from and to: where the ratio lies, 95 times of 100"
    return Document(
        schema="bench.compare/1",
        value=comparison,
        records=comparison.figures,
        blocks=[Table(_FIGURES, comparison.figures), Paragraphs([said, counts])],
    )
