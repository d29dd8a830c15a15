"""What consume threads do over time: one table a round, a row for each pool and each thing that its threads do."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

COLUMNS = (
    Column("source", "instance"),
    Column("group", "group", none="?", wide=True),
    Column("consume_mode", "mode", wide=True),
    Column("thread_count", "threads", CellKind.COUNT),
    Column("cls", "do"),
    Column("motion", "motion", CellKind.WORDS),
    Column("cpu_share", "cpu", CellKind.SHARE, none="?"),
    Column("same_ms", "same for", CellKind.DURATION_MS),
    Column("line", "frame", none="-"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackWatchRow:
    """Threads of one pool that do the same.

    Attributes:
        source: `pid 4711`, or a client id.
        cls: what they do, as `stacks dump` names it.
        motion: `stuck`, `slow`, `busy`, `idle`; `unknown` in the first round, which has nothing to compare with.
        cpu_share: of one core, each thread's mean; None where the system does not tell.
        line: the line of application code that they stand on.
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        same_ms: for how long some thread of the pool has done this there.
    """

    source: str
    group: str | None
    thread_count: int
    cls: str
    motion: str
    cpu_share: float | None
    line: str | None
    same_ms: int
    consume_mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRound:
    """Machine form of one round of `stacks dump --watch`."""

    observed_at_ms: int
    round: int
    threads: list[StackWatchRow]


def stack_round_document(observed_at_ms: int, number: int, rows: Sequence[StackWatchRow], said: str) -> Document:
    """Builds the document of one round; `said` is what else is to be told in its headline."""
    return Document(
        schema="stacks.dump.watch/1",
        value=StackRound(observed_at_ms=observed_at_ms, round=number, threads=list(rows)),
        records=rows,
        csv_columns=COLUMNS,
        blocks=[
            Paragraphs(
                [
                    sentence(
                        "stacks-round",
                        "{observed_at_ms}  round {number}{said}",
                        observed_at_ms=observed_at_ms,
                        number=number,
                        said=said,
                    )
                ]
            ),
            Table(COLUMNS, rows, empty=sentence("empty-no-consume-thread-was-seen", "no consume thread was seen")),
        ],
    )
