"""Filters as tables: verdicts, remarks, collisions, bit maps."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import composed, keep_texts, sentence

REMARK_COLUMNS = (Column("severity", "severity", CellKind.SEVERITY), Column("what", "what"))
BLOOM_COLUMNS = (
    Column("hash_count", "hashes", CellKind.COUNT),
    Column("bit_count", "bits", CellKind.COUNT),
    Column("group_count", "matching groups", CellKind.COUNT),
    Column("false_hit_share", "looked at in vain", CellKind.SHARE),
)
COLLISION_COLUMNS = (Column("code", "hash", CellKind.COUNT), Column("tags", "tags with this hash"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterVerdict:
    """Machine form of `filter test`.

    Attributes:
        verdict: `delivered`, `not delivered`, `unknown` (null) or `throws`.
        reason: what a broker stumbles over.
    """

    expression: str
    expression_type: str
    properties: dict[str, str]
    verdict: str
    reason: str | None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One remark of `filter lint`."""

    severity: str
    what: str
    what_key: str | None = None
    what_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "what")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """Tags with one hash: brokers let all of them through where one is wanted."""

    code: int
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomReport:
    """The bit map behind SQL92 subscriptions.

    Attributes:
        hash_count, bit_count: shape of the filter.
        false_hit_share: share of records that are looked at in vain when so many groups match.
        positions: bits of the group and topic that were asked about.
    """

    hash_count: int
    bit_count: int
    group_count: int
    false_hit_share: float
    positions: list[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """Machine form of `filter lint`; None, or nothing, is what was not asked for.

    Attributes:
        tag_count: tags that were compared.
        collisions: those of them that share a hash.
    """

    expression: str | None = None
    remarks: list[Remark] = field(default_factory=list)
    tag_count: int | None = None
    collisions: list[Collision] = field(default_factory=list)
    bloom: BloomReport | None = None


def verdict_document(value: FilterVerdict) -> Document:
    """Builds the document of `filter test`."""
    said = composed(
        "{verdict}: {kind} {expression}",
        verdict=value.verdict,
        kind=value.expression_type,
        expression=value.expression,
    )
    lines = [said]
    lines += [composed("  {reason}", reason=value.reason)] if value.reason else []
    return Document(schema="filter.test/1", value=value, records=[value], blocks=[Paragraphs(lines, stored=True)])


def lint_document(value: LintReport) -> Document:
    """Builds the document of `filter lint`."""
    tables: list[Table] = []
    if value.expression is not None:
        empty = sentence("empty-nothing-to-remark", "nothing to remark")
        tables.append(Table(REMARK_COLUMNS, value.remarks, empty=empty))
    if value.tag_count is not None:
        empty = sentence("filter-no-collisions", "every tag has a hash of its own: {count}", count=value.tag_count)
        tables.append(Table(COLLISION_COLUMNS, value.collisions, empty=empty))
    lines = [] if value.bloom is None else [Paragraphs(_bloom_lines(value.bloom), stored=True)]
    return Document(
        schema="filter.lint/1",
        value=value,
        records=tables[0].rows if tables else [value.bloom],
        csv_columns=() if tables else BLOOM_COLUMNS,
        blocks=[*tables, *lines],
    )


def _bloom_lines(value: BloomReport) -> list[str]:
    lines = [
        sentence(
            "filter-bits-hashes-each-group",
            "{bit_count} bits, {hash_count} hashes of each group and topic",
            bit_count=value.bit_count,
            hash_count=value.hash_count,
        ),
        sentence(
            "filter-records-looked-vain",
            "{group_count}: {false_hit_share} of records are looked at in vain",
            group_count=counted(value.group_count, "matching group"),
            false_hit_share=value.false_hit_share,
        ),
    ]
    if value.positions:
        lines.append(sentence("filter-bits", "bits: {positions}", positions=list(map(str, value.positions))))
    return lines
