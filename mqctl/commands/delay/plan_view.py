"""A chain of delay levels, and what a relay did, as tables."""

from __future__ import annotations

from itertools import islice

from mqctl.model.counts import counted
from mqctl.model.delay_chain import DelayChain
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

MOST_HOPS = 1_000
SHOWN_HOPS = 20
COLUMNS = (
    Column("number", "hop", CellKind.COUNT),
    Column("level", "level", CellKind.COUNT),
    Column("delay_ms", "delay", CellKind.DURATION_MS),
    Column("sent_time_ms", "sent", CellKind.TIME_MS),
    Column("due_time_ms", "comes", CellKind.TIME_MS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One delay level of a chain, with epoch milliseconds of its beginning and its end."""

    number: int
    level: int
    delay_ms: int
    sent_time_ms: int
    due_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """Machine form of `delay plan`.

    Attributes:
        level_table: messageDelayLevel the chain is made of.
        native_timer: whether every master delivers at that moment by itself; None when no broker was asked.
        hop_count: hops of the chain.
        hops: the first thousand of them.
        rest_ms: what is left after the last hop; a relay waits it itself.
    """

    now_ms: int
    deliver_time_ms: int
    remaining_ms: int
    level_table: str
    native_timer: bool | None
    hop_count: int
    hops: list[Hop]
    rest_ms: int


def chain_document(
    chain: DelayChain,
    *,
    levels: str,
    table: DelayLevelTable,
    now_ms: int,
    deliver_ms: int,
    native_timer: bool | None,
) -> Document:
    """Builds the document of `delay plan`."""
    hops: list[Hop] = []
    moment_ms = now_ms
    for number, level in enumerate(islice(chain.levels(), MOST_HOPS), start=1):
        delay_ms = table.delays_ms[level - 1]
        hops.append(
            Hop(number=number, level=level, delay_ms=delay_ms, sent_time_ms=moment_ms, due_time_ms=moment_ms + delay_ms)
        )
        moment_ms += delay_ms
    report = ChainReport(
        now_ms=now_ms,
        deliver_time_ms=deliver_ms,
        remaining_ms=max(0, deliver_ms - now_ms),
        level_table=levels,
        native_timer=native_timer,
        hop_count=chain.hop_count,
        hops=hops,
        rest_ms=chain.rest_ms,
    )
    left = (
        sentence("delay-no-level-covers", ", then {rest_ms} that no level covers", rest_ms=chain.rest_ms)
        if chain.rest_ms
        else ""
    )
    lines = [
        sentence(
            "delay-now",
            "to {deliver_time_ms}, {remaining_ms} from now: {hop_count}{left}",
            deliver_time_ms=deliver_ms,
            remaining_ms=report.remaining_ms,
            hop_count=counted(chain.hop_count, "hop"),
            left=left,
        )
    ]
    if native_timer:
        lines.append(
            sentence(
                "delay-these-brokers-timers-message",
                "these brokers have timers: mqctl message send --deliver-at needs no hops",
            )
        )
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    if hops:
        blocks.append(Table(COLUMNS, hops[:SHOWN_HOPS]))
    return Document(schema="delay.plan/1", value=report, records=hops, csv_columns=COLUMNS, blocks=blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayReport:
    """Machine form of `delay relay`: what it did until it ended.

    Attributes:
        relayed_count: hops sent on.
        delivered_count: messages sent to their own topics.
        failed_count: attempts that failed; such messages come again.
    """

    relayed_count: int
    delivered_count: int
    failed_count: int


def relay_document(report: RelayReport) -> Document:
    """Builds the document of `delay relay`."""
    columns = (
        Column("relayed_count", "sent on", CellKind.COUNT),
        Column("delivered_count", "delivered", CellKind.COUNT),
        Column("failed_count", "failed", CellKind.COUNT),
    )
    return Document(schema="delay.relay/1", value=report, records=[report], blocks=[Table(columns, [report])])
