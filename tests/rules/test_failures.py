"""Failures of a group against what comes back of them, between two looks at groups of any size."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from mqctl.model.finding import Finding, Severity
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose
from tests.rules.failing import failing_look
from tests.rules.live_snapshots import NOW

_WINDOWS_MS = st.integers(20_000, 600_000)
_TPS = st.floats(0.5, 500.0)


def _finding(earlier: ClusterSnapshot | None, later: ClusterSnapshot) -> Finding:
    (finding,) = diagnose(replace(later, earlier=earlier), only=("MQ412",)).findings
    return finding


def _number(finding: Finding, name: str) -> object:
    return next(item.value for item in finding.evidence if item.name == name)


@given(
    window_ms=_WINDOWS_MS,
    failed_tps=_TPS,
    rises=st.floats(0.91, 1.1),
    offset=st.integers(0, 10**6),
    moved=st.integers(1, 10**5),
)
def test_failures_that_leave_no_trace_while_offsets_move_are_lost(
    window_ms: int, failed_tps: float, rises: float, offset: int, moved: int
) -> None:
    # Each of four queues moves so far, and a member finishes one message a second beside those that fail.
    failed = round(4 * moved * (failed_tps / (1.0 + failed_tps)))
    assume(failed >= 5)
    earlier = failing_look(NOW - window_ms, failed_tps / rises, offset=offset, retries=7, dead=3, delayed=9)
    later = failing_look(NOW, failed_tps, offset=offset + moved, retries=7, dead=3, delayed=9)
    finding = _finding(earlier, later)
    assert (finding.variant, finding.severity) == ("lost", Severity.ERROR)
    assert (_number(finding, "failed_count"), _number(finding, "window_ms")) == (failed, window_ms)


@given(
    window_ms=_WINDOWS_MS,
    failed_tps=_TPS,
    moved=st.integers(0, 10**5),
    retries=st.integers(0, 50),
    dead=st.integers(0, 50),
)
def test_failures_that_come_back_are_counted_and_no_error(
    window_ms: int, failed_tps: float, moved: int, retries: int, dead: int
) -> None:
    assume(retries + dead)
    earlier = failing_look(NOW - window_ms, failed_tps, offset=0, retries=7, dead=3)
    later = failing_look(NOW, failed_tps, offset=moved, retries=7 + retries, dead=3 + dead)
    finding = _finding(earlier, later)
    assert (finding.variant, finding.severity) == ("returned", Severity.WARNING)
    assert _number(finding, "stored_count") == retries + dead


@given(window_ms=_WINDOWS_MS, failed_tps=_TPS, moved=st.integers(0, 10**5), delayed=st.integers(1, 10**4))
def test_failures_that_may_be_on_their_way_are_not_called_lost(
    window_ms: int, failed_tps: float, moved: int, delayed: int
) -> None:
    """A retry waits in a delay level first; whose messages came to it nobody tells."""
    for earlier, later in (
        (
            failing_look(NOW - window_ms, failed_tps, offset=0),
            failing_look(NOW, failed_tps, offset=moved, delayed=delayed),
        ),
        (
            failing_look(NOW - window_ms, failed_tps, offset=0, known=False),
            failing_look(NOW, failed_tps, offset=moved, known=False),
        ),
    ):
        finding = _finding(earlier, later)
        assert (finding.variant, finding.severity) == (None, Severity.WARNING)


@given(window_ms=_WINDOWS_MS, failed_tps=_TPS, share=st.floats(0.0, 0.85))
def test_failures_that_ended_before_the_first_look_are_not_called_lost(
    window_ms: int, failed_tps: float, share: float
) -> None:
    """Members report the mean of a minute: it goes on falling when nothing fails any more."""
    assume(failed_tps * share / (failed_tps * share + 1) > 0.01)
    earlier = failing_look(NOW - window_ms, failed_tps, offset=0)
    assert _finding(earlier, failing_look(NOW, failed_tps * share, offset=10**6)).variant is None


@given(window_ms=st.integers(1, 19_999), failed_tps=_TPS)
def test_a_short_window_or_one_look_promises_nothing(window_ms: int, failed_tps: float) -> None:
    later = failing_look(NOW, failed_tps, offset=10**6)
    assert _finding(failing_look(NOW - window_ms, failed_tps, offset=0), later).variant is None
    assert _finding(None, later).variant is None


@given(window_ms=_WINDOWS_MS, failed_tps=_TPS)
def test_what_a_standing_offset_holds_is_not_lost(window_ms: int, failed_tps: float) -> None:
    """Java consumes again in place what it could not send back, and its offset stands."""
    earlier, later = (failing_look(at, failed_tps, offset=5) for at in (NOW - window_ms, NOW))
    assert _finding(earlier, later).variant is None
