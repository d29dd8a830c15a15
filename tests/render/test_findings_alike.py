"""Many findings of one rule in one block: whose group somebody runs is named among the first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Paragraphs
from mqctl.render.findings import diagnosis_document, finding_row
from mqctl.render.findings_alike import alike_block
from mqctl.render.summary import verdict_again
from mqctl.rules.engine.judging import diagnose
from mqctl.text import printable
from tests.rules.live_snapshots import LIVE, MINUTE, NOW
from tests.rules.snapshots import FAULTS, cluster


def _behind(group: str, minutes: int) -> ConsumerOffsetState:
    since = NOW - minutes * MINUTE
    return ConsumerOffsetState(group=group, topic="Pay", queue_id=0, offset=900, next_store_time_ms=since)


def _document(*states: ConsumerOffsetState) -> Document:
    first = LIVE.brokers[0]
    snapshot = replace(LIVE, brokers=(replace(first, consumer_offsets=states), *LIVE.brokers[1:]))
    return diagnosis_document(snapshot, diagnose(snapshot), explain=False)


def _blocks(document: Document) -> list[list[str]]:
    return [[printable(line) for line in item.lines] for item in document.blocks if "MQ401" in str(item)]  # type: ignore[union-attr]


_DEAD = tuple(_behind(f"dead-{number:02}", 100) for number in range(12))


def test_a_group_with_members_is_told_before_those_that_have_none() -> None:
    live, dead = _blocks(_document(_behind("G", 10), *_DEAD))
    assert live[0].startswith("WARNING  MQ401  broker-a G Pay")
    assert live[1].startswith("  Group G is 10 min behind")
    assert dead[0].startswith("ERROR  MQ401  A consumer group is behind: 12 findings")
    assert [line.split()[1] for line in dead[1:4]] == [f"dead-{number:02}" for number in range(3)]


def test_of_groups_that_nobody_runs_three_are_named_and_all_are_counted_at_the_top() -> None:
    document = _document(*_DEAD)
    (lines,) = _blocks(document)
    assert [line.split()[1] for line in lines[1:4]] == [f"dead-{number:02}" for number in range(3)]
    assert lines[4] == "  and 9 more (-o json for all)"
    assert "consumer groups online: 1; without members online: 12" in document.blocks[0].lines  # type: ignore[union-attr]


@given(data=st.data())
def test_the_effect_of_many_is_that_of_all_together(data: st.DataObject) -> None:
    """ "176 messages wait there" of eight findings are those of all eight."""
    code, name = data.draw(st.sampled_from([("MQ410", "lag_count"), ("MQ702", "lost_count"), ("MQ703", "again_count")]))
    (fault, *_) = (item for item in FAULTS if item.code == code)
    one = diagnose(fault.broker if isinstance(fault.broker, ClusterSnapshot) else cluster(fault.broker)).findings[0]
    counts = data.draw(st.lists(st.integers(1, 10**9), min_size=4, max_size=15))
    alike = []
    for count in counts:
        evidence = tuple(replace(item, value=count if item.name == name else item.value) for item in one.evidence)
        finding = replace(one, evidence=evidence)
        alike.append((finding_row(finding, "--store x"), finding))
    (effect,) = [line for line in alike_block(alike, source="--store x").lines if line.startswith("  effect: ")]
    assert f"{sum(counts):,} " in effect


def test_a_diagnosis_longer_than_a_screen_ends_with_its_verdict_and_what_to_do_first() -> None:
    short = _document(*_DEAD)
    assert verdict_again(short) is short
    long = replace(short, blocks=[*short.blocks, Paragraphs(["more"] * 40)])
    again = verdict_again(long).blocks[-1].lines  # type: ignore[union-attr]
    assert again[0].startswith("ERROR: ")
    assert [*again] == [line for line in short.blocks[0].lines if line in again]  # type: ignore[union-attr]
