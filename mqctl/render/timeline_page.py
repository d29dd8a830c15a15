"""`timeline --html`: one file with charts of backlog and rates beside the events, to scroll and zoom without network.

The charts are drawn by a script of this package that stands in the page: nothing else runs, and nothing is fetched. A
library (plotly, bokeh) would put 1 to 4 MB into every page for what 200 lines do.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.past import RecordingGap
from mqctl.model.timeline import GroupSeries, TimelineReported
from mqctl.render import units
from mqctl.render.messages import phrase
from mqctl.render.reports.html import whole_page
from mqctl.render.timeline import TimelineRow, gravest, head_lines, standing_out, timeline_rows
from mqctl.text import encoded

MOST_SERIES = 60
"""Groups on topics that have a line: those furthest behind."""
MOST_ROWS = 2_000
_SCRIPT = Path(__file__).with_name("timeline_page.js")
_BUTTONS = ("in", "out", "earlier", "later", "all")
_STYLE = """
body { max-width: 110rem; }
#beside { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1rem; align-items: start; }
#charts { position: sticky; top: .5rem; }
#charts figure svg { max-width: none; touch-action: pan-y; cursor: grab; font: 12px system-ui, sans-serif; }
#events { max-height: 40rem; overflow-y: auto; }
#events tr { cursor: pointer; } #events tr.outside { color: #767676; } #events tr.chosen { background: #fff3c4; }
#events td { max-width: none; } #events td:first-child, #events td:nth-child(2) { white-space: nowrap; }
#events th { position: sticky; top: 0; }
td b { font-size: .78rem; text-transform: uppercase; }
.fatal { color: #b00020; }
.mark { stroke: #8a5a00; cursor: pointer; }
.mark.error, .mark.fatal { stroke: #b00020; } .mark.info { stroke: #005a8e; }
#keys { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; } #keys input { min-width: 14rem; }
#keys input.unknown { outline: 2px solid #b00020; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .3rem 0 1rem; }
@media (max-width: 60rem) { #beside { display: block; } #charts { position: static; } }
@media print { #keys { display: none; } #beside { display: block; } #charts { position: static; }
  #events { max-height: none; overflow: visible; } #events th { position: static; }
  #events tr.outside { color: inherit; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charted:
    """The figures behind the charts.

    Attributes:
        moments_ms: of all series.
        series: those furthest behind first; `series_count` there are in all.
        sent_per_s, consumed_per_s: of all of them together.
    """

    moments_ms: Sequence[int]
    series: Sequence[GroupSeries]
    series_count: int
    sent_per_s: Sequence[float | None]
    consumed_per_s: Sequence[float | None]
    gaps: Sequence[RecordingGap]


def timeline_page(value: TimelineReported, charted: Charted, lang: Lang | None, limit: int | None) -> str:
    """Writes the whole page."""
    every = timeline_rows(value.events, lang)
    rows = gravest(every, limit)
    groups = sorted({each.group for each in charted.series} | {group for row in rows for group in row.groups})
    outstanding = standing_out(every, lang)
    notes = [phrase("timeline_page_total", lang)]
    if charted.series_count > len(charted.series):
        lines = phrase("timeline_page_lines", lang)
        notes.append(lines.format(shown=len(charted.series), total=charted.series_count))
    if len(rows) < len(every):
        notes.append(phrase("timeline_cut", lang).format(shown=len(rows), total=len(every)))
    title = phrase("timeline_page_title", lang).format(cluster=value.cluster)
    body = [
        f"<header><h1>{_text(title)}</h1>",
        *(f'<p class="meta">{_text(line)}</p>' for line in head_lines(value, lang)),
        f'</header><main><section id="findings"><p><strong>{_text(outstanding[0])}</strong></p>',
        f"<pre>{_text(chr(10).join(line.strip() for line in outstanding[1:]))}</pre></section>",
        _keys(groups, lang),
        '<p class="note" id="span"></p><div id="beside"><div id="charts">',
        *(_figure(name, lang) for name in ("backlog", "rates")),
        *(f'<p class="note">{_text(line)}</p>' for line in notes),
        f'</div><div id="events">{_table(rows, lang)}</div></div></main>',
        f'<script type="application/json" id="data">{_data(value, charted, rows, groups, lang)}</script>',
    ]
    return whole_page(title, body, lang or Lang.EN, style=_STYLE, script=_SCRIPT.read_text(encoding="utf-8"))


def _keys(groups: Iterable[str], lang: Lang | None) -> str:
    buttons = [f'<button id="{name}">{_text(phrase(f"timeline_page_{name}", lang))}</button>' for name in _BUTTONS]
    options = "".join(f'<option value="{_text(group)}">' for group in groups)
    label = _text(phrase("timeline_page_group", lang))
    return (
        f'<div id="keys"><label>{label} <input id="group" list="groups" type="search"></label>'
        f'<datalist id="groups">{options}</datalist>{"".join(buttons)}'
        f'<span class="note">{_text(phrase("timeline_page_help", lang))}</span></div>'
    )


def _figure(name: str, lang: Lang | None) -> str:
    caption = _text(phrase(f"timeline_page_{name}", lang))
    return (
        f'<figure><figcaption>{caption}</figcaption><svg id="{name}" role="img" aria-label="{caption}"></svg></figure>'
    )


def _table(rows: Sequence[TimelineRow], lang: Lang | None) -> str:
    if not rows:
        return f'<p class="calm">{_text(phrase("timeline_empty", lang))}</p>'
    heads = (_text(phrase(f"timeline_page_{name}", lang)) for name in ("time", "severity", "what"))
    lines = [
        f'<tr data-row="{number}" tabindex="0"><td>{_text(units.instant(row.moment_ms))}</td>'
        f'<td class="{row.severity}"><b>{row.severity}</b></td><td>{_text(row.what)}'
        + (f'<br><span class="note">{_text(row.cause_text)}</span>' if row.cause_text else "")
        + "</td></tr>"
        for number, row in enumerate(rows)
    ]
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _data(
    value: TimelineReported, charted: Charted, rows: Sequence[TimelineRow], groups: list[str], lang: Lang | None
) -> str:
    """The figures as JSON that no name in them can break out of."""
    zone = datetime.fromtimestamp(value.since_ms / 1000, UTC).astimezone()
    offset = zone.utcoffset()
    data = {
        "since_ms": value.since_ms,
        "until_ms": value.until_ms,
        "offset_ms": 0 if offset is None else round(offset.total_seconds() * 1000),
        "zone": f"{zone:%z}",
        "moments_ms": charted.moments_ms,
        "gaps": [[gap.since_ms, gap.until_ms] for gap in charted.gaps],
        "groups": groups,
        "series": [
            {
                "group": each.group,
                "topic": each.topic,
                "lag": each.lag_counts,
                "sent": each.in_per_s,
                "consumed": each.out_per_s,
            }
            for each in charted.series
        ],
        "total": {"sent": charted.sent_per_s, "consumed": charted.consumed_per_s},
        "rows": [
            {
                "moment_ms": row.moment_ms,
                "severity": row.severity,
                "rank": row.rank,
                "what": row.what,
                "groups": row.groups,
            }
            for row in rows
        ],
        "words": {
            name: phrase(f"timeline_page_{name}", lang) for name in ("gap", "backlog", "rates", "sent", "consumed")
        },
    }
    return msgspec.json.encode(data, enc_hook=encoded).decode().replace("<", "\\u003c")


def _text(text: str) -> str:
    return html.escape(text, quote=True)
