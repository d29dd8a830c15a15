"""Two benches beside each other, as a table."""

from __future__ import annotations

from mqctl.model.bench_comparison import FEWEST_SECONDS, BenchComparison
from mqctl.model.lang import Lang
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.render.messages import sayer
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


def comparison_document(comparison: BenchComparison, lang: Lang | None = None) -> Document:
    """Builds the document of `bench compare`."""
    say = sayer(lang, "bench")
    conclusion = say(comparison.verdict, seconds=FEWEST_SECONDS)
    if comparison.differing:
        conclusion = say("differing", differing="; ".join(comparison.differing))
    counts = say("counts", threshold=share(comparison.threshold))
    return Document(
        schema="bench.compare/1",
        value=comparison,
        records=comparison.figures,
        blocks=[Table(_FIGURES, comparison.figures), Paragraphs([conclusion, counts])],
    )
