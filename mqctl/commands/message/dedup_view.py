"""How often the same message was delivered, as measured by the states of idempotent consumption."""

from __future__ import annotations

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Paragraphs, Table
from mqctl.text import composed, sentence

COLUMNS = (Column("key", "key"), Column("repetition_count", "repetitions", CellKind.COUNT))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedKey:
    """A key that came again, and how often after the first time."""

    key: str
    repetition_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplication:
    """What the wrapper would have done with the messages.

    Attributes:
        by: what told messages apart: `key`, `id` or a property.
        states: where the states are kept.
        keyless_count: messages without it; they are always new.
        consumed_before_count: messages it would have skipped.
        consuming_elsewhere_count: messages that another process had begun; they would have come back later.
        widest_gap_ms: longest time between the first and the last store time of one key; how long states must live.
        state_us_per_message: microseconds that reading and writing the state cost.
        repeated: the keys that came again most often.
    """

    by: str
    states: str
    message_count: int
    keyless_count: int
    new_count: int
    consumed_before_count: int
    consuming_elsewhere_count: int
    widest_gap_ms: int | None
    state_us_per_message: int | None
    repeated: list[RepeatedKey]


def deduplication_blocks(dedup: Deduplication) -> list[Table | Paragraphs]:
    """Builds what people see of it."""
    keyed = dedup.message_count - dedup.keyless_count
    part = composed(" ({part_share})", part_share=dedup.consumed_before_count / keyed) if keyed else ""
    line = sentence(
        "deduplication-counts",
        "by {by}: {new_count} new, {consumed_before_count:,} consumed before{part}, "
        "{consuming_elsewhere_count:,} in work elsewhere, {keyless_count:,} without",
        by=dedup.by,
        new_count=counted(dedup.new_count, "message"),
        consumed_before_count=dedup.consumed_before_count,
        part=part,
        consuming_elsewhere_count=dedup.consuming_elsewhere_count,
        keyless_count=dedup.keyless_count,
    )
    lines = [line]
    if dedup.widest_gap_ms is not None:
        lines.append(
            sentence(
                "deduplication-widest-gap",
                "repetitions come up to {gap_ms} later: states must live longer than that",
                gap_ms=dedup.widest_gap_ms,
            )
        )
    if dedup.state_us_per_message is not None:
        lines.append(
            sentence(
                "deduplication-states-cost",
                "the states in {states} cost {cost_us:,} us a message",
                states=dedup.states,
                cost_us=dedup.state_us_per_message,
            )
        )
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    if dedup.repeated:
        blocks.append(
            Table(COLUMNS, dedup.repeated, title=sentence("title-keys-that-came-again", "keys that came again"))
        )
    return blocks
