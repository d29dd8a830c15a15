"""Charts as inline SVG, drawn by matplotlib: no script, no network, sharp on paper and on a phone.

Text stays text, in the reader's own font; colours are those of Okabe and Ito, told apart without red and green.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mqctl.model.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999")
_WIDTH_INCHES = 6.4
_MOST_SERIES = 6
_LONGEST_LABEL = 28


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: values at times (epoch ms)."""

    name: str
    times_ms: Sequence[int]
    values: Sequence[float]


def bars(title: str, rows: Mapping[str, float], unit: str, *, marked: float | None = None) -> str:
    """Draws horizontal bars, the first on top; `marked` is a value to compare with, drawn as a line."""
    labels = [shortened(name) for name in rows]
    with _figure(max(1.2, 0.34 * len(labels) + 0.8)) as (figure, axes):
        places = range(len(labels), 0, -1)
        axes.barh(list(places), list(rows.values()), color=COLOURS[0], height=0.66)
        axes.set_yticks(list(places), labels)
        axes.set_xlabel(unit)
        if marked is not None:
            axes.axvline(marked, color=COLOURS[3], linewidth=1.2, linestyle="--")
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        return _svg(figure, title)


def histogram(title: str, rows: Mapping[str, float], xlabel: str, unit: str) -> str:
    """Draws upright bars in the order given: classes of sizes or durations."""
    with _figure(2.4) as (figure, axes):
        places = list(range(len(rows)))
        axes.bar(places, list(rows.values()), color=COLOURS[0], width=0.8)
        step = max(1, len(rows) // 10)
        axes.set_xticks(places[::step], list(rows)[::step], rotation=30, ha="right")
        axes.set_xlabel(xlabel)
        axes.set_ylabel(unit)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        return _svg(figure, title)


def lines(title: str, series: Sequence[Series], unit: str, bucket_ms: int, *, at_ms: int | None = None) -> str:
    """Draws steps over time, the largest series first; `at_ms` marks a moment. Buckets without a value count as 0."""
    shown = sorted(series, key=lambda each: -sum(each.values))[:_MOST_SERIES]
    with _figure(2.8) as (figure, axes):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        for number, each in enumerate(shown):
            times, values = _filled(each, bucket_ms)
            moments = _moments(times)
            axes.step(moments, values, where="post", color=COLOURS[number], linewidth=1.4, label=shortened(each.name))
            axes.fill_between(moments, values, step="post", color=COLOURS[number], alpha=0.12, linewidth=0)
        if at_ms is not None:
            axes.axvline(_moments([at_ms])[0], color="#333333", linewidth=1, linestyle=":")
        locator = AutoDateLocator(minticks=3, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.set_ylim(bottom=0)
        axes.set_ylabel(unit)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        if len(shown) > 1:
            axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
        return _svg(figure, title)


def _moments(times_ms: Sequence[int]) -> list[float]:
    from matplotlib.dates import date2num

    return [float(date2num(datetime.fromtimestamp(time / 1000, UTC))) for time in times_ms]


def shortened(name: str) -> str:
    """Cuts a long name in its middle, where names of one kind tend to be alike."""
    if len(name) <= _LONGEST_LABEL:
        return name
    half = (_LONGEST_LABEL - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _filled(series: Series, bucket_ms: int) -> tuple[list[int], list[float]]:
    """Puts a 0 behind each bucket that has no neighbour, so that a quiet time is not drawn as a busy one."""
    times: list[int] = []
    values: list[float] = []
    for time, value in sorted(zip(series.times_ms, series.values, strict=True)):
        if times and time > times[-1] + bucket_ms:
            times.append(times[-1] + bucket_ms)
            values.append(0)
        elif not times:
            times.append(time - bucket_ms)
            values.append(0)
        times.append(time)
        values.append(value)
    if times:
        times.append(times[-1] + bucket_ms)
        values.append(0)
    return times, values


@contextmanager
def _figure(height_inches: float) -> Iterator[tuple[Figure, Axes]]:
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "mqctl",
        "font.family": "sans-serif",
        "font.size": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.edgecolor": "#888888",
        "axes.formatter.useoffset": False,
        "timezone": "UTC",
        # A `$` in a topic's name is no formula.
        "text.parse_math": False,
    }
    with mpl.rc_context(settings):
        figure = NewFigure(figsize=(_WIDTH_INCHES, height_inches), layout="constrained")
        yield figure, figure.subplots()


def _svg(figure: Figure, title: str) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    begin, end = text.index("<metadata>"), text.index("</metadata>")
    text = text[:begin] + text[end + len("</metadata>") :]
    start = text.index("<svg")
    label = html.escape(title, quote=True)
    return text[start:].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
