"""All reports as one HTML file: findings in words first, charts, then tables whose figures can be saved.

Nothing is fetched from anywhere and nothing runs: no script, no font, no picture from elsewhere.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mqctl import units
from mqctl.model.counts import counted
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.render.reports.charts import charts_of
from mqctl.render.reports.tables import section_tables
from mqctl.render.reports.words import NOTHING_STANDS_OUT, SEVERITIES, Stated, stated
from mqctl.render.text import cell, is_right, shown_columns
from mqctl.render.translation import spoken
from mqctl.text import joined

ROWS_SHOWN = 12
_WORST = 10
_FOLDED = {"Over time", "When it arrived", "Due over time", "What was read"}
_TITLES = {
    "backlog": "Backlog",
    "skew": "Skew: hot queues, keys and producers",
    "order": "Order: keys in several queues",
    "duplicates": "Duplicates",
    "tags": "Tags",
    "delay": "Delay levels",
    "transactions": "Transactions",
    "retries": "Retries and dead letters",
    "capacity": "Capacity",
}
_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; margin: 0 auto; padding: 1rem;
  max-width: 76rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-bottom: 2px solid #0072b2; padding-bottom: .2rem; }
details { margin: .8rem 0; } summary { font-weight: 600; cursor: pointer; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p.meta, .note { color: #555; font-size: .85rem; overflow-wrap: anywhere; }
nav a { margin-right: .9rem; white-space: nowrap; }
a { color: #005a8e; }
ul.findings { padding-left: 1.1rem; }
ul.findings li { margin: .35rem 0; overflow-wrap: anywhere; }
.calm { color: #555; }
.verdict { font-size: 1.15rem; font-weight: 700; margin: .6rem 0 .2rem; padding: .35rem .6rem;
  border-left: .5rem solid; }
.error { color: #b00020; } .warning { color: #8a5a00; } .info { color: #005a8e; } .fine { color: #1b6e2d; }
li b { font-size: .78rem; text-transform: uppercase; margin-right: .35rem; }
details.report { border-top: 1px solid #cdd6de; margin: 0; padding: .3rem 0; }
details.report > summary { font-size: 1.05rem; }
details.report > summary span { font-weight: 400; font-size: .85rem; margin-left: .5rem; }
figure { margin: .5rem 0 1rem; }
figure svg { width: 100%; height: auto; max-width: 38rem; display: block; }
figcaption { font-size: .85rem; color: #333; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; max-width: 26rem; min-width: 3rem; }
th { background: #f2f5f8; }
.n { text-align: right; white-space: nowrap; }
@media (max-width: 40rem) { body { padding: .6rem; font-size: 14px; } h1 { font-size: 1.3rem; }
  th, td { padding: .2rem .4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav, .save { display: none; }
  .wide { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .15rem .3rem; min-width: 0; }
  th, th.n { white-space: normal; } td:not(.n) { min-width: 12ch; }
  figure, tr, h2, h3 { break-inside: avoid; } h2, h3, summary { break-after: avoid; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What stands in the file.

    Attributes:
        cluster: names of the cluster and of the brokers whose stores they are, as far as they are known.
        scope: what was asked for, in words: names and times.
        made_at_ms: when the report was made.
        reports: report values by name, in order.
        lang: language of the sentences.
    """

    stores: Sequence[str]
    cluster: str
    scope: str
    made_at_ms: int
    reports: dict[str, object]
    lang: Lang | None = None


def html_page(page: Page) -> str:
    """Writes the whole file: the verdict and what stands out, then each report, open where it has something to show."""
    words = {name: _spoken(stated(name, value), page.lang) for name, value in page.reports.items()}
    body = [
        "<header><h1>RocketMQ store report</h1>",
        f'<p class="meta">{_text(page.cluster)}<br>store {_text(", ".join(page.stores))}<br>{_text(page.scope)}<br>'
        f"made {_text(units.instant(page.made_at_ms))}</p>",
        _verdict([item for sentences in words.values() for item in sentences]),
        '</header><main><section id="findings"><h2>What stands out</h2>',
        _summary(words),
        "</section>",
        *(_section(name, value, words[name]) for name, value in page.reports.items()),
        "</main>",
    ]
    return whole_page("RocketMQ store report", body)


def _spoken(listed: Sequence[Stated], lang: Lang | None) -> list[Stated]:
    return [replace(each, text=spoken(each.text, lang)) for each in listed]


def document_page(title: str, document: Document, charts: Mapping[str, str], lang: Lang | None = None) -> str:
    """Writes a document as a file of its own: its sentences, charts (SVG by title), and tables to save."""
    body = [f"<header><h1>{_text(title)}</h1></header><main>"]
    figures = [f"<figure><figcaption>{_text(name)}</figcaption>{svg}</figure>" for name, svg in charts.items()]
    for number, block in enumerate(document.blocks):
        if isinstance(block, Table):
            body.append(table_of(f"table-{number}", block))
        elif isinstance(block, Paragraphs):
            lines = [line for line in block.lines if not line.startswith("  ")]
            quoted = [line.strip() for line in block.lines if line.startswith("  ")]
            body += [f"<p>{_text(line)}</p>" for line in lines]
            body += [f'<pre class="wide">{_text(chr(10).join(quoted))}</pre>'] if quoted else []
        if number == 0:
            body += figures
    return whole_page(title, [*body, "</main>"], lang or Lang.EN)


def whole_page(title: str, body: Sequence[str], lang: str = "en", *, style: str = "", script: str | None = None) -> str:
    """Writes a page with its style; `script` alone runs in it, known to the browser by its hash."""
    runs = ""
    if script is not None:
        runs = f"; script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="{lang}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Whatever a stored message holds, nothing of it runs or is fetched.
        '<meta http-equiv="Content-Security-Policy"'
        f" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:{runs}\">",
        f"<title>{_text(title)}</title><style>{_STYLE}{style}</style></head><body>",
        *body,
        "" if script is None else f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict(sentences: Sequence[Stated]) -> str:
    counts = [
        (word, sum(item.severity == word for item in sentences), css)
        for word, css in (("error", "error"), ("warning", "warning"))
    ]
    worst = next((css for _, count, css in counts if count), "fine")
    verdict = {"error": "ERROR", "warning": "WARNING", "fine": "OK"}[worst]
    parts = joined(", ", (counted(count, word) for word, count, _ in counts if count)) or NOTHING_STANDS_OUT
    return f'<p class="verdict {worst}">{verdict}: {_text(parts)}</p>'


def _summary(words: dict[str, list[Stated]]) -> str:
    """The gravest first; what one sentence says of many is said of the worst ten, and then counted."""
    every = [(name, item) for name, sentences in words.items() for item in sentences]
    graver = sorted(every, key=lambda pair: SEVERITIES.index(pair[1].severity))
    shown = [f'<li>{_item(item)} <a href="#{name}">more</a></li>' for name, item in _grouped(graver)]
    left = len(every) - len(shown)
    rest = [f'<li class="calm">and {left:,} more, in the reports and their figures</li>'] if left else []
    return (
        f'<ul class="findings">{"".join([*shown, *rest])}</ul>' if shown else '<p class="calm">Nothing stands out.</p>'
    )


def _grouped(sentences: Sequence[tuple[str, Stated]]) -> list[tuple[str, Stated]]:
    seen: Counter[str] = Counter()
    kept = []
    for name, item in sentences:
        seen[item.key] += 1
        if seen[item.key] <= _WORST:
            kept.append((name, item))
    return kept


def _item(item: Stated) -> str:
    return f'<b class="{item.severity}">{item.severity}</b>{_text(item.text)}'


def _section(name: str, value: object, words: list[Stated]) -> str:
    """A report, open where something worse than a remark stands out of it."""
    grave = sum(item.severity != "info" for item in words)
    summary = counted(grave, "finding") if grave else NOTHING_STANDS_OUT
    css = words[0].severity if grave else "calm"
    head = f'<summary>{_text(_TITLES[name])}<span class="{css}">{_text(summary)}</span></summary>'
    parts = [f'<section id="{name}"><details class="report"{" open" if grave else ""}>{head}']
    charts = [
        f"<figure><figcaption>{_text(chart.title)}</figcaption>{chart.svg}</figure>" for chart in charts_of(name, value)
    ]
    first, *others = [table_of(name, table) for table in section_tables(name, value)]
    parts.append(first)
    if charts or others:
        parts.append(f"<details><summary>Charts and details</summary>{''.join([*charts, *others])}</details>")
    return "".join(parts) + "</details></section>"


def table_of(name: str, table: Table) -> str:
    if not table.rows:
        return f'<h3>{_text(table.title)}</h3><p class="calm">{_text(table.empty)}</p>'
    columns = shown_columns(table, wide=False)
    head = "".join(f"<th{_side(column)}>{_text(column.title)}</th>" for column in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td{_side(column)}>{_text(cell(column, row))}</td>" for column in columns) + "</tr>"
        for row in table.rows[:ROWS_SHOWN]
    )
    more = len(table.rows) - ROWS_SHOWN
    rest = f'<p class="note">and {more:,} more, in the saved figures</p>' if more > 0 else ""
    grid = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'
    if table.title in _FOLDED:  # the chart tells it better
        title = f"{_text(table.title)} ({len(table.rows):,} rows) {_save_link(name, table)}"
        return f"<details><summary>{title}</summary>{grid}</details>"
    return f"<h3>{_text(table.title)} {_save_link(name, table)}</h3>{grid}"


def _save_link(name: str, table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    for row in table.rows:
        values = (getattr(row, column.key) for column in table.columns)
        writer.writerow(["" if value is None else value for value in values])
    data = base64.b64encode(out.getvalue().encode()).decode()
    file = f"{name}-{table.title.lower().replace(' ', '-')}.csv"
    return f'<a class="save note" download="{_text(file)}" href="data:text/csv;base64,{data}">save as CSV</a>'


def _side(column: Column) -> str:
    return ' class="n"' if is_right(column) else ""


def _text(text: str) -> str:
    return html.escape(text, quote=True)
