"""`doctor --html`: a diagnosis as one file for a ticket, readable without mqctl, without network, and on paper.

The verdict comes first, then each block that `doctor` shows, in its order; what could not be judged is folded.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from mqctl.diagnosis.backlog_advice import BacklogAdvice
from mqctl.model.lang import Lang
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.render.messages import phrase
from mqctl.render.owners import owner_table
from mqctl.render.remedies import remedy_tables
from mqctl.render.reports.html import table_of, whole_page
from mqctl.render.standing import standing_lines, standing_table
from mqctl.render.text import printable

_COMMAND = "; mqctl "
_CSS_OF = {"ok": "fine", "warning": "warning", "critical": "error", "unknown": "warning"}
_STYLE = """
.finding { border-left: .3rem solid; padding: .1rem .7rem; margin: .7rem 0; break-inside: avoid; }
.finding h3 { margin: 0; } .finding h3 b { font-size: .78rem; text-transform: uppercase; margin-right: .4rem; }
.finding p, .finding h3 span { color: #1c1c1c; } .finding p { margin: .1rem 0; overflow-wrap: anywhere; }
.fatal { color: #b00020; }
"""


def findings_page(
    document: Document,
    snapshot: ClusterSnapshot,
    groups: Sequence[str],
    lang: Lang | None,
    advices: Sequence[BacklogAdvice] = (),
) -> str:
    """Writes the whole page.

    Args:
        advices: of the groups that were asked for: who holds their queues, and what would help.
        document: what `doctor` shows: its headline with the verdict, findings, what could not be judged.
        groups: those that were asked for.
    """
    head, *blocks = document.blocks
    lines = list(head.lines) if isinstance(head, Paragraphs) else []
    verdict = str(getattr(document.value, "verdict", "unknown"))
    summary = next((line for line in lines if line.startswith(phrase(f"verdict_{verdict}", lang))), verdict)
    before, after = lines[: lines.index(summary)], lines[lines.index(summary) + 1 :]
    in_table = {line.partition(_COMMAND)[0] for line in standing_lines(snapshot, groups, "", lang)}
    after = [line for line in after if line.partition(_COMMAND)[0] not in in_table]
    title = phrase("doctor_page_title", lang)
    tables = [*remedy_tables(advices, lang), *(block for block in blocks if isinstance(block, Table))]
    body = [
        f"<header><h1>{_text(title)}</h1>",
        f'<p class="meta">{"<br>".join(map(_text, [*_scope(snapshot, groups, lang), *before]))}</p>',
        f'<p class="verdict {_CSS_OF.get(verdict, "warning")}">{_text(summary)}</p>',
        *(f"<p>{_text(line)}</p>" for line in after),
        "</header><main>",
        table_of("groups", standing_table(snapshot, groups)) if groups else "",
        table_of("owners", owner_table(advices)) if advices else "",
        *(_finding(block) for block in blocks if isinstance(block, Paragraphs)),
        *(_folded(number, table) for number, table in enumerate(tables)),
        "</main>",
    ]
    return whole_page(title, body, lang or Lang.EN, style=_STYLE)


def _scope(snapshot: ClusterSnapshot, groups: Sequence[str], lang: Lang | None) -> list[str]:
    clusters = sorted({broker.cluster for broker in snapshot.brokers if broker.cluster})
    comma = phrase("comma", lang)
    of_clusters = phrase("doctor_page_cluster", lang).format(names=comma.join(clusters)) if clusters else ""
    of_groups = phrase("doctor_page_groups", lang).format(names=comma.join(map(printable, groups))) if groups else ""
    return [line for line in (of_clusters, of_groups) if line]


def _finding(block: Paragraphs) -> str:
    """Its first line says how grave it is, by which rule, and of what; the others are indented."""
    lines = [f"<p>{_text(line.strip())}</p>" if line.startswith(" ") else _head(line) for line in block.lines]
    return f'<section class="finding {block.severity or "info"}">{"".join(lines)}</section>'


def _head(line: str) -> str:
    severity, _, about = line.partition("  ")
    return f"<h3><b>{_text(severity)}</b><span>{_text(about)}</span></h3>"


def _folded(number: int, table: Table) -> str:
    summary = f"{_text(table.title)} ({len(table.rows):,})"
    return f"<details><summary>{summary}</summary>{table_of(f'table-{number}', table)}</details>"


def _text(text: str) -> str:
    return html.escape(text, quote=True)
