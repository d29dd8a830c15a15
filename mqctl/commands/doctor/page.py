"""`doctor --html`: a diagnosis as one file for a ticket, readable without mqctl, without network, and on paper.

The verdict comes first, then each block that `doctor` shows, in its order; what could not be judged is folded.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from mqctl.commands.doctor.owners import owner_table
from mqctl.lag.advice import BacklogAdvice
from mqctl.model.lang import Lang
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.render.remedies import remedy_tables
from mqctl.render.reports.html import table_of, whole_page
from mqctl.render.spoken_document import spoken_block, spoken_table
from mqctl.render.standing import standing_lines, standing_table
from mqctl.render.summary import SUMMARY
from mqctl.render.translation import spoken
from mqctl.text import key_of, printable, sentence

_COMMAND = "; mqctl "
_CSS_OF = {"ok": "fine", "warning": "warning", "error": "error", "fatal": "error", "unknown": "warning"}
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
    summary = next((line for line in lines if key_of(line) == SUMMARY), verdict)
    before, after = lines[: lines.index(summary)], lines[lines.index(summary) + 1 :]
    in_table = {line.partition(_COMMAND)[0] for line in standing_lines(snapshot, groups, "")}
    after = [line for line in after if line.partition(_COMMAND)[0] not in in_table]
    title = spoken(sentence("doctor-page-title", "RocketMQ diagnosis"), lang)
    before, after = ([spoken(line, lang) for line in lines] for lines in ([*_scope(snapshot, groups), *before], after))
    said = [spoken_block(block, lang) for block in [*remedy_tables(advices), *blocks]]
    tables = [block for block in said if isinstance(block, Table)]
    body = [
        f"<header><h1>{_text(title)}</h1>",
        f'<p class="meta">{"<br>".join(map(_text, before))}</p>',
        f'<p class="verdict {_CSS_OF.get(verdict, "warning")}">{_text(spoken(summary, lang))}</p>',
        *(f"<p>{_text(line)}</p>" for line in after),
        "</header><main>",
        table_of("groups", spoken_table(standing_table(snapshot, groups), lang)) if groups else "",
        table_of("owners", spoken_table(owner_table(advices), lang)) if advices else "",
        *(_finding(block) for block in said if isinstance(block, Paragraphs)),
        *(_folded(number, table) for number, table in enumerate(tables)),
        "</main>",
    ]
    return whole_page(title, body, lang or Lang.EN, style=_STYLE)


def _scope(snapshot: ClusterSnapshot, groups: Sequence[str]) -> list[str]:
    clusters = sorted({broker.cluster for broker in snapshot.brokers if broker.cluster})
    of_clusters = sentence("doctor-page-cluster", "cluster {names}", names=clusters) if clusters else ""
    of_groups = (
        sentence("doctor-page-groups", "groups {names}", names=[printable(group) for group in groups]) if groups else ""
    )
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
