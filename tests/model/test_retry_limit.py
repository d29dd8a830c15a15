"""How often a message is tried again, and when it is a dead letter: whatever groups allow and members report."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.model.dead_letter import Retry, RetryState, repair_windows
from mqctl.model.member import RunningInfo
from mqctl.model.retry_ladder import MOST_STEPS, RetryLadder
from mqctl.model.retry_limit import LimitOf, member_limit
from mqctl.render.dead_letters import retries_document
from mqctl.render.document import Document, Paragraphs
from tests.changes.plan.messages import stored

_NOW_MS = 1_700_000_000_000
# What a member reports (None: nothing), and whether it is orderly.
_REPORT = st.tuples(st.none() | st.just(-1) | st.integers(0, 1_000), st.booleans())
_WITHOUT_END = 10**9


def _member(report: tuple[int | None, bool], *, pops: bool = False) -> RunningInfo:
    most, orderly = report
    limit = {} if most is None else {"maxReconsumeTimes": str(most)}
    properties = {"PROP_CONSUMEORDERLY": str(orderly).lower(), **limit}
    return RunningInfo(group="G", client_id="one", properties=properties, pops=pops)


def _tries(most: int, failed: int) -> int:
    """Tries as a broker counts: one that fails after `most` failures makes a dead letter of the message."""
    tries = 1
    while failed < most:
        failed, tries = failed + 1, tries + 1
    return tries


@given(
    of_group=st.none() | st.integers(0, 1_000),
    reports=st.lists(_REPORT, max_size=4),
    pops=st.booleans(),
    failed=st.integers(0, 1_100),
)
@example(of_group=16, reports=[(200, False)], pops=False, failed=7)
@example(of_group=16, reports=[(1, False)], pops=False, failed=1)
@example(of_group=3, reports=[(-1, False)], pops=False, failed=16)
@example(of_group=16, reports=[(-1, True), (5, False)], pops=True, failed=900)
@example(of_group=16, reports=[(None, False)], pops=True, failed=17)
def test_the_largest_limit_that_members_report_counts_and_else_the_groups(
    of_group: int | None, reports: list[tuple[int | None, bool]], pops: bool, failed: int
) -> None:
    popping = [_member((1_000_000, False), pops=True)] if pops else []
    limit = member_limit([*map(_member, reports), *popping])
    ladder = None if of_group is None else RetryLadder(retry_max_times=of_group)
    if limit is not None:
        ladder = (ladder or RetryLadder(retry_max_times=None)).of_members(limit)
    retry = Retry(
        group="G", broker_name="broker-a", stored=stored(reconsume_times=failed), state=RetryState.READY, ladder=ladder
    )
    document = retries_document([retry], more=False, now_ms=_NOW_MS)
    (row,) = document.value.retries  # type: ignore[attr-defined]

    allowed = [
        (reported if reported >= 0 else _WITHOUT_END if orderly else 16, orderly)
        for reported, orderly in reports
        if reported is not None
    ]
    most, in_place = max(allowed, default=(of_group, False))
    assert row.limit_of == (LimitOf.MEMBERS if allowed else LimitOf.GROUP if of_group is not None else None)
    assert row.retry_limit == (None if most == _WITHOUT_END else most)
    beyond = most is not None and failed > most
    if most is None or most == _WITHOUT_END or beyond:
        assert (row.tries_left, row.dead_letter_ms, row.dead_letter_in_ms) == (None, None, None)
        assert repair_windows([retry], _NOW_MS) == []
    else:
        assert row.tries_left == _tries(most, failed)
        if row.tries_left > (1 if in_place else MOST_STEPS):
            assert row.dead_letter_ms is None
        else:
            waits = [10_000, 30_000, *(number * 60_000 for number in (*range(1, 11), 20, 30, 60, 120))]
            steps = (waits[min(count, len(waits)) - 1] for count in range(failed + 1, most + 1))
            assert row.dead_letter_in_ms == sum(steps)
            assert len(row.next_tries_ms) == row.tries_left
    _check_words(document, beyond=beyond, whose=row.limit_of)


def _check_words(document: Document, *, beyond: bool, whose: str | None) -> None:
    said = "\n".join(line for block in document.blocks if isinstance(block, Paragraphs) for line in block.lines)
    assert ("failed more often than" in said) == beyond
    assert ("when they become dead letters is not known" in said) == beyond
    assert ("by the group's retryMaxTimes" in said) == (whose == LimitOf.GROUP and not beyond)
    assert not (beyond and "have the fix out" in said)
