"""Many findings of one rule in one block: whose group somebody runs is named among the first."""

from __future__ import annotations

from dataclasses import replace

from mqctl.diagnosis.judging import diagnose
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.render.findings import diagnosis_document
from mqctl.render.text import printable
from tests.diagnosis.live_snapshots import LIVE, MINUTE, NOW


def test_a_group_with_members_is_named_before_the_ten_worst_that_have_none() -> None:
    def behind(group: str, minutes: int) -> ConsumerOffsetState:
        since = NOW - minutes * MINUTE
        return ConsumerOffsetState(group=group, topic="Pay", queue_id=0, offset=900, next_store_time_ms=since)

    first = LIVE.brokers[0]
    dead = tuple(behind(f"dead-{number:02}", 100) for number in range(12))
    brokers = (replace(first, consumer_offsets=(behind("G", 10), *dead)), *LIVE.brokers[1:])
    snapshot = replace(LIVE, brokers=brokers)
    document = diagnosis_document(snapshot, diagnose(snapshot), lang=None, explain=False)
    (block,) = (item for item in document.blocks if "MQ401" in str(item))
    lines = [printable(line) for line in block.lines]  # type: ignore[union-attr]
    assert lines[0].startswith("ERROR  MQ401  A consumer group is behind: 13 findings")
    assert lines[1].startswith("  Group G is 10 min behind")
    assert [line.split()[1] for line in lines[2:11]] == [f"dead-{number:02}" for number in range(9)]
    assert lines[11] == "  and 3 more (-o json for all)"
