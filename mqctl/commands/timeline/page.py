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

from mqctl import units
from mqctl.commands.timeline.view import EMPTY, TimelineRow, gravest, head_lines, standing_out, timeline_rows
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.past import RecordingGap
from mqctl.model.timeline import GroupSeries, TimelineReported
from mqctl.render.reports.html import whole_page
from mqctl.render.translation import spoken
from mqctl.text import encoded, sentence

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

_WORDS = {
    "backlog": sentence("timeline-page-backlog", "Messages behind"),
    "rates": sentence("timeline-page-rates", "Messages a second"),
    "sent": sentence("timeline-page-sent", "sent"),
    "consumed": sentence("timeline-page-consumed", "consumed"),
    "gap": sentence("timeline-page-gap", "not recorded"),
    "in": sentence("timeline-page-in", "Zoom in"),
    "out": sentence("timeline-page-out", "Zoom out"),
    "earlier": sentence("timeline-page-earlier", "Earlier"),
    "later": sentence("timeline-page-later", "Later"),
    "all": sentence("timeline-page-all", "Whole time"),
    "help": sentence("timeline-page-help", "Wheel: zoom. Drag, or Shift and wheel: move. Click an event: its moment."),
    "time": sentence("timeline-page-time", "time"),
    "severity": sentence("timeline-page-severity", "severity"),
    "what": sentence("timeline-page-what", "what"),
}


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
    every = timeline_rows(value.events)
    rows = gravest(every, limit)
    groups = sorted({each.group for each in charted.series} | {group for row in rows for group in row.groups})
    outstanding = standing_out(every)
    notes = [
        sentence(
            "timeline-page-total",
            "Without a group, rates are those of all groups: a message counts once for each group that reads it.",
        )
    ]
    if charted.series_count > len(charted.series):
        notes.append(
            sentence(
                "timeline-page-lines",
                "Lines: the {shown:,} of {total:,} groups and topics furthest behind; -g names others.",
                shown=len(charted.series),
                total=charted.series_count,
            )
        )
    if len(rows) < len(every):
        notes.append(
            sentence(
                "timeline-cut",
                "{shown:,} of {total:,} shown, the gravest, in order of time; --limit all",
                shown=len(rows),
                total=len(every),
            )
        )
    title = sentence("timeline-page-title", "RocketMQ: what happened to {cluster}", cluster=value.cluster)
    body = [
        f"<header><h1>{_text(title, lang)}</h1>",
        *(f'<p class="meta">{_text(line, lang)}</p>' for line in head_lines(value)),
        f'</header><main><section id="findings"><p><strong>{_text(outstanding[0], lang)}</strong></p>',
        f"<pre>{_text(chr(10).join(spoken(line, lang).strip() for line in outstanding[1:]), lang)}</pre></section>",
        _keys(groups, lang),
        '<p class="note" id="span"></p><div id="beside"><div id="charts">',
        *(_figure(name, lang) for name in ("backlog", "rates")),
        *(f'<p class="note">{_text(line, lang)}</p>' for line in notes),
        f'</div><div id="events">{_table(rows, lang)}</div></div></main>',
        f'<script type="application/json" id="data">{_data(value, charted, rows, groups, lang)}</script>',
    ]
    return whole_page(
        spoken(title, lang), body, lang or Lang.EN, style=_STYLE, script=_SCRIPT.read_text(encoding="utf-8")
    )


def _keys(groups: Iterable[str], lang: Lang | None) -> str:
    buttons = [f'<button id="{name}">{_text(_WORDS[name], lang)}</button>' for name in _BUTTONS]
    options = "".join(f'<option value="{_text(group, lang)}">' for group in groups)
    label = _text(sentence("timeline-page-group", "Consumer group"), lang)
    return (
        f'<div id="keys"><label>{label} <input id="group" list="groups" type="search"></label>'
        f'<datalist id="groups">{options}</datalist>{"".join(buttons)}'
        f'<span class="note">{_text(_WORDS["help"], lang)}</span></div>'
    )


def _figure(name: str, lang: Lang | None) -> str:
    caption = _text(_WORDS[name], lang)
    return (
        f'<figure><figcaption>{caption}</figcaption><svg id="{name}" role="img" aria-label="{caption}"></svg></figure>'
    )


def _table(rows: Sequence[TimelineRow], lang: Lang | None) -> str:
    if not rows:
        return f'<p class="calm">{_text(EMPTY, lang)}</p>'
    heads = (_text(_WORDS[name], lang) for name in ("time", "severity", "what"))
    lines = [
        f'<tr data-row="{number}" tabindex="0"><td>{_text(units.instant(row.moment_ms), lang)}</td>'
        f'<td class="{row.severity}"><b>{row.severity}</b></td><td>{_text(row.what, lang)}'
        + (f'<br><span class="note">{_text(row.cause_text, lang)}</span>' if row.cause_text else "")
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
                "what": spoken(row.what, lang),
                "groups": row.groups,
            }
            for row in rows
        ],
        "words": {name: spoken(_WORDS[name], lang) for name in ("gap", "backlog", "rates", "sent", "consumed")},
    }
    return msgspec.json.encode(data, enc_hook=encoded).decode().replace("<", "\\u003c")


def _text(text: str, lang: Lang | None) -> str:
    return html.escape(spoken(text, lang), quote=True)
